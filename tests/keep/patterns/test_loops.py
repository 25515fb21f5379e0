"""Errors that are reported with the loop that met them, and whose word settles what fixed them there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel import InvalidInput, NotFound, Satchel

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


def test_a_report_with_its_loop_is_noted_where_it_was_met(satchel: Satchel) -> None:
    satchel.runs.start("night")
    told = satchel.patterns.report(*ERROR, task_id="T1", loop_id="L1", agent="Ann")
    assert told.notes == ()
    assert reports(satchel) == [("main", "T1", "L1", 1, "Ann", None)]


def test_a_report_without_a_loop_is_noted_nowhere_and_starts_no_run(satchel: Satchel) -> None:
    satchel.patterns.report(*ERROR)
    assert (reports(satchel), satchel.runs.list().total) == ([], 0)


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


def test_whoever_met_it_last_counts(satchel: Satchel) -> None:
    satchel.patterns.report(*ERROR, loop_id="L", task_id="T", agent="Ann")
    satchel.patterns.report(*ERROR, loop_id="L", agent="Bob")
    satchel.patterns.report(*ERROR, loop_id="L", task_id="U")
    assert [row[1:5] for row in reports(satchel)] == [("U", "L", 1, "Bob")]


@pytest.mark.parametrize("name", ["task_id", "loop_id", "run_id"])
@pytest.mark.parametrize("value", ["", "  ", "a\nb", "{{loopId}}", "x" * 201, "ghp_" + "a1B2" * 9, 7])
def test_what_is_no_name_is_refused(satchel: Satchel, name: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=name):
        satchel.patterns.report(*ERROR, **{"loop_id": "L1", name: value})
    assert satchel.patterns.find(limit=0).total == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"task_id": "T"}, "task_id is given without loop_id"),
        ({"run_id": "R"}, "run_id is given without loop_id"),
        ({"task_id": "T", "run_id": "R"}, "task_id and run_id are given without loop_id"),
    ],
)
def test_a_task_or_run_without_the_loop_is_refused(satchel: Satchel, given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        satchel.patterns.report(*ERROR, **given)
    assert satchel.patterns.find(limit=0).total == 0


class TestSettling:
    """An agent that says what fixed an error settles it in every loop where they had met it."""

    def test_a_report_that_brings_its_solution_waits_for_none(self, satchel: Satchel) -> None:
        satchel.patterns.report(*ERROR, loop_id="L1", solution="call it by name")
        assert [row[5] for row in reports(satchel)] == [1]

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
        assert [row[5] for row in reports(satchel)] == [2]

    def test_a_known_solution_that_helped_settles_it(self, satchel: Satchel) -> None:
        satchel.patterns.report(*ERROR, solution="known", agent="Bob")
        satchel.patterns.report(*ERROR, loop_id="L1", agent="Ann")
        satchel.patterns.outcome("y1", helped=True, agent="Ann")
        assert [row[5] for row in reports(satchel)] == [1]

    def test_one_that_did_not_help_settles_nothing(self, satchel: Satchel) -> None:
        satchel.patterns.report(*ERROR, solution="known", agent="Bob")
        satchel.patterns.report(*ERROR, loop_id="L1", agent="Ann")
        satchel.patterns.outcome("y1", helped=False, agent="Ann")
        assert [row[5] for row in reports(satchel)] == [None]

    @pytest.mark.parametrize("agent", ["Bob", None])
    def test_the_word_of_another_or_of_nobody_settles_nothing(self, satchel: Satchel, agent: str | None) -> None:
        satchel.patterns.report(*ERROR, loop_id="L1", agent="Ann")
        satchel.patterns.solve("x1", "fix", agent=agent)
        satchel.patterns.outcome("y1", helped=True, agent=agent)
        assert [row[5] for row in reports(satchel)] == [None]

    def test_another_error_waits_on(self, satchel: Satchel) -> None:
        satchel.patterns.report(*OTHER, loop_id="L1", agent="Ann")
        satchel.patterns.report(*ERROR, loop_id="L1", agent="Ann")
        satchel.patterns.solve("x2", "fix", agent="Ann")
        assert [row[5] for row in reports(satchel)] == [None, 1]

    def test_what_was_settled_stays(self, satchel: Satchel) -> None:
        satchel.patterns.report(*ERROR, loop_id="L1", solution="one", agent="Ann")
        satchel.patterns.solve("x1", "two", agent="Ann")
        assert [row[5] for row in reports(satchel)] == [1]

    def test_another_project_is_left_alone(self, open_in: Callable[..., Satchel], project: Path) -> None:
        one, other = (open_in(project, project=name, agent="Ann") for name in ("one", "other"))
        one.patterns.report(*ERROR, loop_id="L1")
        other.patterns.report(*ERROR, loop_id="L1", solution="fix")
        assert [row[5] for row in reports(one)] == [None, 1]
