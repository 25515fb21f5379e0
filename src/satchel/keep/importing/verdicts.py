"""What becomes of imported items, and which of them are here already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from satchel.keep.importing.records import ImportConflict
from satchel.store.transaction import Row, Transaction


class Outcome(Enum):
    """What becomes of one item."""

    ADDED = "added"
    UPDATED = "updated"
    PRESENT = "present"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of one item.

    Attributes:
        states: how many states of a decision are written beyond its first.
        conflict: what stands here otherwise, for a conflict.
    """

    outcome: Outcome
    states: int = 0
    conflict: ImportConflict | None = None


ADDED, UPDATED, PRESENT = Verdict(Outcome.ADDED), Verdict(Outcome.UPDATED), Verdict(Outcome.PRESENT)


def conflict(ref: str, item: str, reason: str) -> Verdict:
    """Return the verdict on an item that stands here otherwise and is left alone."""
    return Verdict(Outcome.CONFLICT, conflict=ImportConflict(ref, item, reason))


def there(
    transaction: Transaction, table: str, columns: str, project_id: int, uids: Sequence[bytes]
) -> dict[bytes, Row]:
    """Return which items are here already: the columns asked for, by their uids.

    Args:
        table: one of our own; so for ``columns``, which are separated by commas.
    """
    listed = ", ".join(f"x'{uid.hex()}'" for uid in uids)
    rows = transaction.all(
        f"SELECT uid, {columns} FROM {table} WHERE project_id = :project AND uid IN ({listed})",
        {"project": project_id},
    )
    return {row[0]: row[1:] for row in rows}
