"""``brief``: each of its options, what goes to standard output, and what a person sees beside it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli_asking import Cli, asked, options_of
from satchel import open_satchel
from satchel.interfaces.cli import run

BRIEF = ("brief",)
AGAIN = ("--agent", "builder", "--again")

Look = Callable[[dict[str, Any]], object]


def shown(answer: dict[str, Any]) -> list[str]:
    return [item["id"] for item in answer["items"]]


def has(ref: str) -> Look:
    return lambda answer: ref in shown(answer)


def is_before(first: str, second: str) -> Look:
    return lambda answer: shown(answer).index(first) < shown(answer).index(second)


def field(name: str) -> Look:
    return lambda answer: answer.get(name)


CASES: list[tuple[str, tuple[str, ...], tuple[str, ...], Look, object]] = [
    # option, what is given with and without it, what is given for it, what it changes, to what
    ("QUERY", AGAIN, ("zebras", "cross"), is_before("e2", "e1"), True),
    ("--role", AGAIN, ("--role", "qa_expert"), has("p1"), False),
    ("--task", AGAIN, ("--task", "T1"), is_before("e2", "e1"), True),
    ("--loop", AGAIN, ("--loop", "L1"), has("e3"), True),
    ("--iteration", AGAIN[:2], ("--iteration", "1"), shown, ["e1", "e2", "p1"]),
    ("--budget", AGAIN, ("--budget", "0"), field("text"), ""),
    ("--window-used", AGAIN, ("--window-used", "0.95"), field("zone"), "emergency"),
    ("--again", AGAIN[:2], ("--again",), shown, ["e1", "e2", "p1"]),
    ("--preview", AGAIN, ("--preview",), field("is_recorded"), False),
    ("--agent", (), ("--agent", "builder"), shown, []),
    ("--run", AGAIN, ("--run", "r2"), field("run_id"), "r2"),
    ("--project", AGAIN, ("--project", "other"), shown, []),
    ("--db", AGAIN, ("--db", "other.db"), shown, []),
]


@pytest.fixture
def briefed(folder: Path) -> None:
    """Two runs, in the first, which alone is active, two notes, a scratchpad and a package, delivered to builder."""
    with open_satchel(cwd=folder, environ={}, clock=lambda: 1_800_000_000_000) as satchel:
        satchel.runs.start("r2")
        satchel.runs.end("r2")
        satchel.runs.start("r1")
        write = satchel.entries.write
        write("discovery", "lions sleep", task_id="T2", file="src/a.py", agent="planner")
        write("discovery", "zebras cross here", task_id="T1", agent="planner")
        write("scratchpad", {"iteration": 0, "done": False}, loop_id="L1", agent="planner")
        satchel.packages.save("a map", content="x", consumers=["developer"], agent="planner")
        assert satchel.brief(agent="builder").is_recorded


def test_every_option_has_a_test() -> None:
    tested = {option for option, *_ in CASES}
    assert {option for _, option in options_of(["brief"])} == {*tested, "--json"}


@pytest.mark.usefixtures("briefed")
@pytest.mark.parametrize(
    ("base", "given", "look", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_an_option_counts(
    cli: Cli, base: tuple[str, ...], given: tuple[str, ...], look: Look, expected: object
) -> None:
    assert look(asked(cli, BRIEF, *base, "--preview", *given)) == expected
    without = asked(cli, BRIEF, *base) if given == ("--preview",) else asked(cli, BRIEF, *base, "--preview")
    assert look(without) != expected


@pytest.mark.usefixtures("briefed")
def test_standard_output_is_the_briefing_alone(cli: Cli) -> None:
    told = asked(cli, BRIEF, "--preview")
    assert cli("brief") == (0, f"{told['text']}\n", "")


@pytest.mark.usefixtures("briefed")
def test_what_was_packed_counts_as_delivered(cli: Cli) -> None:
    assert asked(cli, BRIEF)["is_recorded"]
    assert "nothing new since your last briefing" in cli("brief")[1]


@pytest.mark.usefixtures("briefed")
def test_a_preview_records_nothing(cli: Cli) -> None:
    assert cli("brief", "--preview") == cli("brief", "--preview")
    assert shown(asked(cli, BRIEF)) == ["e1", "e2", "p1"]


def test_a_preview_in_a_project_without_a_store_makes_none(cli: Cli, folder: Path) -> None:
    status, out, _ = cli("brief", "--preview")
    assert (status, "nothing was written for this project yet" in out) == (0, True)
    assert not (folder / ".satchel").exists()


@pytest.mark.usefixtures("briefed")
def test_a_budget_without_room_says_what_waits(cli: Cli) -> None:
    status, out, err = cli("brief", "--budget", "0")
    assert (status, err) == (0, "")
    assert out == (
        "a budget of 0 tokens has no room for a briefing; left out: 1 package (get_packages), 2 entries (search)\n"
    )


@pytest.mark.usefixtures("briefed")
def test_who_is_briefed_learns_of_claims_on_its_files(cli: Cli) -> None:
    cli("file", "claim", "src/a.py", "--agent", "planner")
    assert cli("brief", "--agent", "reviewer")[2].startswith("notice: src/a.py is claimed by planner until ")


@pytest.mark.usefixtures("briefed")
def test_a_note_that_the_text_lacks_goes_to_standard_error(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATCHEL_STORE_LOCK_WAIT_MS", "50")
    with open_satchel(cwd=folder, environ={}) as other, other.workplace.engine.write():
        status, out, err = cli("brief")
    assert (status, "e2 task T1: zebras cross here" in out) == (0, True)
    assert err.startswith("note: the delivery was not recorded: ")


class Screen(io.StringIO):
    """A stdout that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.usefixtures("briefed")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "of 4,000 tokens, left out: nothing\n"),
        (("--preview",), "of 4,000 tokens, left out: nothing, not recorded as delivered\n"),
        (("--budget", "50", "--window-used", "0.95"), "left out: 1 package, 2 entries, not recorded as delivered\n"),
    ],
)
def test_on_a_terminal_a_person_sees_what_it_costs(
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    told: str,
) -> None:
    tokens = asked(cli, BRIEF, "--preview", *options)["tokens"]
    monkeypatch.setattr(sys, "stdout", Screen())
    assert run(["brief", *options]) == 0
    err = capsys.readouterr().err
    assert err.startswith(f"{tokens} of ")
    assert err.endswith(told)


@pytest.mark.usefixtures("briefed")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--budget", "-1"), "budget -1 is out of range"),
        (("--window-used", "1.2"), "window_used 1.2 is out of range"),
        (("--window-used", "nan"), "'nan' is not a number"),
        (("--iteration", "-1"), "iteration -1 is out of range"),
        ((" ",), "query is empty"),
        (("--role", "{{role}}"), "unresolved placeholder"),
        (("--run", "r9"), "there is no run 'r9'"),
    ],
)
def test_a_faulty_request_is_refused(cli: Cli, arguments: tuple[str, ...], told: str) -> None:
    status, out, err = cli("brief", *arguments, "--json")
    assert (status, out) != (0, "")
    assert told in json.loads(err)["error"]["problem"]
