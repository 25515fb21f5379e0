"""The scope of a search: which documents it chooses from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from satchel.base.records import dataclass, field
from satchel.find.kind import SUPERSEDED, Kind
from satchel.store.transaction import Transaction

SMALL = 8_000
"""A scope of so many documents is scored whole."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What to search. None or an empty tuple means that a filter was not given.

    Attributes:
        types: item types, each as its kind and its number within it.
        agent_id, task_id, loop_id, file: only items of these.
        since: only items from this time on, in milliseconds UTC.
        status: live, superseded or all; drafts are live, and rank below the rest.
        now: the time, in milliseconds: what has expired by then is not found.
        condition: SQL over ``documents d`` that items must meet too; empty is none.
        values: its parameters.
    """

    project_id: int
    run_id: int | None = None
    kinds: tuple[Kind, ...] = ()
    types: tuple[tuple[Kind, int], ...] = ()
    agent_id: int | None = None
    task_id: str | None = None
    loop_id: str | None = None
    file: str | None = None
    since: int | None = None
    status: str = "live"
    now: int = 0
    condition: str = ""
    values: Mapping[str, object] = field(default_factory=dict)


def filters(scope: Scope, asked: Sequence[str] = ()) -> tuple[str, dict[str, object]]:
    """Return the filters on the documents, not on the index, as SQL over ``documents d``; empty without any.

    Args:
        asked: more of them.
    """
    parts = [scope.condition] if scope.condition else []
    values = dict(scope.values) if scope.condition else {}
    named = (("agent_id", scope.agent_id), ("task_id", scope.task_id), ("loop_id", scope.loop_id), ("file", scope.file))
    for column, value in named:
        if value is not None:
            parts.append(f"d.{column} = :{column}")
            values[column] = value
    if scope.since is not None:
        parts.append("d.created_at >= :since")
        values["since"] = scope.since
    if scope.status == "superseded":
        parts.append(f"d.status = {SUPERSEDED}")
    parts += asked
    return " AND ".join(parts), values


def population_of(transaction: Transaction, scope: Scope) -> int:
    """Return how many documents there are to choose from: those of a run where they are few, else the project's."""
    if scope.run_id is not None:
        row = transaction.one(
            "SELECT count(*) FROM (SELECT 1 FROM documents WHERE run_id = :run LIMIT :most) AS counted",
            {"run": scope.run_id, "most": SMALL + 1},
        )
        if row is not None and row[0] <= SMALL:
            return int(row[0])
    row = transaction.one("SELECT documents FROM projects WHERE id = :project", {"project": scope.project_id})
    return int(row[0]) if row else 0
