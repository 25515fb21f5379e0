"""Terms that a search looks for, and conditions on them as a tree, as a query with operators makes it."""

from __future__ import annotations

from satchel.base.records import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for.

    Attributes:
        words: the words of a phrase, or a single one; letters and digits only.
        weight: how much a match counts, 1 for a word of the query.
        prefix: whether a word that begins so matches too.
        in_text: whether only the text is looked at, not the parts of identifiers.
    """

    words: tuple[str, ...]
    weight: float = 1.0
    prefix: bool = False
    in_text: bool = False


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
