"""Errors that are reported with the loop that met them, and whose word settles what fixed them there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel import InvalidInput, NotFound, Satchel
from tables import in_one_test

ERROR = ("TypeError", "x is not callable")
OTHER = ("KeyError", "'token'")


def reports(satchel: Satchel) -> list[tuple[object, ...]]:
    """Return what was noted: the run, task, loop, error, agent and solution of each, in order."""
    with satchel.workplace.engine.read() as transaction:
        return transaction.all(
            """
            SELECT runs.run_id, r.task_id, r.loop_id, r.pattern_id, a.name, r.solution_id
            FROM error_reports r JOIN runs ON runs.id = r.run_id LEFT JOIN agents a ON a.id = r.agent_id ORDER BY r.id
            """
        )


def settled(satchel: Satchel) -> list[object]:
    """Return the solutions of the errors that were met in loops, in order."""
    return [row[5] for row in reports(satchel) if row[2] is not None]


def test_a_report_with_its_loop_is_noted_where_it_was_met(satchel: Satchel) -> None:
    satchel.runs.start("night")
    told = satchel.patterns.report(*ERROR, task_id="T1", loop_id="L1", agent="Ann")
    assert told.notes == ()
    assert reports(satchel) == [("main", "T1", "L1", 1, "Ann", None)]


@pytest.mark.parametrize("task", [None, "T1"])
def test_a_report_needs_no_loop_and_no_task(satchel: Satchel, task: str | None) -> None:
    assert satchel.patterns.report(*ERROR, task_id=task, agent="Ann").notes == ()
    assert reports(satchel) == [("main", task, None, 1, "Ann", None)]


def test_a_report_without_a_run_waits_in_main_however_many_are_active(satchel: Satchel) -> None:
    for name in ("one", "two"):
        satchel.runs.start(name)
    assert satchel.patterns.report(*ERROR).is_new
    satchel.patterns.report(*ERROR, run_id="two")
    assert [row[0] for row in reports(satchel)] == ["main", "two"]


def test_a_report_in_a_run_that_has_ended_says_so(satchel: Satchel) -> None:
    satchel.runs.start("one")
    satchel.runs.end("one")
    assert satchel.patterns.report(*ERROR, run_id="one").notes == ("run one is completed",)


def test_the_run_can_be_chosen(satchel: Satchel) -> None:
    for name in ("one", "two"):
        satchel.runs.start(name)
    satchel.patterns.report(*ERROR, loop_id="L1", run_id="two")
    assert [row[0] for row in reports(satchel)] == ["two"]


def test_an_unknown_run_writes_nothing(satchel: Satchel) -> None:
    with pytest.raises(NotFound, match="there is no run 'x'"):
        satchel.patterns.report(*ERROR, loop_id="L1", run_id="x")
    assert satchel.patterns.find(limit=0).total == 0


def test_the_same_error_waits_in_a_loop_once(satchel: Satchel) -> None:
    for loop in ("L1", "L1", "L2"):
        satchel.patterns.report(*ERROR, loop_id=loop, agent="Ann")
    assert [row[2] for row in reports(satchel)] == ["L1", "L2"]
    assert satchel.patterns.get("x1").occurrences == 3


def test_it_waits_for_each_agent_at_each_place(satchel: Satchel) -> None:
    places = [("T", "L", "Ann"), (None, "L", "Bob"), ("U", "L", None), (None, None, "Ann"), ("T", None, "Ann")]
    for task, loop, agent in places * 2:
        satchel.patterns.report(*ERROR, loop_id=loop, task_id=task, agent=agent)
    assert [(row[1], row[2], row[4]) for row in reports(satchel)] == places


@in_one_test("name", ["task_id", "loop_id", "run_id"])
@in_one_test("value", ["", "  ", "a\nb", "{{loopId}}", "x" * 201, "ghp_" + "a1B2" * 9, 7])
def test_what_is_no_name_is_refused(satchel: Satchel, name: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=name):
        satchel.patterns.report(*ERROR, **{"loop_id": "L1", name: value})
    assert satchel.patterns.find(limit=0).total == 0


class TestSettling:
    """An agent that says what fixed an error settles it in every loop where they had met it."""

    def test_a_report_that_brings_its_solution_waits_for_none(self, satchel: Satchel) -> None:
        satchel.patterns.report(*ERROR, loop_id="L1", solution="call it by name")
        assert settled(satchel) == [1]

    @pytest.mark.parametrize(
        "say",
        [
            lambda satchel: satchel.patterns.solve("x1", "another", agent="Ann"),
            lambda satchel: satchel.patterns.report(*ERROR, solution="another", agent="Ann"),
        ],
    )
    def test_a_fix_of_its_own_settles_it(self, satchel: Satchel, say: Callable[[Satchel], object]) -> None:
        satchel.patterns.report(*ERROR, solution="known", agent="Bob")
        satchel.patterns.report(*ERROR, loop_id="L1", agent="Ann")
        say(satchel)
        assert settled(satchel) == [2]

    def test_a_known_solution_that_helped_settles_it(self, satchel: Satchel) -> None:
        satchel.patterns.report(*ERROR, solution="known", agent="Bob")
        satchel.patterns.report(*ERROR, loop_id="L1", agent="Ann")
        satchel.patterns.outcome("y1", helped=True, agent="Ann")
        assert settled(satchel) == [1]

    def test_one_that_did_not_help_settles_nothing(self, satchel: Satchel) -> None:
        satchel.patterns.report(*ERROR, solution="known", agent="Bob")
        satchel.patterns.report(*ERROR, loop_id="L1", agent="Ann")
        satchel.patterns.outcome("y1", helped=False, agent="Ann")
        assert settled(satchel) == [None]

    def test_the_word_of_those_without_a_name_settles_what_they_met(self, satchel: Satchel) -> None:
        satchel.patterns.report(*ERROR, loop_id="L1")
        satchel.patterns.solve("x1", "fix")
        assert settled(satchel) == [1]

    @pytest.mark.parametrize("agent", ["Bob", None])
    def test_the_word_of_another_or_of_nobody_settles_nothing(self, satchel: Satchel, agent: str | None) -> None:
        satchel.patterns.report(*ERROR, loop_id="L1", agent="Ann")
        satchel.patterns.solve("x1", "fix", agent=agent)
        satchel.patterns.outcome("y1", helped=True, agent=agent)
        assert settled(satchel) == [None]

    def test_another_error_waits_on(self, satchel: Satchel) -> None:
        satchel.patterns.report(*OTHER, loop_id="L1", agent="Ann")
        satchel.patterns.report(*ERROR, loop_id="L1", agent="Ann")
        satchel.patterns.solve("x2", "fix", agent="Ann")
        assert settled(satchel) == [None, 1]

    def test_what_was_settled_stays(self, satchel: Satchel) -> None:
        satchel.patterns.report(*ERROR, loop_id="L1", solution="one", agent="Ann")
        satchel.patterns.solve("x1", "two", agent="Ann")
        assert settled(satchel) == [1]

    def test_another_project_is_left_alone(self, open_in: Callable[..., Satchel], project: Path) -> None:
        one, other = (open_in(project, project=name, agent="Ann") for name in ("one", "other"))
        one.patterns.report(*ERROR, loop_id="L1")
        other.patterns.report(*ERROR, loop_id="L1", solution="fix")
        assert [row[5] for row in reports(one)] == [None, 1]
