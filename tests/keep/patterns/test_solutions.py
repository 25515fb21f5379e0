from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agents_here import agents
from satchel import InvalidInput, NotFound, Reported, Satchel, Solution
from satchel.keep.patterns import signature
from satchel.keep.patterns.records import as_met
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock

DAY = 86_400_000
ERROR = ("TypeError", "x is not callable")


@pytest.fixture
def met(satchel: Satchel) -> Satchel:
    """One error, x1, without a solution."""
    satchel.patterns.report(*ERROR)
    return satchel


def offered(satchel: Satchel) -> list[str]:
    return [one.text for one in satchel.patterns.report(*ERROR).solutions]


def judged(satchel: Satchel, solution: Solution, outcomes: str) -> Solution:
    for place, outcome in enumerate(outcomes):
        solution = satchel.patterns.outcome(solution.ref, outcome == "+", agent=f"judge {place}")
    return solution


class TestGiving:
    def test_a_solution_begins_tentative(self, met: Satchel, clock: ManualClock) -> None:
        now = clock.advance(1_000)
        fix = met.patterns.solve("x1", "call it by name", agent="Ann")
        assert (fix.ref, fix.pattern, fix.text, fix.agent, fix.notes) == ("y1", "x1", "call it by name", "Ann", ())
        assert (fix.confidence, fix.confirmed, fix.failed, fix.state, fix.standing) == (5, 0, 0, "active", "tentative")
        assert (fix.created_at, fix.updated_at, len(fix.uid)) == (now, now, 32)
        assert met.patterns.report(*ERROR).solutions == (fix,)

    @in_one_test("how", ["x1", 1, "1", " x1 ", signature(*ERROR), f" {signature(*ERROR).upper()} "])
    def test_the_error_is_named_by_its_id_or_hash(self, met: Satchel, how: str | int) -> None:
        assert met.patterns.solve(how, "fix").pattern_id == 1
        assert met.patterns.get(how).ref == "x1"

    def test_a_report_can_bring_it(self, satchel: Satchel) -> None:
        told = satchel.patterns.report(*ERROR, solution="fix it", agent="Ann")
        assert told.recorded is not None
        assert (told.is_new, told.solutions) == (True, (told.recorded,))
        assert (told.recorded.text, told.recorded.agent) == ("fix it", "Ann")

    def test_the_default_agent_gives_it_where_none_is_named(
        self, open_in: Callable[..., Satchel], project: Path
    ) -> None:
        satchel = open_in(project, agent="planner")
        satchel.patterns.report(*ERROR)
        assert satchel.patterns.solve("x1", "fix").agent == "planner"

    def test_it_makes_the_error_one_that_changed_but_lives_no_longer(self, met: Satchel, clock: ManualClock) -> None:
        before = met.patterns.get("x1")
        clock.advance(DAY)
        fix = met.patterns.solve("x1", "fix")
        after = met.patterns.get("x1")
        assert (after.expires_at, after.last_seen, after.occurrences) == (before.expires_at, before.last_seen, 1)
        assert before.seq < after.seq == fix.seq

    def test_what_was_cleaned_is_said(self, met: Satchel) -> None:
        fix = met.patterns.solve("x1", "use ghp_" + "a1B2" * 9)
        assert "ghp_" not in fix.text
        assert fix.notes == ("a secret was redacted (github-token)",)

    @in_one_test("solution", ["", " \n", None, 5])
    def test_an_empty_one_is_refused(self, met: Satchel, solution: Any) -> None:
        with pytest.raises(InvalidInput, match="solution"):
            met.patterns.solve("x1", solution)

    @pytest.mark.parametrize("ref", ["x2", 99, "0" * 64])
    @pytest.mark.parametrize("is_empty", [True, False])
    def test_an_unknown_error_is_said(
        self, open_in: Callable[..., Satchel], project: Path, ref: str | int, is_empty: bool
    ) -> None:
        satchel = open_in(project)
        if not is_empty:
            satchel.patterns.report(*ERROR)
        for call in (lambda: satchel.patterns.solve(ref, "fix", agent="stranger"), lambda: satchel.patterns.get(ref)):
            with pytest.raises(NotFound, match="there is no error pattern"):
                call()
        assert agents(satchel) == ()

    @in_one_test("ref", ["", "e1", "y1", "x", True, None, "ab" * 31])
    def test_what_is_no_id_of_an_error_is_refused(self, met: Satchel, ref: Any) -> None:
        with pytest.raises(InvalidInput, match="is no id of an error"):
            met.patterns.solve(ref, "fix")
        with pytest.raises(InvalidInput, match="is no id of an error"):
            met.patterns.get(ref)


