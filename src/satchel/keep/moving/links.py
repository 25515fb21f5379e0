"""Links to items that have not arrived yet: each waits until its target does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from satchel.keep.kind import LineKind
from satchel.keep.moving.kinds import LINE_KINDS
from satchel.store.transaction import Transaction, set_of

Unresolved = tuple[int, str, bytes]
"""A waiting link: the item's id, the field, and the uid of the target."""


def unresolved(
    kind: LineKind, number: int, uid: bytes, columns: dict[str, Any], links: Iterable[tuple[str, bytes]]
) -> list[Unresolved]:
    """Return the links of an item that wait; one marked ``is_own`` points at the item itself until then."""
    own = [field for name, _ in links if (field := kind.field(name)).is_own]
    columns.update({field.column_name: number for field in own})
    return [(number, name, target) for name, target in links if target != uid]


def record(
    transaction: Transaction,
    project_id: int,
    kind: LineKind,
    waiting: Sequence[Unresolved],
    arrived: Mapping[bytes, int],
) -> None:
    """Record waiting links of items of a kind, and resolve those to items of the kind that arrived, by uid."""
    transaction.many(
        "INSERT INTO unresolved_links (project_id, kind, item_id, field, target) "
        "VALUES (:project, :kind, :item, :field, :target) ON CONFLICT (kind, item_id, field) "
        "DO UPDATE SET project_id = excluded.project_id, target = excluded.target",
        [
            {"project": project_id, "kind": kind.name, "item": number, "field": name, "target": target}
            for number, name, target in waiting
        ],
    )
    if transaction.one("SELECT 1 FROM unresolved_links WHERE project_id = :project LIMIT 1", {"project": project_id}):
        _resolve(transaction, project_id, kind, arrived)


def _resolve(transaction: Transaction, project_id: int, arrived_kind: LineKind, arrived: Mapping[bytes, int]) -> None:
    waiting = transaction.all(
        f"SELECT kind, item_id, field, target FROM unresolved_links "
        f"WHERE project_id = :project AND target IN {set_of(arrived)}",
        {"project": project_id},
    )
    for name, item, field_name, target in waiting:
        kind = LINE_KINDS[name]
        field = kind.field(field_name)
        # skip fields of the same name that link to another table
        if f"FROM {arrived_kind.table} n" not in field.expression:
            continue
        transaction.run(
            f"UPDATE {kind.table} SET {field.column_name} = :number WHERE id = :item",
            {"number": arrived[target], "item": item},
        )
        transaction.run(
            "DELETE FROM unresolved_links WHERE kind = :kind AND item_id = :item AND field = :field",
            {"kind": name, "item": item, "field": field_name},
        )


def forget(transaction: Transaction, kind: LineKind, number: int) -> None:
    """Delete the waiting links of an item."""
    transaction.run(
        "DELETE FROM unresolved_links WHERE kind = :kind AND item_id = :id", {"kind": kind.name, "id": number}
    )
