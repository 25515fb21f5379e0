"""A day of a planner, two builders, a reviewer and subagents through real servers, beside a model of what each knows.

No time passes in the model but from one event to the next.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from end_to_end import client_process
from satchel import open_satchel
from session_model import MAIN, History, Place, Said

pytestmark = pytest.mark.slow

CLIENT = client_process.__file__
LARGE = 50_000


class Seat:
    """A client at work, with the session that it has by the model.

    Args:
        before: the sessions that its own goes on from.
    """

    def __init__(self, name: str, folder: Path, environment: dict[str, str], session: int, *before: int) -> None:
        self.name, self.session, self.before = name, session, before
        self.run = MAIN
        self.has_tried = False
        self.calls = 0
        self._process = subprocess.Popen(
            [sys.executable, str(CLIENT)],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.start_server()

    def start_server(self) -> None:
        """Start the client's server, after the one before has ended."""
        assert self._ask(self.name) == "ready"

    def call(self, tool: str, **arguments: object) -> Any:
        """Call a tool that succeeds; return its answer."""
        text, failed = self._call(tool, {**arguments, "format": "json"})
        assert not failed, text
        return json.loads(text)

    def refused(self, tool: str, **arguments: object) -> str:
        """Call a tool that fails; return why."""
        text, failed = self._call(tool, arguments)
        assert failed, text
        return text

    def end(self) -> None:
        """Kill the client; its server ends with it."""
        self._process.kill()
        self._process.communicate()

    def _call(self, tool: str, arguments: dict[str, object]) -> tuple[str, bool]:
        self.calls += 1
        params = {"name": tool, "arguments": {name: value for name, value in arguments.items() if value is not None}}
        answer = json.loads(
            self._ask(json.dumps({"jsonrpc": "2.0", "id": self.calls, "method": "tools/call", "params": params}))
        )
        result = answer["result"]
        return str(result["content"][0]["text"]), bool(result.get("isError"))

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