def by_report(satchel: Satchel, fix: str, agent: str | None) -> Solution:
    told: Reported = satchel.patterns.report(*ERROR, solution=fix, agent=agent)
    assert told.recorded is not None
    return told.recorded


def by_solve(satchel: Satchel, fix: str, agent: str | None) -> Solution:
    return satchel.patterns.solve("x1", fix, agent=agent)


@pytest.mark.parametrize("give", [by_report, by_solve])
class TestTheSameFixAgain:
    def test_from_another_agent_it_confirms(
        self, met: Satchel, give: Callable[[Satchel, str, str | None], Solution]
    ) -> None:
        give(met, "Call it by name", "Ann")
        again = give(met, "  call it BY name\n", "Bob")
        assert (again.ref, again.text, again.agent) == ("y1", "Call it by name", "Ann")
        assert (again.confidence, again.confirmed, again.state) == (6, 1, "confirmed")
        assert len(met.patterns.get("x1", status="all").solutions) == 1

    def test_each_agent_confirms_it_once(
        self, met: Satchel, give: Callable[[Satchel, str, str | None], Solution]
    ) -> None:
        for agent in ("Ann", "Bob", "Bob", "BOB", "Cid", "Bob"):
            last = give(met, "fix", agent)
        assert (last.confidence, last.confirmed) == (7, 2)

    def test_what_helped_an_agent_that_found_it_counts_no_second_time(
        self, met: Satchel, give: Callable[[Satchel, str, str | None], Solution]
    ) -> None:
        for agent in ("Ann", "Bob"):
            give(met, "fix", agent)
        told = met.patterns.outcome("y1", helped=True, agent="Bob")
        assert told.notes == ("Bob already reported that y1 helped: that counts once",)
        met.patterns.outcome("y1", helped=True, agent="Cid")
        assert (give(met, "fix", "Bob").confirmed, give(met, "fix", "Cid").confirmed) == (2, 2)

    def test_each_solution_is_confirmed_for_itself(
        self, met: Satchel, give: Callable[[Satchel, str, str | None], Solution]
    ) -> None:
        assert [give(met, fix, agent).confirmed for fix in ("one", "two") for agent in ("Ann", "Bob")] == [0, 1, 0, 1]

    @pytest.mark.parametrize(("first", "second"), [("Ann", "ANN"), ("Ann", None), (None, "Bob"), (None, None)])
    def test_from_the_same_or_nobody_it_confirms_nothing(
        self,
        met: Satchel,
        give: Callable[[Satchel, str, str | None], Solution],
        first: str | None,
        second: str | None,
    ) -> None:
        before = give(met, "fix", first)
        again = give(met, "fix", second)
        assert (again.ref, again.confidence, again.confirmed, again.state) == ("y1", 5, 0, "active")
        assert again.updated_at == before.updated_at

    def test_another_fix_is_a_second_solution(
        self, met: Satchel, give: Callable[[Satchel, str, str | None], Solution]
    ) -> None:
        assert [give(met, fix, "Ann").ref for fix in ("one", "two")] == ["y1", "y2"]


def test_what_became_of_the_same_fix_is_said(met: Satchel) -> None:
    met.patterns.solve("x1", "fix", agent="Ann")
    assert met.patterns.solve("x1", "fix", agent="Ann").notes == (
        "y1 already records this fix; only another agent can confirm it",
    )
    assert met.patterns.report(*ERROR, solution="fix", agent="Bob").notes == (
        "y1 already records this fix: it is now confirmed",
    )
    assert met.patterns.solve("x1", "fix", agent="Bob").notes == (
        "y1 already records this fix, and this agent has confirmed it before",
    )


def test_the_same_fix_of_another_error_is_its_own(met: Satchel) -> None:
    met.patterns.solve("x1", "fix", agent="Ann")
    told = met.patterns.report("OtherError", "other", solution="fix", agent="Bob")
    assert told.recorded is not None
    assert (told.recorded.ref, told.recorded.confirmed) == ("y2", 0)


# what was reported of a solution in turn (+ helped, - did not), and what it is then
LIFE = [
    ("", 5, "active", "tentative"),
    ("+", 6, "confirmed", "tentative"),
    ("++", 7, "confirmed", "known"),
    ("+++++", 10, "confirmed", "known"),
    ("++++++", 10, "confirmed", "known"),
    ("++++++-", 8, "confirmed", "known"),
    ("-", 3, "demoted", "weak"),
    ("--", 1, "demoted", "observed"),
    ("---", 1, "demoted", "observed"),
    ("--+", 2, "demoted", "observed"),
    ("--++", 3, "demoted", "weak"),
    ("-+", 4, "demoted", "weak"),
    ("-++", 5, "confirmed", "tentative"),
    ("-++-", 3, "demoted", "weak"),
    ("+-", 4, "demoted", "weak"),
    ("++-", 5, "confirmed", "tentative"),
    ("++--", 3, "demoted", "weak"),
    ("+++-", 6, "confirmed", "tentative"),
    ("++++--", 5, "confirmed", "tentative"),
    ("++++---", 3, "demoted", "weak"),
    ("---++++", 5, "confirmed", "tentative"),
    ("---++++++", 7, "confirmed", "known"),
]


