"""The person who looks at a project, and the time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from satchel.base.records import NamedTuple
from satchel.base.text import fold
from satchel.base.vocabulary import HUMAN
from satchel.keep.decisions.records import value_of
from satchel.keep.names import PERSONS, find_agent
from satchel.store.transaction import Transaction

# The length of an item's line.
LINE_CHARS = 160


class Look(NamedTuple):
    """One look at a project.

    Attributes:
        person: the name of the person.
        number: their id; -1 for a person without a record.
        everybody: the id of ``human``; -1 if nothing was ever addressed to it.
        now: milliseconds UTC.
        former: the id of ``human`` if they are the only person with a name, so that items stored before persons had
            names are theirs; else -1.
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
        """Whether the person has a name other than ``human``."""
        return self.number != self.everybody

    @property
    def values(self) -> dict[str, object]:
        return {
            "project": self.project_id,
            "me": self.number,
            "former": self.former,
            "everybody": self.everybody,
            "now": self.now,
        }

    def rows(self, statement: str, **values: object) -> list[tuple]:  # type: ignore[type-arg] # as rows are
        return self.transaction.all(statement, {**self.values, **values})


def begin(transaction: Transaction, project_id: int, person: str, now: int) -> Look:
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


def of_nobody(transaction: Transaction, project_id: int, now: int) -> Look:
    """Return a look at what is the same for all persons."""
    return Look(transaction, project_id, "", -1, -1, now)


Result = TypeVar("Result")
More = ParamSpec("More")


Find = Callable[Concatenate[Look, More], Result]


def once(find: Find[More, Result]) -> Find[More, Result]:
    """Return a function of reads that does its work once for the same look and arguments."""
    return _keeping(find, lambda look: look)


def once_a_minute(find: Find[More, Result]) -> Find[More, Result]:
    """Return a function of reads that does its work once for the same arguments until a commit, or the next minute."""
    return _keeping(find, lambda look: (*look[1:-2], look.former, look.now // 60_000))


def _keeping(find: Find[More, Result], moment_of: Callable[[Look], tuple[object, ...]]) -> Find[More, Result]:
    def find_again(look: Look, /, *args: More.args, **kwargs: More.kwargs) -> Result:
        moment = moment_of(look), args
        memo = look.transaction.reads.get(find)
        if memo is None or memo[0] != moment:
            # the last one alone, since they outlive the transaction
            memo = look.transaction.reads[find] = moment, find(look, *args, **kwargs)
        result: Result = memo[1]
        return result

    return find_again


# Of how many rows of the whole store those of one project are picked.
_LOOKED_AT = 50_000


def newest(table: str, most: int) -> str:
    """Return the newest rows of a project, in SQL, in the order of ids: an index on the project would sort all."""
    return (
        f"(SELECT * FROM {table} WHERE +project_id = :project AND id > (SELECT max(id) FROM {table}) - {_LOOKED_AT} "
        f"ORDER BY id DESC LIMIT {most})"
    )


def value_text(text: str | None, number: float | None) -> str:
    """Return a decision's value as text, from its columns for text and number."""
    return str(value_of(text, number))


def possible(**actions: object) -> tuple[str, ...]:
    """Return the names of the actions whose object is there."""
    return tuple(name for name, object_ in actions.items() if object_)
