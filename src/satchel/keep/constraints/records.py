"""The records of constraints, and how rows become them."""

from __future__ import annotations

from satchel.base.paging import KeptPage
from satchel.base.records import dataclass
from satchel.base.vocabulary import PRIORITIES
from satchel.find.kind import Kind
from satchel.store.transaction import Row

STATUSES = ("active", "inactive")
"""The states of a constraint; the number of one in the documents is its place here, from 1."""

ACTIVE, INACTIVE = 1, 2

DEFAULT_CATEGORY = "architecture"
DEFAULT_PRIORITY = "medium"


@dataclass(frozen=True, slots=True)
class Constraint:
    """One rule.

    Attributes:
        id: the store's number; ``ref`` is its short id.
        uid: 32 hexadecimal digits, stable across export and import.
        seq: the number of its last change.
        category: what it is about, such as security.
        priority: low, medium, high or critical.
        agent: who added it, or None.
        active: whether it holds.
        reason: why it does not hold any more.
        deactivated_by: who said so, or None.
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
        """The short id, as in ``c7``."""
        return Kind.CONSTRAINT.ref(self.id)


@dataclass(frozen=True, slots=True)
class ConstraintPage(KeptPage[Constraint]):
    """Part of the constraints, counted and read in one snapshot."""

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The part."""
        return self.items


COLUMNS = """
    c.id, c.uid, c.seq, g.name, c.text, c.priority, l.name, a.name, c.active, c.reason, x.name, c.deactivated_at,
    c.created_at
"""
"""The columns :func:`constraint_of` reads, from :data:`SOURCE`."""

SOURCE = """
    constraints c JOIN categories g ON g.id = c.category_id LEFT JOIN layers l ON l.id = c.layer_id
    LEFT JOIN agents a ON a.id = c.created_by LEFT JOIN agents x ON x.id = c.deactivated_by
"""


def constraint_of(
    row: Row, tags: tuple[str, ...], *, score: float | None = None, notes: tuple[str, ...] = ()
) -> Constraint:
    """Turn a row of :data:`COLUMNS`, which stand in the order of the fields, into a record."""
    number, uid, seq, category, text, priority, layer, agent, active, *rest = row[:13]
    rest += [score, notes]
    urgency = PRIORITIES[priority - 1]
    return Constraint(number, uid.hex(), seq, category, text, urgency, layer, tags, agent, bool(active), *rest)