@pytest.mark.parametrize(("outcomes", "confidence", "state", "standing"), LIFE)
def test_the_life_of_a_solution(
    met: Satchel, clock: ManualClock, outcomes: str, confidence: int, state: str, standing: str
) -> None:
    given = met.patterns.solve("x1", "fix")
    now = clock.advance(1_000) if outcomes else clock.now
    fix = judged(met, given, outcomes)
    assert (fix.confidence, fix.state, fix.standing) == (confidence, state, standing)
    assert (fix.confirmed, fix.failed) == (outcomes.count("+"), outcomes.count("-"))
    assert fix.updated_at == now
    assert met.patterns.get("x1", status="all").solutions == (fix,)
    is_offered = standing != "observed"
    assert met.patterns.report(*ERROR).solutions == ((fix,) if is_offered else ())
    assert met.patterns.get("x1").solutions == ((fix,) if is_offered else ())


class TestOutcome:
    def test_it_is_a_change_that_extends_no_life(self, met: Satchel, clock: ManualClock) -> None:
        fix = met.patterns.solve("x1", "fix")
        before = met.patterns.get("x1")
        clock.advance(DAY)
        for helped in (True, False):
            judgement = met.patterns.outcome(fix.ref, helped)
            after = met.patterns.get("x1")
            assert (after.expires_at, after.last_seen) == (before.expires_at, before.last_seen)
            assert before.seq < after.seq == judgement.seq

    def test_only_the_solution_named_is_judged(self, met: Satchel) -> None:
        fixes = [met.patterns.solve("x1", text) for text in ("one", "two")]
        met.patterns.outcome(fixes[0].ref, helped=True)
        assert [one.confidence for one in met.patterns.get("x1").solutions] == [6, 5]

    @pytest.mark.parametrize("ref", ["y1", 1, "1", " y1 "])
    def test_the_id_may_be_given_without_its_letter(self, met: Satchel, ref: str | int) -> None:
        met.patterns.solve("x1", "fix")
        assert met.patterns.outcome(ref, helped=True).confirmed == 1

    def test_who_judges_is_recorded_as_one_who_acts(self, met: Satchel) -> None:
        met.patterns.solve("x1", "fix")
        met.patterns.outcome("y1", helped=True, agent="Judge")
        assert [(agent.name, agent.has_acted) for agent in agents(met)] == [("Judge", True)]

    @pytest.mark.parametrize("agent", ["Bob", None])
    def test_each_agent_confirms_and_refutes_once_and_those_without_a_name_are_one(
        self, met: Satchel, agent: str | None
    ) -> None:
        met.patterns.solve("x1", "fix", agent="Ann")
        told = [met.patterns.outcome("y1", helped, agent=agent) for helped in (True, True, False, True, False)]
        assert [(one.confirmed, one.failed, one.confidence) for one in told] == [(1, 0, 6), (1, 0, 6), *[(1, 1, 4)] * 3]
        who = "an agent without a name" if agent is None else agent
        assert [bool(one.notes) for one in told] == [False, True, False, True, True]
        assert told[-1].notes == (f"{who} already reported that y1 did not help: that counts once",)
        assert met.patterns.outcome("y1", helped=True, agent="Cid").confirmed == 2

    def test_its_author_does_not_confirm_it_but_can_refute_it(self, met: Satchel) -> None:
        met.patterns.solve("x1", "fix", agent="Ann")
        told = met.patterns.outcome("y1", helped=True, agent="ann")
        assert (told.confirmed, told.confidence) == (0, 5)
        assert told.notes == ("Ann gave y1: only another agent's word confirms it",)
        assert met.patterns.outcome("y1", helped=False, agent="Ann").failed == 1

    def test_of_an_error_it_is_about_its_only_solution(self, met: Satchel) -> None:
        met.patterns.solve("x1", "fix")
        assert (met.patterns.outcome(" x1 ", helped=True).ref, met.patterns.get("x1").solutions[0].confirmed) == (
            "y1",
            1,
        )

    def test_of_an_error_with_several_it_is_about_the_only_known_one(self, met: Satchel) -> None:
        for text, outcomes in (("one", "++"), ("two", "+")):
            judged(met, met.patterns.solve("x1", text), outcomes)
        assert met.patterns.outcome("x1", helped=True).ref == "y1"

    @pytest.mark.parametrize(("outcomes", "said"), [("", "x1 has 2 solutions"), ("++", "x1 has 2 known solutions")])
    def test_where_several_may_be_meant_they_are_listed(self, met: Satchel, outcomes: str, said: str) -> None:
        for text in ("one", "two"):
            judged(met, met.patterns.solve("x1", text), outcomes)
        with pytest.raises(InvalidInput, match=said) as refused:
            met.patterns.outcome("x1", helped=True)
        assert refused.value.remedy == "Name one: y2 (two), y1 (one)"

    def test_of_an_error_without_a_solution_or_none_it_is_refused(self, met: Satchel) -> None:
        with pytest.raises(NotFound, match="x1 has no solution yet"):
            met.patterns.outcome("x1", helped=True)
        with pytest.raises(NotFound, match="there is no error pattern x2"):
            met.patterns.outcome("x2", helped=True)

    @in_one_test("ref", ["", "e1", True, None, "y-1"])
    def test_what_is_no_id_of_a_solution_is_refused(self, met: Satchel, ref: Any) -> None:
        with pytest.raises(InvalidInput, match="is no id of a solution"):
            met.patterns.outcome(ref, helped=True)

    @pytest.mark.parametrize("helped", [None, 1, "yes"])
    def test_it_must_be_said_whether_it_helped(self, met: Satchel, helped: Any) -> None:
        met.patterns.solve("x1", "fix")
        with pytest.raises(InvalidInput, match="neither true nor false"):
            met.patterns.outcome("y1", helped)
        assert met.patterns.get("x1").solutions[0].confirmed == 0

    @pytest.mark.parametrize("is_empty", [True, False])
    def test_an_unknown_solution_is_said_and_changes_nothing(self, satchel: Satchel, is_empty: bool) -> None:
        if not is_empty:
            satchel.patterns.report(*ERROR)
        before = satchel.patterns.find().seq
        with pytest.raises(NotFound, match="there is no solution y1 in this project"):
            satchel.patterns.outcome("y1", helped=True, agent="stranger")
        assert (agents(satchel), satchel.patterns.find().seq) == ((), before)

    def test_a_solution_of_an_expired_error_is_gone(self, met: Satchel, clock: ManualClock) -> None:
        met.patterns.solve("x1", "fix")
        clock.advance(90 * DAY)
        for helped in (True, False):
            with pytest.raises(NotFound, match="it has expired"):
                met.patterns.outcome("y1", helped)


