"""For whom something is looked up, and when."""

from __future__ import annotations

from satchel.base.records import NamedTuple
from satchel.base.text import fold
from satchel.base.vocabulary import HUMAN
from satchel.keep.decisions.state import value_of
from satchel.keep.names import PERSONS, find_agent
from satchel.store.transaction import Transaction

LINE_CHARS = 160
"""So long is the line of text of an item."""


class Look(NamedTuple):
    """One look at a project.

    Attributes:
        person: the name of the one who looks.
        number: theirs; -1 for one that nothing is recorded of.
        everybody: the number of ``human``; -1 where nothing was ever addressed to it.
        now: milliseconds UTC.
        former: the number of ``human`` if they are the only person with a name, so that what was stored before persons
            had names is their own; else -1.
    """

    transaction: Transaction
    project_id: int
    person: str
    number: int
    everybody: int
    now: int
    former: int = -1

    @property
    def is_named(self) -> bool:
        """Whether the person is one by name, and not ``human``."""
        return self.number != self.everybody

    @property
    def values(self) -> dict[str, object]:
        """The parameters that statements here take."""
        return {
            "project": self.project_id,
            "me": self.number,
            "former": self.former,
            "everybody": self.everybody,
            "now": self.now,
        }

    def rows(self, statement: str, **values: object) -> list[tuple]:  # type: ignore[type-arg] # as rows are
        """Return the rows of a statement."""
        return self.transaction.all(statement, {**self.values, **values})


def begin(transaction: Transaction, project_id: int, person: str, now: int) -> Look:
    """Return a person's look at a project."""
    number = find_agent(transaction, project_id, person)
    everybody = number if fold(person) == HUMAN else find_agent(transaction, project_id, HUMAN)
    assert number is not None
    assert everybody is not None
    others = transaction.one(
        f"SELECT 1 FROM agents WHERE id IN {PERSONS} AND id NOT IN (:me, :everybody) LIMIT 1",
        {"project": project_id, "me": number, "everybody": everybody},
    )
    former = everybody if others is None and number != everybody else -1
    return Look(transaction, project_id, person, number, everybody, now, former)


def decided(text: str | None, number: float | None) -> str:
    """Return what was decided as text, of the columns for texts and numbers; the table has numbers as floats."""
    return str(value_of(text, number))
