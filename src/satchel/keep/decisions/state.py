"""States of decisions with resolved names, and their reading from the tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from satchel.base.records import dataclass
from satchel.base.vocabulary import number_of
from satchel.keep.decisions.records import DEFAULT_VERSION, STATUSES, Value
from satchel.keep.globs import globs_in
from satchel.store.transaction import Row, Transaction, grouped, set_of

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
    paths: tuple[str, ...] = ()
    rationale: str | None = None
    metadata: str = "{}"


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
    session: int | None = None


COLUMNS = """
    c.id, c.uid, c.seq, c.key, c.revision, c.value_text, c.value_number, c.status, c.version, c.rationale, c.paths,
    c.metadata,
    c.layer_id, l.name, c.agent_id, a.name, c.created_at, c.updated_at,
    c.session_id
"""
"""Columns for :func:`currents`."""

SOURCE = "decisions c LEFT JOIN agents a ON a.id = c.agent_id LEFT JOIN layers l ON l.id = c.layer_id"


def currents(transaction: Transaction, rows: Sequence[Row]) -> dict[int, Current]:
    """Build decisions from rows of :data:`COLUMNS`, by number, with their tags and scopes."""
    tags, scopes = (names_of(transaction, name, [row[0] for row in rows]) for name in ("tag", "scope"))
    decisions = {}
    for number, uid, seq, key, revision, *state, layer, layer_name, agent, agent_name, created, updated, by in rows:
        text, amount, status, version, rationale, paths, metadata = state
        names = (
            None if layer is None else (layer, layer_name),
            tags.get(number, ()),
            scopes.get(number, ()),
            globs_in(paths),
        )
        current = State(value_of(text, amount), status, version, *names, rationale, metadata)
        author = None if agent is None else (agent, agent_name)
        decisions[number] = Current(number, uid, seq, key, revision, current, author, created, updated, by)
    return decisions


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


def names_of(transaction: Transaction, name: str, numbers: Sequence[int]) -> dict[int, tuple[NumberedName, ...]]:
    """Return the tags or scopes of decisions by number; ``name`` is tag or scope."""
    if not numbers:
        return {}
    rows = transaction.all(
        f"SELECT j.decision_id, n.id, n.name FROM decision_{name}s j JOIN {name}s n ON n.id = j.{name}_id "
        f"WHERE j.decision_id IN {set_of(numbers)}"
    )
    by_decision = grouped((decision, (number, named)) for decision, number, named in rows)
    return {decision: sorted_names(names) for decision, names in by_decision.items()}


def status_number(name: object) -> int:
    return number_of("status", name, STATUSES)
