"""The level of detail of list items, the same for every kind, for agents and people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from satchel.interfaces.operations.declaration import Operation, load

FULL, SNIPPETS = "full", "snippets"
_NOUNS = {"entries": "entry", "strategies": "strategy", "changes": "file change", "patterns": "error"}


def usual(operation: Operation) -> str:
    """Return the default level of detail of a list."""
    return SNIPPETS if operation.whole else FULL


def with_whole_texts(operation: Operation, detail: str | None, answer: Any) -> Any:
    """Return an answer with full items, if requested and not the default."""
    return load(operation.whole)(answer) if detail == FULL and operation.whole else answer


def text_maker(
    operation: Operation, detail: str | None, when: Callable[[int], str] | None = None
) -> Callable[[Any], str]:
    """Import and return the function that renders the text of an answer."""
    if detail in {None, FULL, usual(operation)}:
        return load(operation.text)
    from satchel.interfaces.text.fitting import page_of
    from satchel.interfaces.text.titles import outlines_text

    noun = _NOUNS.get(operation.items, operation.items.removesuffix("s"))
    return lambda answer: outlines_text(page_of(answer), noun, str(detail), when)


def fields_maker(operation: Operation, detail: str | None) -> Callable[[Any], Mapping[str, object]]:
    """Import and return the function that converts an answer to JSON fields."""
    if detail in {None, FULL, usual(operation)}:
        return operation.json_maker()
    from satchel.interfaces.text.fitting import page_of
    from satchel.interfaces.text.titles import outlines_fields

    return lambda answer: outlines_fields(page_of(answer), operation.items, str(detail))
