"""Search terms, and the tree of conditions that a query with operators becomes."""

from __future__ import annotations

from satchel.base.records import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    """A word or phrase to look for.

    Attributes:
        words: letters and digits only; more than one make a phrase.
        prefix: whether the last word also matches longer words that start with it.
        in_text: whether to search the text only, not the parts of identifiers.
    """

    words: tuple[str, ...]
    weight: float = 1.0
    prefix: bool = False
    in_text: bool = False


@dataclass(frozen=True, slots=True)
class Every:
    """A condition that holds if all of its parts do."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """A condition that holds if any of its parts does."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Without:
    """A condition that holds where one part does and the other does not."""

    required: Condition
    excluded: Condition


Condition = Term | Every | Either | Without


def terms_of(condition: Condition) -> list[Term]:
    """Return the terms of a condition in order, including excluded ones."""
    if isinstance(condition, Term):
        return [condition]
    parts = (condition.required, condition.excluded) if isinstance(condition, Without) else condition.parts
    return [term for part in parts for term in terms_of(part)]
