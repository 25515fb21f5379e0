"""States of decisions with resolved names, and their reading from the tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from satchel.base.grouping import grouped
from satchel.base.records import dataclass
from satchel.base.vocabulary import number_of
from satchel.keep.decisions.records import DEFAULT_VERSION, STATUSES, Value
from satchel.store.transaction import Row, Transaction, set_of

ACTIVE, DEPRECATED, DRAFT = 1, 2, 3

LARGEST_WHOLE = 2**53
"""Whole numbers up to this one are stored exactly."""

NumberedName = tuple[int, str]
"""The id of a name, and the name."""


@dataclass(frozen=True, slots=True)
class State:
    """A state of a decision with resolved names.

    Attributes:
        status: the number of one of :data:`STATUSES`.
        tags: sorted by name, as are ``scopes``.
    """

    value: Value
    status: int = ACTIVE
    version: str = DEFAULT_VERSION
    layer: NumberedName | None = None
    tags: tuple[NumberedName, ...] = ()
    scopes: tuple[NumberedName, ...] = ()
    rationale: str | None = None


@dataclass(frozen=True, slots=True)
class Current:
    """A decision's current state in the tables.

    Attributes:
        agent: the author of the last change.
        created_at: in milliseconds UTC.
        updated_at: the time of the last change.
    """

    id: int
    uid: bytes
    seq: int
    key: str
    revision: int
    state: State
    agent: NumberedName | None
    created_at: int
    updated_at: int


COLUMNS = """
    c.id, c.uid, c.seq, c.key, c.value_text, c.value_number, c.agent_id, a.name, c.layer_id, l.name, c.version,
    c.revision, c.status, c.rationale, c.created_at, c.updated_at
"""
"""Columns for :func:`currents`."""

SOURCE = "decisions c LEFT JOIN agents a ON a.id = c.agent_id LEFT JOIN layers l ON l.id = c.layer_id"


def currents(transaction: Transaction, rows: Sequence[Row]) -> dict[int, Current]:
    """Build decisions from rows of :data:`COLUMNS`, by number, with their tags and scopes."""
    numbers = [row[0] for row in rows]
    tags = _names(transaction, "decision_tags", "tag_id", "tags", numbers)
    scopes = _names(transaction, "decision_scopes", "scope_id", "scopes", numbers)
    return {
        row[0]: Current(
            id=row[0],
            uid=row[1],
            seq=row[2],
            key=row[3],
            revision=row[11],
            state=State(
                value=value_of(row[4], row[5]),
                status=row[12],
                version=row[10],
                layer=None if row[8] is None else (row[8], row[9]),
                tags=tags.get(row[0], ()),
                scopes=scopes.get(row[0], ()),
                rationale=row[13],
            ),
            agent=None if row[6] is None else (row[6], row[7]),
            created_at=row[14],
            updated_at=row[15],
        )
        for row in rows
    }


def load(transaction: Transaction, project_id: int, key: str) -> Current | None:
    """Return the decision with a key, or None."""
    row = transaction.one(
        "SELECT id FROM decisions WHERE project_id = :project AND key = :key", {"project": project_id, "key": key}
    )
    return None if row is None else load_number(transaction, project_id, row[0])


def load_number(transaction: Transaction, project_id: int, number: int) -> Current | None:
    """Return the decision with a number, or None."""
    rows = transaction.all(
        f"SELECT {COLUMNS} FROM {SOURCE} WHERE c.project_id = :project AND c.id = :id",
        {"project": project_id, "id": number},
    )
    return currents(transaction, rows)[number] if rows else None


def value_of(text: str | None, number: float | None) -> Value:
    """Return a decision's value; whole numbers are ints."""
    if number is None:
        return text or ""
    return int(number) if number.is_integer() and abs(number) <= LARGEST_WHOLE else number


def sorted_names(names: Iterable[NumberedName]) -> tuple[NumberedName, ...]:
    """Return names in display order."""
    return tuple(sorted(names, key=lambda one: (one[1].casefold(), one[0])))


def _names(
    transaction: Transaction, junction: str, column: str, table: str, numbers: Sequence[int]
) -> dict[int, tuple[NumberedName, ...]]:
    if not numbers:
        return {}
    rows = transaction.all(
        f"SELECT j.decision_id, n.id, n.name FROM {junction} j JOIN {table} n ON n.id = j.{column} "
        f"WHERE j.decision_id IN {set_of(numbers)}"
    )
    by_decision = grouped((decision, (number, name)) for decision, number, name in rows)
    return {decision: sorted_names(names) for decision, names in by_decision.items()}


def status_number(name: object) -> int:
    return number_of("status", name, STATUSES)