class TestOrder:
    def test_the_most_confident_comes_first(self, met: Satchel) -> None:
        for text, outcomes in (("low", "-"), ("middle", ""), ("high", "++"), ("observed", "--"), ("above", "+")):
            judged(met, met.patterns.solve("x1", text), outcomes)
        assert offered(met) == ["high", "above", "middle", "low"]
        everything = [one.text for one in met.patterns.get("x1", status="all").solutions]
        assert everything == ["high", "above", "middle", "low", "observed"]

    def test_of_equals_that_which_was_confirmed_more_often_than_it_failed(self, met: Satchel) -> None:
        for text, outcomes in (("no doubt", "+" * 6), ("once in vain", "+++++-+++"), ("less often", "+" * 5)):
            judged(met, met.patterns.solve("x1", text), outcomes)
        assert {one.confidence for one in met.patterns.get("x1").solutions} == {10}
        assert offered(met) == ["once in vain", "no doubt", "less often"]

    def test_of_all_equals_the_newest_by_time_then_number(self, met: Satchel, clock: ManualClock) -> None:
        for text in ("c", "d", "a", "b"):
            met.patterns.solve("x1", text)
            if text == "d":  # what comes later under a clock that was put back is older
                clock.advance(-1_000)
        assert offered(met) == ["d", "c", "b", "a"]


@in_one_test(
    ("message", "example", "met"),
    [
        ("byte # in position #", "byte 0xe9 in position 10\nTraceback:\n  File a.py", "byte 0xe9 in position 10"),
        ("'#' is no file", "Exit code 1\nTraceback:\nOSError: 'a.csv' is no file", "'a.csv' is no file"),
        ("no such table #", "something else altogether", "no such table #"),
        ("#", "12 is too many", "#"),
    ],
)
def test_an_error_reads_as_it_was_first_met_where_its_report_has_it_in_a_line(
    message: str, example: str, met: str
) -> None:
    assert as_met(message, example) == met
