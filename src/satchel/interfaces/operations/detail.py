"""How much of each item of a list is shown: the same for every kind, to agents and people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from satchel.interfaces.operations.declaration import Operation, load

FULL, SNIPPETS = "full", "snippets"
_NOUNS = {"entries": "entry", "strategies": "strategy", "changes": "file change", "patterns": "error"}


def usual(operation: Operation) -> str:
    """Return how much a list shows unless it is asked for more or less."""
    return SNIPPETS if operation.whole else FULL


def with_whole_texts(operation: Operation, detail: str | None, answer: Any) -> Any:
    """Return an answer that shows its items whole, where that was asked for and is not usual."""
    return load(operation.whole)(answer) if detail == FULL and operation.whole else answer


def text_maker(
    operation: Operation, detail: str | None, when: Callable[[int], str] | None = None
) -> Callable[[Any], str]:
    """Return what makes the text of an answer, imported.

    Args:
        when: how a time is shown; None as agents read it.
    """
    if detail in {None, FULL, usual(operation)}:
        return load(operation.text)
    from satchel.interfaces.text.fitting import page_of
    from satchel.interfaces.text.titles import outlines_text

    noun = _NOUNS.get(operation.items, operation.items.removesuffix("s"))
    return lambda answer: outlines_text(page_of(answer), noun, str(detail), when)


def fields_maker(operation: Operation, detail: str | None) -> Callable[[Any], Mapping[str, object]]:
    """Return what makes JSON fields of an answer, imported."""
    if detail in {None, FULL, usual(operation)}:
        return operation.json_maker()
    from satchel.interfaces.text.fitting import page_of
    from satchel.interfaces.text.titles import outlines_fields

    return lambda answer: outlines_fields(page_of(answer), operation.items, str(detail))
