"""Records of constraints, and their construction from rows."""

from __future__ import annotations

from satchel.base.paging import KeptPage
from satchel.base.records import dataclass
from satchel.base.vocabulary import PRIORITIES
from satchel.find.kind import Kind
from satchel.store.transaction import Row

STATUSES = ("active", "inactive")
"""The statuses of a constraint, stored by their position, from 1."""

ACTIVE, INACTIVE = 1, 2

DEFAULT_CATEGORY = "architecture"
DEFAULT_PRIORITY = "medium"


@dataclass(frozen=True, slots=True)
class Constraint:
    """A rule of the project.

    Attributes:
        id: the store's number; ``ref`` is its short id.
        uid: 32 hexadecimal digits, stable across export and import.
        seq: the number of its last change.
        category: its subject, such as security.
        priority: low, medium, high or critical.
        agent: its author, or None.
        active: whether it is in force.
        reason: why it ended.
        deactivated_by: the agent that ended it, or None.
        deactivated_at: when, in milliseconds UTC.
        created_at: milliseconds UTC.
        score: how well it matched a search, higher is better; None without one.
        notes: what the writer should know; empty when read.
    """

    id: int
    uid: str
    seq: int
    category: str
    text: str
    priority: str
    layer: str | None
    tags: tuple[str, ...]
    agent: str | None
    active: bool
    reason: str | None
    deactivated_by: str | None
    deactivated_at: int | None
    created_at: int
    score: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        return Kind.CONSTRAINT.ref(self.id)


@dataclass(frozen=True, slots=True)
class ConstraintPage(KeptPage[Constraint]):
    """A page of constraints, counted and read in one snapshot."""

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        return self.items


COLUMNS = """
    c.id, c.uid, c.seq, g.name, c.text, c.priority, l.name, a.name, c.active, c.reason, x.name, c.deactivated_at,
    c.created_at
"""
"""Columns of :data:`SOURCE` for :func:`constraint_of`."""

SOURCE = """
    constraints c JOIN categories g ON g.id = c.category_id LEFT JOIN layers l ON l.id = c.layer_id
    LEFT JOIN agents a ON a.id = c.created_by LEFT JOIN agents x ON x.id = c.deactivated_by
"""


def constraint_of(
    row: Row, tags: tuple[str, ...], *, score: float | None = None, notes: tuple[str, ...] = ()
) -> Constraint:
    """Build a record from a row of :data:`COLUMNS`, which are in field order."""
    number, uid, seq, category, text, priority, layer, agent, active, *rest = row[:13]
    rest += [score, notes]
    urgency = PRIORITIES[priority - 1]
    return Constraint(number, uid.hex(), seq, category, text, urgency, layer, tags, agent, bool(active), *rest)
