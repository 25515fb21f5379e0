"""What follows when a loop fails and then succeeds, and when a task passes review."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import Entry, NewEntry, Satchel, Solution

if TYPE_CHECKING:
    from conftest import ManualClock

ERROR = ("TypeError", "x is not callable")
OTHER = ("KeyError", "'token'")
DAY = 86_400_000


@pytest.fixture
def dev(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """A Satchel whose agent is dev, in the run night, whose loop L has met an error."""
    satchel = open_in(project, agent="dev")
    satchel.runs.start("night")
    satchel.patterns.report(*ERROR, loop_id="L")
    return satchel


def pad(satchel: Satchel, iteration: int, *attempted: str, loop: str | None = "L", **more: Any) -> Entry:
    content = {"iteration": iteration, "attempted": list(attempted), **more}
    return satchel.entries.write("scratchpad", content, loop_id=loop)


def verdict(satchel: Satchel, *, passed: bool = True, loop: str | None = "L", **more: Any) -> Entry:
    return satchel.entries.write("review_verdict", {"passed": passed, "summary": "fine"}, loop_id=loop, **more)


def solutions(satchel: Satchel, error: str = "x1") -> list[str]:
    return [one.text for one in satchel.patterns.get(error, status="all").solutions]


def only(satchel: Satchel, error: str = "x1") -> Solution:
    (solution,) = satchel.patterns.get(error, status="all").solutions
    return solution


class TestWhatCountsAsSuccess:
    @pytest.mark.parametrize("status", ["passing", "passed", "pass", "green", "ok", "success", " PASSING ", "Green"])
    def test_a_status_that_says_so(self, dev: Satchel, status: str) -> None:
        pad(dev, 1, "call it by name", test_status=status)
        assert solutions(dev) == ["call it by name"]

    @pytest.mark.parametrize("status", [None, "not run", "12 passed", "12 passed, 0 failed", "no failures", "unknown"])
    def test_done_without_a_failure(self, dev: Satchel, status: str | None) -> None:
        pad(dev, 1, "call it by name", done=True, **({} if status is None else {"test_status": status}))
        assert solutions(dev) == ["call it by name"]

    @pytest.mark.parametrize(
        "status", ["failing", "failed", "FAIL", "red", "2 failed, 3 passed", "error", "not passing"]
    )
    @pytest.mark.parametrize("done", [True, False])
    def test_a_failure_does_not_count_whatever_is_done(self, dev: Satchel, status: str, done: bool) -> None:
        entry = pad(dev, 1, "call it by name", done=done, test_status=status)
        assert (solutions(dev), entry.notes) == ([], ())

    @pytest.mark.parametrize("status", [None, "not run", "12 passed, 0 failed", "passing soon"])
    def test_an_open_end_does_not_count(self, dev: Satchel, status: str | None) -> None:
        pad(dev, 1, "call it by name", **({} if status is None else {"test_status": status}))
        pad(dev, 2, "call it by name", done=False, **({} if status is None else {"test_status": status}))
        assert solutions(dev) == []

    def test_a_verdict_that_passed_counts_for_its_loop(self, dev: Satchel) -> None:
        pad(dev, 1, "call it by name")
        verdict(dev)
        assert solutions(dev) == ["call it by name"]

    @pytest.mark.parametrize("given", [{"passed": False}, {"loop": None}, {"loop": "M"}])
    def test_one_that_failed_or_names_another_loop_does_not(self, dev: Satchel, given: dict[str, Any]) -> None:
        pad(dev, 1, "call it by name")
        assert (verdict(dev, **given).notes, solutions(dev)) == ((), [])

    @pytest.mark.parametrize("loop", [None, "M"])
    def test_a_scratchpad_of_another_loop_does_not(self, dev: Satchel, loop: str | None) -> None:
        assert (pad(dev, 1, "A", loop=loop, test_status="passing").notes, solutions(dev)) == ((), [])

    def test_a_loop_of_the_same_name_in_another_run_does_not(self, dev: Satchel) -> None:
        dev.runs.start("day")
        dev.entries.write("scratchpad", {"iteration": 1, "done": True, "attempted": ["A"]}, loop_id="L", run_id="day")
        assert solutions(dev) == []

    @pytest.mark.parametrize("kind", ["discovery", "error", "decision"])
    def test_a_note_does_not(self, dev: Satchel, kind: str) -> None:
        assert (dev.entries.write(kind, "passing", loop_id="L").notes, solutions(dev)) == ((), [])


class TestWhatTheFixIs:
    def test_what_no_earlier_scratchpad_lists(self, dev: Satchel) -> None:
        pad(dev, 1, "add a check", test_status="failing")
        pad(dev, 2, "add a check", "import it late", test_status="failing")
        pad(dev, 3, "Add a  CHECK", "import it late", "call it by name", test_status="passing")
        assert solutions(dev) == ["call it by name"]

    def test_of_several_the_last_three_together(self, dev: Satchel) -> None:
        pad(dev, 1, "a", "b", "c", " ", "d ", test_status="passing")
        assert solutions(dev) == ["b; c; d"]

    @pytest.mark.parametrize("name", ["fix", "solution", "resolution", "summary"])
    def test_without_a_new_attempt_what_it_says_in_words(self, dev: Satchel, name: str) -> None:
        pad(dev, 1, "add a check", test_status="failing")
        pad(dev, 2, "add a check", test_status="passing", **{name: " pinned it to 2.1 "})
        assert solutions(dev) == ["pinned it to 2.1"]

    def test_an_attempt_says_more_than_a_summary_and_a_fix_more_than_that(
        self, dev: Satchel, clock: ManualClock
    ) -> None:
        pad(dev, 1, "add a check", test_status="passing", summary="all done", fix="a fix")
        clock.advance(1_000)
        dev.patterns.report(*OTHER, loop_id="L")
        pad(dev, 2, "add a check", test_status="passing", summary="all done", fix="a fix")
        assert (solutions(dev), solutions(dev, "x2")) == (["add a check"], ["a fix"])

    @pytest.mark.parametrize("more", [{}, {"summary": " "}, {"summary": 5}, {"next_step": "rest"}])
    def test_without_any_text_nothing_is_guessed_and_that_is_said(self, dev: Satchel, more: Mapping[str, Any]) -> None:
        entry = pad(dev, 1, test_status="passing", **more)
        assert entry.notes == ("no scratchpad says what fixed x1: say it with report_outcome, by error and solution",)
        assert solutions(dev) == []

    def test_for_a_verdict_it_is_the_newest_scratchpads_and_its_authors(
        self, open_in: Callable[..., Satchel], project: Path, dev: Satchel
    ) -> None:
        pad(dev, 1, "add a check", test_status="failing")
        pad(dev, 2, "add a check", "call it by name")
        verdict(open_in(project, agent="reviewer"))
        assert (only(dev).text, only(dev).agent) == ("call it by name", "dev")

    def test_a_verdict_without_a_scratchpad_says_nothing_of_it(self, dev: Satchel) -> None:
        assert "no scratchpad says what fixed x1" in verdict(dev).notes[0]
        assert solutions(dev) == []

    def test_what_was_met_after_the_newest_scratchpad_is_not_fixed_by_it(
        self, dev: Satchel, clock: ManualClock
    ) -> None:
        pad(dev, 1, "call it by name")
        clock.advance(1_000)
        dev.patterns.report(*OTHER, loop_id="L")
        notes = verdict(dev).notes
        assert (solutions(dev), solutions(dev, "x2")) == (["call it by name"], [])
        assert "no scratchpad says what fixed x2" in notes[1]

    def test_scratchpads_of_other_loops_are_no_earlier_ones(self, dev: Satchel) -> None:
        pad(dev, 1, "call it by name", loop="M", test_status="failing")
        pad(dev, 1, "call it by name", test_status="passing")
        assert solutions(dev) == ["call it by name"]

    def test_a_secret_in_it_is_redacted(self, dev: Satchel) -> None:
        token = "ghp_" + "a1B2" * 9
        entry = pad(dev, 1, f"use {token}", test_status="passing")
        assert "ghp_" not in f"{solutions(dev)}{entry.notes}"


class TestWhichErrors:
    def test_every_error_of_the_loop_that_waits(self, dev: Satchel) -> None:
        dev.patterns.report(*OTHER, loop_id="L")
        dev.patterns.report("OSError", "disk full", loop_id="M")
        entry = pad(dev, 1, "call it by name", test_status="passing")
        assert [solutions(dev, ref) for ref in ("x1", "x2", "x3")] == [["call it by name"], ["call it by name"], []]
        assert entry.notes == (
            "x1 TypeError: y1 is kept as what fixed it (call it by name); if not, report_outcome y1 helped=false",
            "x2 KeyError: y2 is kept as what fixed it (call it by name); if not, report_outcome y2 helped=false",
        )

    def test_the_solution_begins_tentative_and_can_be_taken_back(self, dev: Satchel) -> None:
        pad(dev, 1, "call it by name", test_status="passing")
        fix = only(dev)
        assert (fix.confidence, fix.state, fix.confirmed, fix.agent) == (5, "active", 0, "dev")
        assert dev.patterns.outcome(fix.ref, helped=False).standing == "weak"

    def test_it_is_found_by_the_words_of_the_fix(self, dev: Satchel) -> None:
        pad(dev, 1, "use the zebra adapter", test_status="passing")
        assert [one.ref for one in dev.patterns.find(search="zebra")] == ["x1"]

    def test_none_twice(self, dev: Satchel) -> None:
        pad(dev, 1, "call it by name", test_status="passing")
        assert (pad(dev, 2, "rename it", test_status="passing").notes, verdict(dev).notes) == ((), ())
        assert solutions(dev) == ["call it by name"]

    def test_one_that_came_back_waits_again(self, dev: Satchel, clock: ManualClock) -> None:
        pad(dev, 1, "call it by name", test_status="passing")
        clock.advance(1_000)
        dev.patterns.report(*ERROR, loop_id="L")
        pad(dev, 2, "call it by name", "rename it", test_status="passing")
        assert sorted(solutions(dev)) == ["call it by name", "rename it"]

    def test_one_whose_fix_its_agent_has_told_is_left_alone(self, dev: Satchel) -> None:
        dev.patterns.solve("x1", "the real fix")
        assert pad(dev, 1, "call it by name", test_status="passing").notes == ()
        assert solutions(dev) == ["the real fix"]

    def test_what_a_success_left_unsaid_is_not_fixed_by_a_later_one(self, dev: Satchel, clock: ManualClock) -> None:
        pad(dev, 1, test_status="passing")
        clock.advance(1_000)
        pad(dev, 2, "write the docs", test_status="passing")
        assert solutions(dev) == []

    def test_but_if_it_was_met_again_since(self, dev: Satchel, clock: ManualClock) -> None:
        pad(dev, 1, test_status="passing")
        clock.advance(1_000)
        dev.patterns.report(*ERROR, loop_id="L")
        pad(dev, 2, "call it by name", test_status="passing")
        assert solutions(dev) == ["call it by name"]

    def test_an_expired_one_is_gone(self, dev: Satchel, clock: ManualClock) -> None:
        clock.advance(90 * DAY)
        assert pad(dev, 1, "call it by name", test_status="passing").notes == ()

    def test_of_many_some_are_named_and_the_rest_counted(self, dev: Satchel) -> None:
        for letter in "bcdefghi":
            dev.patterns.report("NameError", f"name {letter!r} is not defined", loop_id="L")
        told = pad(dev, 1, "import them", test_status="passing").notes
        assert len(told) == 6
        assert told[5] == "so for 4 more errors of loop L"
        assert len(dev.patterns.find(search="import").patterns) == 9

    def test_of_many_left_unsaid_too(self, dev: Satchel) -> None:
        for letter in "bcdefghi":
            dev.patterns.report("NameError", f"name {letter!r} is not defined", loop_id="L")
        (note,) = pad(dev, 1, test_status="passing").notes
        assert "what fixed x1, x2, x3, x4, x5 and 4 more: say it" in note


class TestErrorsThatAreOnlyNoted:
    """Entries of type error that nobody reported."""

    @pytest.mark.parametrize(
        ("content", "error_type", "message"),
        [
            ("ModuleNotFoundError: No module named 'foo'", "ModuleNotFoundError", "No module named 'foo'"),
            ("ValueError: bad\n  File x.py, line 3", "ValueError", "bad"),
            ("java.lang.NullPointerException: name is null", "java.lang.NullPointerException", "name is null"),
            ("std::IoError: gone", "std::IoError", "gone"),
            ("TS2307: Cannot find module 'x'", "TS2307", "Cannot find module 'x'"),
            ("error TS2307: Cannot find module 'x'", "TS2307", "Cannot find module 'x'"),
            ("error[E0308]: mismatched types", "E0308", "mismatched types"),
            ("Uncaught TypeError: f is no function", "TypeError", "f is no function"),
            ("Error: ENOENT: no such file", "Error", "ENOENT: no such file"),
            ("panic: runtime error: index out of range", "panic", "runtime error: index out of range"),
            ("DeprecationWarning: use y", "DeprecationWarning", "use y"),
        ],
    )
    def test_one_whose_first_line_names_its_type_is_learned_from(
        self, open_in: Callable[..., Satchel], project: Path, content: str, error_type: str, message: str
    ) -> None:
        satchel = open_in(project)
        satchel.entries.write("error", content, loop_id="L")
        entry = pad(satchel, 1, "do it right", test_status="passing")
        (pattern,) = satchel.patterns.find()
        assert (pattern.error_type, pattern.example.splitlines()[0]) == (error_type, message)
        assert ([one.text for one in pattern.solutions], pattern.occurrences) == (["do it right"], 1)
        assert entry.notes == (
            f"x1 {error_type}: y1 is kept as what fixed it (do it right); if not, report_outcome y1 helped=false",
        )

    @pytest.mark.parametrize(
        "content",
        [
            "the build fails on CI: no idea why",
            "Note: this is slow",
            "port8080: in use",
            "I saw ValueError: bad",
            "ValueError:",
            "ValueError: ",
            "Traceback (most recent call last):\nValueError: bad",
            "http://x.example/a: b",
            ": x",
        ],
    )
    def test_another_note_is_not(self, satchel: Satchel, content: str) -> None:
        satchel.entries.write("error", content, loop_id="L")
        pad(satchel, 1, "do it right", test_status="passing")
        assert satchel.patterns.find().total == 0

    @pytest.mark.parametrize("given", [{"loop_id": "M"}, {}, {"loop_id": "L", "type": "discovery"}])
    def test_nor_is_what_is_no_error_of_the_loop(self, satchel: Satchel, given: dict[str, Any]) -> None:
        satchel.entries.write(given.pop("type", "error"), "ValueError: bad", **given)
        pad(satchel, 1, "do it right", test_status="passing")
        assert satchel.patterns.find().total == 0

    def test_nor_one_of_before_the_last_success(self, satchel: Satchel) -> None:
        satchel.entries.write("error", "ValueError: bad", loop_id="L")
        pad(satchel, 1, test_status="passing")
        assert (solutions(satchel), pad(satchel, 2, "do it right", test_status="passing").notes) == ([], ())

    def test_nor_one_of_before_a_verdict_that_passed(self, satchel: Satchel, clock: ManualClock) -> None:
        satchel.entries.write("error", "ValueError: bad", loop_id="L")
        verdict(satchel)
        clock.advance(1_000)
        assert pad(satchel, 1, "do it right", test_status="passing").notes == ()

    def test_one_that_was_reported_too_is_counted_once(self, dev: Satchel) -> None:
        dev.entries.write("error", ": ".join(ERROR), loop_id="L")
        pad(dev, 1, "call it by name", test_status="passing")
        assert (dev.patterns.find().total, dev.patterns.get("x1").occurrences) == (1, 1)

    def test_one_whose_fix_was_told_gets_no_second(self, dev: Satchel) -> None:
        dev.entries.write("error", ": ".join(ERROR), loop_id="L")
        dev.patterns.solve("x1", "the real fix")
        pad(dev, 1, "call it by name", test_status="passing")
        assert solutions(dev) == ["the real fix"]

    def test_a_known_error_is_counted_once_more(self, dev: Satchel) -> None:
        dev.entries.write("error", ": ".join(ERROR), loop_id="M")
        pad(dev, 1, "call it by name", loop="M", test_status="passing")
        pattern = dev.patterns.get("x1")
        assert (pattern.occurrences, [one.text for one in pattern.solutions]) == (2, ["call it by name"])

    def test_a_batch_is_followed_in_its_order(self, satchel: Satchel) -> None:
        attempted = {"iteration": 1, "attempted": ["do it right"], "test_status": "passing"}
        batch = [
            NewEntry("error", "ValueError: before", loop_id="L"),
            NewEntry("scratchpad", attempted, loop_id="L"),
            NewEntry("error", "ValueError: after", loop_id="L"),
        ]
        written = satchel.entries.write_many(batch)
        assert [pattern.message for pattern in satchel.patterns.find()] == ["before"]
        assert ["x1" in "".join(entry.notes) for entry in written] == [False, True, False]


class TestAKnownFix:
    def test_an_independent_agent_confirms_it(self, open_in: Callable[..., Satchel], project: Path) -> None:
        for agent in ("Ann", "Bob"):
            satchel = open_in(project, agent=agent)
            satchel.patterns.report(*ERROR, loop_id=agent)
            entry = pad(satchel, 1, "Call it by NAME" if agent == "Bob" else "call it by name", loop=agent, done=True)
        assert (only(satchel).confidence, only(satchel).confirmed, only(satchel).agent) == (6, 1, "Ann")
        assert entry.notes == ("x1 TypeError: y1 says so already: it is confirmed",)

    def test_the_same_agent_does_not(self, dev: Satchel) -> None:
        pad(dev, 1, "call it by name", done=True)
        dev.patterns.report(*ERROR, loop_id="M")
        entry = pad(dev, 1, "call it by name", loop="M", done=True)
        assert only(dev).confirmed == 0
        assert entry.notes == ("x1 TypeError: y1 says so already; only another agent's word confirms it",)

    def test_agents_that_succeed_at_once_lose_no_confirmation(
        self, open_in: Callable[..., Satchel], project: Path, dev: Satchel
    ) -> None:
        pad(dev, 1, "call it by name", done=True)

        def succeed(number: int) -> None:
            satchel = agents[number]
            for turn in range(5):
                loop = f"{number}-{turn}"
                satchel.patterns.report(*ERROR, loop_id=loop)
                pad(satchel, 1, "call it by name", loop=loop, done=True)

        agents = [open_in(project, agent=f"agent-{number}") for number in range(4)]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(succeed, range(4)))
        assert (only(dev).confirmed, dev.patterns.get("x1").occurrences) == (4, 21)


# what happens to an error in turn: S and T, the loops of two agents succeed by the same fix; + and -, an agent says
# that it helped or did not; then the confidence, the confirmations, and the state of the solution
LIFE = [
    ("S", 5, 0, "active"),
    ("SS", 5, 0, "active"),
    ("ST", 6, 1, "confirmed"),
    ("STT", 6, 1, "confirmed"),
    ("STS", 6, 1, "confirmed"),
    ("S+", 6, 1, "confirmed"),
    ("ST+", 7, 2, "confirmed"),
    ("ST++T", 8, 3, "confirmed"),
    ("ST+++++", 10, 6, "confirmed"),
    ("S-", 3, 0, "demoted"),
    ("S-T", 4, 1, "demoted"),
    ("S-T+", 5, 2, "confirmed"),
    ("S--", 1, 0, "demoted"),
    ("S---", 1, 0, "demoted"),
    ("ST-", 4, 1, "demoted"),
    ("ST+-", 5, 2, "confirmed"),
]


@pytest.mark.parametrize(("events", "confidence", "confirmed", "state"), LIFE)
def test_the_life_of_what_a_loop_taught(
    open_in: Callable[..., Satchel], project: Path, events: str, confidence: int, confirmed: int, state: str
) -> None:
    satchel = open_in(project, agent="judge")
    for number, event in enumerate(events):
        if event in "ST":
            satchel.patterns.report(*ERROR, loop_id=f"L{number}", agent=event)
            content = {"iteration": 1, "attempted": ["call it by name"], "test_status": "passing"}
            satchel.entries.write("scratchpad", content, loop_id=f"L{number}", agent=event)
        else:
            satchel.patterns.outcome("y1", event == "+")
    fix = only(satchel)
    assert (fix.confidence, fix.confirmed, fix.failed, fix.state) == (confidence, confirmed, events.count("-"), state)


def test_what_follows_happens_in_the_transaction_of_the_write(dev: Satchel) -> None:
    with dev.workplace.engine.write() as transaction:
        transaction.execute(
            "CREATE TRIGGER none BEFORE INSERT ON error_solutions BEGIN SELECT RAISE(ABORT, 'not today'); END"
        )
    with pytest.raises(Exception, match="not today"):
        pad(dev, 1, "call it by name", test_status="passing")
    assert dev.entries.read().total == 0


def test_a_scratchpad_that_cannot_be_read_is_passed_over(dev: Satchel) -> None:
    broken = pad(dev, 1, "call it by name", test_status="failing")
    with dev.workplace.engine.write() as transaction:
        transaction.execute("UPDATE context SET content = '{' WHERE id = :id", {"id": broken.id})
    pad(dev, 2, "call it by name", test_status="passing")
    assert solutions(dev) == ["call it by name"]


class TestPackagesOfAResolvedTask:
    @pytest.mark.parametrize("kind", ["failures", "investigation"])
    def test_those_on_failures_fall_to_low(self, satchel: Satchel, clock: ManualClock, kind: str) -> None:
        for priority in ("critical", "low", "high"):
            satchel.packages.save("x", content="y", type=kind, priority=priority, task_id="T")
        now = clock.advance(1_000)
        entry = verdict(satchel, task_id="T")
        packages = satchel.packages.find(order="asc").packages
        assert entry.notes == ("task T is resolved: p1, p3 fell to low",)
        assert [one.priority for one in packages] == ["low"] * 3
        assert [one.updated_at == now for one in packages] == [True, False, True]

    @pytest.mark.parametrize(
        "given",
        [
            {"type": "research", "task_id": "T"},
            {"type": "handoff", "task_id": "T"},
            {"type": "decisions", "task_id": "T"},
            {"type": "failures", "task_id": "U"},
            {"type": "failures"},
        ],
    )
    def test_others_stay(self, satchel: Satchel, given: dict[str, Any]) -> None:
        satchel.packages.save("x", content="y", priority="high", **given)
        assert verdict(satchel, task_id="T").notes == ()
        assert satchel.packages.find().packages[0].priority == "high"

    @pytest.mark.parametrize("given", [{"passed": False, "task_id": "T"}, {"passed": True}])
    def test_a_verdict_that_failed_or_names_no_task_changes_none(self, satchel: Satchel, given: dict[str, Any]) -> None:
        satchel.packages.save("x", content="y", type="failures", priority="high", task_id="T")
        verdict(satchel, **given)
        assert satchel.packages.find().packages[0].priority == "high"

    def test_those_of_another_run_and_superseded_ones_stay(self, satchel: Satchel) -> None:
        for run in ("one", "two"):
            satchel.runs.start(run)
            satchel.packages.save("x", content="y", type="failures", priority="high", task_id="T", run_id=run)
        satchel.packages.save("z", content="y", task_id="T", supersedes="p2", run_id="two")
        assert verdict(satchel, task_id="T", run_id="two").notes == ()
        assert [one.priority for one in satchel.packages.find(run_id="one", status="all")] == ["high"]

    def test_what_the_verdict_teaches_is_said_beside_it(self, dev: Satchel) -> None:
        dev.packages.save("x", content="y", type="failures", task_id="T")
        pad(dev, 1, "call it by name")
        notes = verdict(dev, task_id="T").notes
        assert [note.split(":")[0] for note in notes] == ["x1 TypeError", "task T is resolved"]
