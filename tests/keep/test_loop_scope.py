"""Whose attempts count: how SQLite looks up what belongs to a loop."""

from __future__ import annotations

import re

import pytest

from satchel import Satchel
from satchel.keep.loop_scope import OF_LOOPS, LoopScope


@pytest.mark.parametrize(
    ("task", "loop", "indexes"),
    [
        ("T1", "L1", {"context_loop (project_id=? AND loop_id=?", "context_task (project_id=? AND task_id=?"}),
        (None, "L1", {"context_loops (agent_id=?"}),
        ("T1", None, {"context_loops (agent_id=? AND task_id=?"}),
        (None, None, {"context_loops (agent_id=? AND task_id=? AND loop_id=?"}),
    ],
)
def test_no_loop_is_looked_up_by_reading_its_run(
    satchel: Satchel, task: str | None, loop: str | None, indexes: set[str]
) -> None:
    satchel.entries.write("discovery", "the pool holds 5 connections")
    scope = LoopScope(1, 1, task, loop, 1)
    with satchel.workplace.engine.read() as transaction:
        plan = transaction.all(
            f"""
            EXPLAIN QUERY PLAN SELECT c.content FROM context c
            WHERE {scope.holds("context", "c")} AND c.{OF_LOOPS} ORDER BY c.created_at DESC, c.id DESC
            """,
            scope.values,
        )
    steps = [row[3] for row in plan]
    used = set(re.findall(r"USING (?:COVERING )?INDEX (\w+ \([^)]*=\?)", "\n".join(steps)))
    assert used == indexes, steps
