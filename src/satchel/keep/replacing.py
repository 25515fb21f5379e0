"""Replacement of items with a ``superseded_by`` column: entries, packages and strategies."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.find import documents
from satchel.find.kind import LIVE, SUPERSEDED, Kind
from satchel.store.transaction import Transaction


def mark(
    transaction: Transaction,
    project_id: int,
    kind: Kind,
    numbers: Sequence[int],
    by: int | None,
    now: int | None = None,
) -> None:
    """Record that items were superseded, or with None that they live again; ``now`` is the time for packages."""
    first = transaction.next_seq(project_id, len(numbers))
    changes = list(zip(numbers, range(first, first + len(numbers)), strict=True))
    transaction.many(
        f"UPDATE {kind.table} SET superseded_by = :by, seq = :seq{'' if now is None else ', updated_at = :now'} "
        "WHERE project_id = :project AND id = :id",
        [{"by": by, "seq": seq, "now": now, "project": project_id, "id": number} for number, seq in changes],
    )
    documents.set_status(transaction, kind, changes, LIVE if by is None else SUPERSEDED)


def retract(transaction: Transaction, project_id: int, kind: Kind, number: int) -> None:
    """Retract an item by recording that it supersedes itself, so that readers of live items skip it."""
    mark(transaction, project_id, kind, [number], number)


def step_aside(transaction: Transaction, kind: Kind, number: int) -> None:
    """Temporarily mark an item as superseded, since a run may have only one live analysis."""
    transaction.run(f"UPDATE {kind.table} SET superseded_by = id WHERE id = :id", {"id": number})


def hand_on(transaction: Transaction, project_id: int, kind: Kind, number: int) -> None:
    """Relink what an item about to be deleted had superseded: to its replacement, or back to live."""
    values = {"project": project_id, "id": number}
    row = transaction.one(f"SELECT superseded_by FROM {kind.table} WHERE project_id = :project AND id = :id", values)
    of_project = f"SELECT id FROM {kind.table} WHERE project_id = :project"
    rows = transaction.all(f"{of_project} AND superseded_by = :id AND id <> :id ORDER BY id", values)
    replaced = [other for (other,) in rows]
    if row is None or not replaced:
        return
    if row[0] == number:
        for other in replaced:
            retract(transaction, project_id, kind, other)
    else:
        step_aside(transaction, kind, number)
        mark(transaction, project_id, kind, replaced, row[0])
