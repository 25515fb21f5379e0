"""Agents that never agreed on a loop, though they use the same names: neither accuses nor credits the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from brief.learning.loops import ERROR, solutions
from satchel import Satchel

APPROACHES = ("clear every cache", "lock the table", "retry with backoff")


@pytest.fixture
def satchel(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """A store without anything in it."""
    return open_in(project)


def fail(satchel: Satchel, agent: str, *, task: str | None = None, loop: str | None = None) -> None:
    """Write three scratchpads that failed, each another approach."""
    for iteration, approach in enumerate(APPROACHES, 1):
        content = {"iteration": iteration, "attempted": [approach], "test_status": "failing"}
        satchel.entries.write("scratchpad", content, task_id=task, loop_id=loop, agent=agent)


def succeed(satchel: Satchel, agent: str, *, task: str | None = None, loop: str | None = None) -> tuple[str, ...]:
    """Write a scratchpad that succeeded, and return what its author is told."""
    content = {"iteration": 4, "attempted": ["call it by name"], "test_status": "passing"}
    return satchel.entries.write("scratchpad", content, task_id=task, loop_id=loop, agent=agent).notes


def test_another_agents_loop_of_the_same_name_does_not_make_an_agent_stuck(satchel: Satchel) -> None:
    fail(satchel, "ann", loop="L")
    assert [satchel.brief(loop_id="L", agent=agent, dry_run=True).is_stuck for agent in ("ann", "ben")] == [True, False]
    assert "clear every cache" not in satchel.brief(loop_id="L", agent="ben", dry_run=True).text


def test_in_a_shared_loop_and_task_both_are_stuck_and_the_other_is_named(satchel: Satchel) -> None:
    fail(satchel, "ann", task="T", loop="L")
    briefing = satchel.brief(task_id="T", loop_id="L", agent="ben", dry_run=True)
    assert briefing.is_stuck
    assert "STUCK: 3 iterations (with ann) without progress" in briefing.text
    assert "e3 iteration 3, tests failing by ann: tried: retry with backoff; tried before: " in briefing.text


def test_another_agents_success_is_no_fix_of_a_strangers_error(satchel: Satchel) -> None:
    satchel.patterns.report(*ERROR, loop_id="L", agent="ann")
    assert succeed(satchel, "ben", loop="L") == ()
    assert solutions(satchel) == []
    assert "y1" in " ".join(succeed(satchel, "ann", loop="L"))
    assert solutions(satchel) == ["call it by name"]


@pytest.mark.parametrize("task", [None, "T"])
def test_a_scratchpad_without_a_loop_id_still_warns(satchel: Satchel, task: str | None) -> None:
    fail(satchel, "ann", task=task)
    assert [satchel.brief(task_id=task, agent=name, dry_run=True).is_stuck for name in ("ann", "ben")] == [True, False]


def test_report_error_with_a_task_but_no_loop_is_accepted_and_learned_from(satchel: Satchel) -> None:
    assert satchel.patterns.report(*ERROR, task_id="T", agent="ann").notes == ()
    fail(satchel, "ann", task="T")
    assert succeed(satchel, "ben", task="T") == ()
    assert len(succeed(satchel, "ann", task="T")) == 1
    assert solutions(satchel) == ["call it by name"]


def test_a_loop_is_within_one_run(satchel: Satchel) -> None:
    satchel.runs.start("night")
    satchel.patterns.report(*ERROR, task_id="T", loop_id="L", run_id="night", agent="ann")
    fail(satchel, "ann", task="T", loop="L")
    assert succeed(satchel, "ann", task="T", loop="L") == ()
    assert solutions(satchel) == []
    assert not satchel.brief(task_id="T", loop_id="L", run_id="night", agent="ann", dry_run=True).is_stuck
