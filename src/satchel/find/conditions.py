"""Conditions on the words of a document, as a tree: what a search with operators asks for."""

from __future__ import annotations

from satchel.base.records import dataclass
from satchel.find.exact import Term


@dataclass(frozen=True, slots=True)
class Every:
    """What must all be true."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Of what one must be true."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Without:
    """What must be true, and what must not be."""

    kept: Condition
    excluded: Condition


Condition = Term | Every | Either | Without


def terms_of(condition: Condition) -> list[Term]:
    """Return the terms of a condition in their order, those included that exclude."""
    if isinstance(condition, Term):
        return [condition]
    parts = (condition.kept, condition.excluded) if isinstance(condition, Without) else condition.parts
    return [term for part in parts for term in terms_of(part)]