class Day:
    """What was done by whom, and what each has been told."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder, self._environment = folder, environment
        self._seats: list[Seat] = []
        self.history = History()
        self.notes: set[str] = set()
        self.critical: set[str] = set()
        self.own: dict[tuple[object, str | None], set[str]] = {}
        self.solved: set[str] = set()
        self.reviews: dict[str, list[str]] = {}
        self.messages: dict[str, set[str]] = {}
        self.delivered: dict[tuple[int, str, int], set[str]] = {}
        self.over: list[int] = []
        self.words = 0
        self._events = 0

    # -- who is at work

    def sit_down(self, client: str, after: Seat | None = None) -> Seat:
        """Start a client, after one that was killed."""
        before = () if after is None else (after.session, *after.before)
        self._seats.append(Seat(client, self._folder, self._environment, len(self._seats) + 1, *before))
        return self._seats[-1]

    def kill(self, seat: Seat) -> None:
        """Kill a client."""
        seat.end()
        self.over.append(seat.session)

    def go_home(self) -> None:
        """End all clients."""
        for seat in self._seats:
            if seat.session not in self.over:
                self.kill(seat)

    # -- what they do

    def word(self) -> str:
        self.words += 1
        return f"thing{self.words}"

    def note(self, seat: Seat, agent: str | None, task: str | None = None) -> str:
        """Write a note, which everybody is to get; return what is said of it."""
        ref, _, said = self._write(seat, agent, "discovery", self.word(), task, None)
        self.notes.add(ref)
        return said

    def rule(self, seat: Seat, agent: str) -> None:
        """Add an agent's rule, which everybody is to get."""
        self.notes.add(seat.call("add_constraint", text=self.word(), priority="high", agent=agent)["id"])

    def critical_rule(self) -> None:
        """Add a person's critical rule, which everybody is to get."""
        with open_satchel(cwd=self._folder, environ=self._environment) as person:
            ref = person.constraints.add(self.word(), priority="critical").ref
        self.notes.add(ref)
        self.critical.add(ref)

    def decide(self, seat: Seat, agent: str) -> None:
        """Decide something, which everybody is to get."""
        kept = seat.call("set_decision", key=self.word(), value=self.word(), agent=agent)
        self.notes.add(kept["decisions"][0]["id"])

    def tell(self, seat: Seat, agent: str, to: str) -> None:
        """Send a message, which one agent is to get."""
        self.messages.setdefault(to, set()).add(
            seat.call("send_message", message=self.word(), to=to, agent=agent)["id"]
        )

    def attempt(
        self, seat: Seat, agent: str | None, task: str | None, loop: str | None = None, *, works: bool = False
    ) -> set[str]:
        """Write a scratchpad; return the errors whose fix was learned from it, as the model says too."""
        word = self.word()
        pad: dict[str, object] = {"iteration": 1, "attempted": [f"{word} first{word} then{word}"], "done": works}
        pad |= {"test_status": "passing"} if works else {"test_status": "failing", "blockers": ["no key"]}
        seat.has_tried = True
        return self._say(self._write(seat, agent, "scratchpad", pad, task, loop), works, word)

    def judge(self, seat: Seat, agent: str, task: str, loop: str, *, passed: bool) -> set[str]:
        """Write a verdict, which takes the place of the review before; return as for an attempt."""
        if not passed:
            issue = {"description": self.word()}
            self.reviews.setdefault(task, []).append(self._write(seat, agent, "review_issue", issue, task, loop)[0])
        written = self._write(seat, agent, "review_verdict", {"passed": passed, "summary": self.word()}, task, loop)
        self.reviews[task] = [written[0]] if passed else [*self.reviews[task], written[0]]
        self.reviews[loop] = self.reviews[task]
        return self._say(written, passed, "")

    def report(self, seat: Seat, agent: str, message: str, task: str, loop: str | None) -> list[str]:
        """Report an error; return what is known to fix it."""
        found = seat.call(
            "report_error", error_type="KeyError", message=message, task_id=task, loop_id=loop, agent=agent
        )
        ref = found["pattern"]["id"]
        self.history.meet(ref, Place(agent, seat.session, seat.run, task, loop), self._now())
        self._change({ref})
        return [one["text"] for one in found["pattern"]["solutions"]]

    def _write(
        self, seat: Seat, agent: str | None, kind: str, content: object, task: str | None, loop: str | None
    ) -> tuple[str, Place, str]:
        (entry,) = seat.call("write_context", type=kind, content=content, task_id=task, loop_id=loop, agent=agent)[
            "entries"
        ]
        assert entry["run_id"] == seat.run
        self.own.setdefault((seat.session, agent), set()).add(entry["id"])
        place = Place(entry["agent"], seat.session, seat.run, task, loop)
        return entry["id"], place, " ".join(entry.get("notes", ()))

    def _say(self, written: tuple[str, Place, str], is_success: bool, tried: str) -> set[str]:
        ref, place, notes = written
        new = Said(int(ref[1:]), place, is_success, tried, self._now())
        learned = self.history.learn(new, self._now()) if is_success else set()
        assert notes.count("is stored as its fix") == len(learned)
        self.history.said.append(new)
        self.solved |= learned
        self._change(learned)
        return learned

    def _change(self, refs: set[str]) -> None:
        for got in self.delivered.values():
            got.difference_update(refs)

    def _now(self) -> int:
        self._events += 1
        return self._events

    # -- what they are told

    def brief(
        self, seat: Seat, agent: str | None, task: str | None = None, loop: str | None = None, iteration: int = 0
    ) -> set[str]:
        """Brief an agent; check that it is told what the model says, no more and no less; return that."""
        briefing = seat.call("get_briefing", task_id=task, loop_id=loop, iteration=iteration, budget=LARGE, agent=agent)
        told = {ref for item in briefing["items"] for ref in (item["id"], *item.get("stands_for", ()))}
        author = agent or next((one.place.author for one in self.history.said if self._is_of(one, seat)), None)
        place = Place(author, seat.session, seat.run, task, loop)
        tried, _ = self.history.of_loop(place, self._now(), seat.before)
        wanted = self.notes | self.solved | {one.ref for one in tried} | self._left_off(seat, task)
        # a review is of a task, or for who names none of its loop
        wanted |= set(self.reviews.get(task or loop or "", ())) | self.messages.get(agent or "", set())
        may_be = set() if tried else self.history.last_of_loop(place, self._now(), seat.before) - wanted
        got = set() if agent is None else self.delivered.setdefault((seat.session, agent, iteration), set())
        # what it wrote itself in its first window it knows
        known = got | (self.own.get((seat.session, agent), set()) if not iteration else set())
        expected = (wanted - known) | (self.critical & known)
        assert told - may_be == expected, f"{agent} at {task}, {loop}: {briefing['text']}"
        assert briefing["is_stuck"] == (len(tried) >= 3)
        got |= told
        return told

    def _is_of(self, said: Said, seat: Seat) -> bool:
        return said.place.session == seat.session and (said.place.author or "").startswith("codex-")

    def _left_off(self, seat: Seat, task: str | None) -> set[str]:
        """Return what a session without an attempt of its own goes on from."""
        if seat.has_tried:
            return set()
        pads = [one for one in self.history.said if one.tried and one.place.session in self.over]
        of_task = [one for one in pads if task is not None and one.place.task == task]
        return {one.ref for one in (of_task or [one for one in pads if one.place.session == self.over[-1]])[-1:]}


@pytest.fixture
def day(folder: Path, environment: dict[str, str]) -> Iterator[Day]:
    """A day on which nothing was done yet."""
    one = Day(folder, environment)
    yield one
    one.go_home()


SUBAGENTS = ("sub-a", "sub-b", "sub-c")
KEY = "the key 'left' is not there"


