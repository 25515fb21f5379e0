"""Answers that are short enough for every client: of a list that is too long, fewer items and where the rest is."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from satchel.base.records import replace
from satchel.interfaces.text.parts import json_line

MAX_CHARS = 19_000
"""The characters of an answer: with a notice it stays under 20,000, where clients begin to cut."""

_PLACES = ("page", "history", "results", "sessions", "items")
"""The field that holds the page or the items of an answer."""


def page_of(answer: Any) -> Any:
    """Return the page that an answer is or holds."""
    return answer if hasattr(answer, "next_offset") else answer.page


def items_of(answer: Any) -> Sequence[Any]:
    """Return the items of a page, or of what holds one."""
    name = _place(answer)
    if name is None:
        return ()
    value: Sequence[Any] = getattr(answer, name)
    return value if isinstance(value, tuple) else items_of(value)


def fitting_text(answer: Any, make: Callable[[Any], str]) -> str:
    """Render an answer with as many of its items as there is room for; the first line tells how to get the rest.

    A single item that is too long is cut, and the first line names the call that pages through it.
    """
    text = make(fitting(answer, make))
    return text if len(text) <= MAX_CHARS else _cut(text, items_of(answer), getattr(answer, "decision", None))


def fitting(answer: Any, make: Callable[[Any], str]) -> Any:
    """Return an answer with as many of its items as its text has room for, at least one."""
    items = items_of(answer)
    if not items or len(make(answer)) <= MAX_CHARS:
        return answer
    count = _most(len(items), lambda count: len(make(_with_first(answer, count))) <= MAX_CHARS)
    return _with_first(answer, max(1, count))


def fitting_fields(answer: Any, make: Callable[[Any], Mapping[str, object]]) -> Mapping[str, object]:
    """Return an answer as JSON fields with as many of its items as there is room for, at least one, which is whole."""
    fields = make(answer)
    items = items_of(answer)
    if len(items) < 2 or _json_chars(fields) <= MAX_CHARS:
        return fields
    count = _most(len(items), lambda count: _json_chars(make(_with_first(answer, count))) <= MAX_CHARS)
    return make(_with_first(answer, max(1, count)))


def _most(items: int, fits: Callable[[int], bool]) -> int:
    low, high = 0, items
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _cut(text: str, items: Sequence[Any], whole: Any) -> str:
    head, _, rest = text.partition("\n")
    ref = next((one.ref for one in (*items[:1], whole) if hasattr(one, "ref")), None)
    what = "the answer is" if ref is None else f"get_items({json_line([ref])}) pages through {ref}, which is"
    head = f"{head}; {what} cut after {MAX_CHARS:,} characters"
    return f"{head}\n{rest}"[:MAX_CHARS]


def _with_first(answer: Any, count: int) -> Any:
    name = _place(answer)
    if name is None:
        return answer
    value = getattr(answer, name)
    return replace(answer, **{name: value[:count] if isinstance(value, tuple) else _with_first(value, count)})


def _place(answer: Any) -> str | None:
    return next((name for name in _PLACES if hasattr(answer, name)), None) if hasattr(answer, "__slots__") else None


def _json_chars(fields: Mapping[str, object]) -> int:
    return len(json.dumps(fields, ensure_ascii=False, separators=(",", ":")))
