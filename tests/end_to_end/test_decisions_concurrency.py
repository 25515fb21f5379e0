"""Several processes decide the same thing at once."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel, open_satchel

pytestmark = pytest.mark.slow

_PROCESSES = 6
_WRITES = 15
_ROUNDS = 12

_SET = """
import json, sys
from pathlib import Path
from satchel import Conflict, open_satchel

store, name = Path(sys.argv[1]), sys.argv[2]
with open_satchel(store, "p", cwd=store.parent, environ={}) as satchel:
    print("ready", flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        answers = []
        for value in order["values"]:
            try:
                made = satchel.decisions.set("k", value, agent=name, expected_revision=order["expected"])
            except Conflict as error:
                answers.append(["conflict", str(error)])
            else:
                replaced = made.replaced and [made.replaced.revision, made.replaced.value, made.replaced.agent]
                answers.append([made.revision, made.value, made.agent, replaced])
        print(json.dumps(answers), flush=True)
"""


class Decider:
    """A process that sets the decision ``k`` on command."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self._input, self._output = process, process.stdin, process.stdout
        assert self._output.readline() == "ready\n"

    def tell(self, values: list[str], expected: int | None = None) -> None:
        self._input.write(json.dumps({"values": values, "expected": expected}) + "\n")
        self._input.flush()

    def hear(self) -> list[list[Any]]:
        answers: list[list[Any]] = json.loads(self._output.readline())
        return answers

    def finish(self) -> None:
        self._input.close()
        assert (self._output.read(), self.process.wait()) == ("", 0)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


def _open(store: Path) -> Satchel:
    return open_satchel(store, "p", cwd=store.parent, environ={})


def _deciders(stack: ExitStack, store: Path, environment: dict[str, str]) -> list[Decider]:
    processes = [
        stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", _SET, str(store), f"agent-{number}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
        )
        for number in range(_PROCESSES)
    ]
    for process in processes:
        stack.callback(process.kill)
    return [Decider(process) for process in processes]


def test_of_many_who_set_one_key_at_once_one_is_current_and_each_learns_what_it_replaced(
    store: Path, environment: dict[str, str]
) -> None:
    with ExitStack() as stack:
        deciders = _deciders(stack, store, environment)
        for number, decider in enumerate(deciders):
            decider.tell([f"{number} {write}" for write in range(_WRITES)])
        answers = sorted(answer for decider in deciders for answer in decider.hear())
        for decider in deciders:
            decider.finish()
    everything = _PROCESSES * _WRITES
    assert [revision for revision, *_ in answers] == list(range(1, everything + 1))
    assert [replaced for *_, replaced in answers] == [None, *([*answer[:3]] for answer in answers[:-1])]
    with _open(store) as satchel:
        found = satchel.decisions.get("k", limit=500)
        states = [[state.revision, state.value, state.agent] for state in reversed(found.history.items)]
        current = found.decision
        assert [*states, [current.revision, current.value, current.agent]] == [answer[:3] for answer in answers]
        assert satchel.decisions.find().total == 1
        assert [check for check in satchel.housekeeping.doctor() if check.status == "failed"] == []


def test_of_many_who_expect_one_revision_exactly_one_wins_each_round(store: Path, environment: dict[str, str]) -> None:
    with ExitStack() as stack:
        deciders = _deciders(stack, store, environment)
        winners = []
        for revision in range(_ROUNDS):
            for number, decider in enumerate(deciders):
                decider.tell([f"{number} {revision}"], revision)
            answers = [answer for decider in deciders for answer in decider.hear()]
            (won,) = (answer for answer in answers if answer[0] != "conflict")
            lost = [answer[1] for answer in answers if answer[0] == "conflict"]
            assert won[0] == revision + 1
            winners.append(won[1])
            beaten = f"k has revision {revision + 1}, not {revision}: {won[2]} set it to '{won[1]}' at "
            assert [text.startswith(beaten) for text in lost] == [True] * (_PROCESSES - 1)
        for decider in deciders:
            decider.finish()
    with _open(store) as satchel:
        found = satchel.decisions.get("k", limit=500)
        assert [*(state.value for state in reversed(found.history.items)), found.decision.value] == winners