def test_a_day(day: Day) -> None:
    planner, first, second, reviewer = (day.sit_down(name) for name in ("claude-code", "qwen", "codex", "gemini"))

    # the planner starts a run, to which nobody else is bound
    for _ in range(2):
        day.critical_rule()
    day.rule(planner, "planner")
    planner.call("start_run", run_id="plan")
    planner.run = "plan"
    for _ in range(4):
        day.note(planner, "planner")
        day.decide(planner, "planner")
    day.tell(planner, "planner", "builder-1")
    day.tell(planner, "planner", "builder-2")

    def do_a_round(task: str) -> None:
        """Let everybody write and be briefed, twice in the same window."""
        speakers: list[tuple[Seat, str | None, str | None]] = [
            (planner, "planner", None),
            (first, "builder-1", "T1"),
            (second, "builder-2", "T2"),
            (reviewer, "reviewer", "T1"),
            *((second, name, task) for name in (*SUBAGENTS, None)),
        ]
        for seat, agent, of in speakers:
            day.brief(seat, agent, of)
            day.note(seat, agent, of)
            day.brief(seat, agent, of)

    do_a_round("T2")
    day.brief(first, "builder-1", "T1")
    assert day.brief(first, "builder-1", "T1") == day.critical, "nothing twice"
    assert day.notes <= day.brief(first, "builder-1", "T1", iteration=1), "nothing missing in a new window"

    # claims between builders, and within a session
    first.call("claim_files", paths=["src/api/", "setup.py"], agent="builder-1")
    assert "builder-1" in second.refused("claim_files", paths=["src/api/users.py"], agent="builder-2")
    second.call("claim_files", paths=["src/ui/"], agent="builder-2")
    for name in SUBAGENTS:
        second.call("claim_files", paths=["src/ui/"], agent=name)
    assert "builder-2" in first.refused("claim_files", paths=["src/ui/a.py"], agent="builder-1")

    # one builder is stuck, alone, until it finds what fixes its error
    assert day.report(first, "builder-1", KEY, "T1", "L1") == []
    for _ in range(3):
        day.attempt(first, "builder-1", "T1", "L1")
    for seat, agent in ((first, "builder-1"), (second, "builder-2"), (second, None), (reviewer, "reviewer")):
        day.brief(seat, agent, "T1", "L1")
        day.brief(seat, agent, "T1")
        day.brief(seat, agent, "T2", "L1")
    assert len(day.attempt(first, "builder-1", "T1", "L1", works=True)) == 1
    (fix,) = day.report(second, "builder-2", KEY, "T2", "L1")
    assert fix.startswith("thing")
    do_a_round("T2")

    # the review fails, and is for who works at the task
    day.judge(reviewer, "reviewer", "T1", "L1", passed=False)
    for seat, agent, task in ((first, "builder-1", "T1"), (second, "builder-2", "T2"), (planner, "planner", None)):
        day.brief(seat, agent, task)

    # only the server starts anew: its session and window go on
    day.brief(first, "builder-1", "T1")
    first.start_server()
    assert day.brief(first, "builder-1", "T1") == day.critical
    day.attempt(first, "builder-1", None)
    do_a_round("T3")

    # the client dies: what it held may be taken over, the rest is its successor's
    for name in SUBAGENTS:
        for _ in range(2):
            day.attempt(second, name, "T3")
            day.attempt(second, None, None)
    day.kill(first)
    taken = second.call("claim_files", paths=["setup.py"], agent="builder-2")
    assert taken["notes"] == ["setup.py was taken over from builder-1, whose session has ended"]
    day.brief(planner, "planner")
    first = day.sit_down("qwen", after=first)
    assert day.notes <= day.brief(first, "builder-1", "T1"), "nothing missing in a new session"
    day.brief(first, "builder-1")
    assert "builder-1" in second.refused("claim_files", paths=["src/api/users.py"], agent="builder-2")
    assert "builder-2" in first.refused("claim_files", paths=["setup.py"], agent="builder-1")
    do_a_round("T3")

    # another error of the same task and loop is fixed by who shares both
    day.report(first, "builder-1", "no such column", "T1", "L1")
    day.attempt(first, "builder-1", "T1", "L1")
    assert day.attempt(second, "sub-b", "T1", works=True) == set()
    assert len(day.attempt(second, "sub-a", "T1", "L1", works=True)) == 1
    day.report(first, "builder-1", "no such row", "T1", "L1")
    day.attempt(first, "builder-1", "T1", "L1")
    assert len(day.judge(reviewer, "reviewer", "T1", "L1", passed=True)) == 1
    do_a_round("T1")

    # again the client dies, and the run ends
    day.kill(first)
    first = day.sit_down("qwen", after=first)
    planner.call("end_run", run_id="plan")
    planner.run = MAIN
    assert "run plan is completed: from here on this session works in main" in day.note(planner, "planner")
    assert day.note(planner, "planner") == ""
    for task in ("T1", "T2", "T3"):
        do_a_round(task)
    for agent in (*SUBAGENTS, None):
        for at, loop in ((None, None), ("T3", None), ("T1", "L1"), (None, "L1")):
            day.brief(second, agent, at, loop, iteration=2)
    second.call("release_files", agent="sub-b")
    first.call("claim_files", paths=["src/ui/", "setup.py"], agent="builder-1")
