"""Objects and arrays in a JSON text: inserting and removing items without touching the rest.

Between brackets, items and commas are gaps of whitespace and comments. :func:`cut` undoes :func:`inserted` to the byte:
the layout of an empty container is encoded in the whitespace after the inserted item.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

_NEWLINE = re.compile(r"\r\n|\n")
_BLANKS = re.compile(r"[ \t]*")
_END_OF_LINE = re.compile(r"[ \t]*(?:[\r\n]|\Z)")


class Item(NamedTuple):
    """One member of an object or element of an array.

    Attributes:
        key: None in an array.
        start: its start; in an object that of its key.
        comma: the position of the comma after it; None for a last item without one.
    """

    key: str | None
    start: int
    value: Value
    comma: int | None = None


class Value(NamedTuple):
    """A value in a text; ``items`` is None unless it is an object or array."""

    start: int
    end: int
    items: tuple[Item, ...] | None = None


class Layout(NamedTuple):
    """The line break and indentation of an item.

    Attributes:
        newline: the line ending; None to stay on one line.
        indent: the whitespace before the item, if it has a line of its own.
        unit: the whitespace that each further level adds.
    """

    newline: str | None
    indent: str
    unit: str


def newline_of(text: str) -> str:
    r"""Return the line ending of the first line; ``\n`` for a text of one line."""
    found = _NEWLINE.search(text)
    return found[0] if found else "\n"


def indent_at(text: str, position: int) -> str:
    """Return the leading whitespace of the line at a position."""
    found = _BLANKS.match(text, text.rfind("\n", 0, position) + 1)
    return found[0] if found else ""


def is_on_own_line(text: str, container: Value, index: int) -> bool:
    """Check whether there is a line break between an item and whatever precedes it."""
    return "\n" in text[_boundary(container, index) : _items(container)[index].start]


def inserted(
    text: str, container: Value, write: Callable[[Layout], str], *, comment: re.Pattern[str], unit: str, spread: bool
) -> str:
    """Return a text with an item added at the end of a container."""
    if not _items(container):
        return _inserted_first(text, container, write, comment, unit, spread)
    newline, items = newline_of(text), _items(container)
    last, boundary = items[-1], _boundary(container, len(items) - 1)
    anchor, is_line = _after_comments(text, last.value.end if last.comma is None else last.comma + 1, comment)
    gap = text[boundary : last.start]
    if "\n" in gap or is_line:
        indent = indent_at(text, last.start)
        lead, layout = newline + indent, Layout(newline, indent, unit)
    else:
        lead = gap if len(items) > 1 and not gap.strip() else " "
        layout = Layout(None, "", unit)
    if last.comma is None:
        return text[: last.value.end] + "," + text[last.value.end : anchor] + lead + write(layout) + text[anchor:]
    return text[:anchor] + lead + write(layout) + "," + text[anchor:]


def _inserted_first(
    text: str, container: Value, write: Callable[[Layout], str], comment: re.Pattern[str], unit: str, spread: bool
) -> str:
    newline, outer = newline_of(text), indent_at(text, container.start)
    anchor, is_line = _last_comment(text, container.start + 1, container.end - 1, comment)
    inside = text[anchor : container.end - 1]
    if anchor != container.start + 1:  # comments stay before the item
        on_own_line = is_line or "\n" in inside
        lead, tail = (newline + outer + unit if on_own_line else " "), inside
    elif "\n" in inside:
        on_own_line, lead = True, newline + outer + unit
        tail = newline + inside if inside.startswith(("\n", "\r\n")) else inside
    else:
        on_own_line = spread
        lead, tail = (newline + outer + unit, newline + outer + inside) if spread else (inside, inside)
    layout = Layout(newline, outer + unit, unit) if on_own_line else Layout(None, "", unit)
    return text[:anchor] + lead + write(layout) + tail + text[container.end - 1 :]


def cut(text: str, container: Value, index: int, *, comment: re.Pattern[str]) -> str:
    """Return a text without one item of a container; comments stay."""
    items = _items(container)
    item = items[index]
    boundary = _boundary(container, index)
    lead, is_line = _last_comment(text, boundary, item.start, comment)
    end = item.value.end
    comma = items[index - 1].comma if item.comma is None and index else item.comma
    rest = comma + 1 if comma == end else end
    if is_line and not _END_OF_LINE.match(text, rest):
        lead = item.start  # otherwise the rest of the line would become part of the comment
    spans = [(lead, end)]
    if comma is not None:
        spans.append((comma, comma + 1))
    if len(items) == 1 and lead == container.start + 1 and "\n" in text[lead : item.start]:
        spans.append((rest, rest + _encoded(text, rest, container)))
    for start, stop in sorted(spans, reverse=True):
        text = text[:start] + text[stop:]
    return text


def _encoded(text: str, start: int, container: Value) -> int:
    newline, tail = newline_of(text), text[start : container.end - 1]
    closing = newline + indent_at(text, container.start)
    if tail.startswith(closing) and not tail[len(closing) :].strip(" \t"):
        return len(closing)
    return len(newline) if tail.startswith((newline + "\n", newline + "\r\n")) else 0


def _items(container: Value) -> tuple[Item, ...]:
    return container.items or ()


def _boundary(container: Value, index: int) -> int:
    before = _items(container)[index - 1].comma if index else container.start
    return container.start + 1 if before is None else before + 1


def _last_comment(text: str, start: int, stop: int, comment: re.Pattern[str]) -> tuple[int, bool]:
    end, is_line = start, False
    for found in comment.finditer(text, start, stop):
        end, is_line = found.end(), not found[0].startswith("/*")
    return end, is_line


def _after_comments(text: str, start: int, comment: re.Pattern[str]) -> tuple[int, bool]:
    end, is_line = start, False
    while not is_line:
        blanks = _BLANKS.match(text, end)
        found = comment.match(text, blanks.end() if blanks else end)
        if not found:
            break
        end, is_line = found.end(), not found[0].startswith("/*")
    return end, is_line
