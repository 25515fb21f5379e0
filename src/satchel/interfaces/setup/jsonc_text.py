"""JSON texts, with or without comments and trailing commas: their values, and edits at the right place.

The formats: RFC 8259, and what VS Code reads (https://code.visualstudio.com/docs/languages/json#_json-with-comments).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

from satchel.base.errors import InvalidInput, Refused

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
    """A value in a text; only an object or array has items."""

    start: int
    end: int
    items: tuple[Item, ...] = ()


class Layout(NamedTuple):
    """The line break and indentation of an item."""

    newline: str | None
    indent: str
    unit: str


def newline_of(text: str) -> str:
    r"""Return the line ending of the first line; ``\n`` for a text of one line."""
    match = _NEWLINE.search(text)
    return match[0] if match else "\n"


def indent_at(text: str, position: int) -> str:
    """Return the leading whitespace of the line at a position."""
    match = _BLANKS.match(text, text.rfind("\n", 0, position) + 1)
    return match[0] if match else ""


def is_on_own_line(text: str, container: Value, index: int) -> bool:
    """Check whether there is a line break between an item and whatever precedes it."""
    return "\n" in text[_boundary(container, index) : container.items[index].start]


def inserted(
    text: str, container: Value, write: Callable[[Layout], str], *, comment: re.Pattern[str], unit: str, spread: bool
) -> str:
    if not container.items:
        return _inserted_first(text, container, write, comment, unit, spread)
    newline, items = newline_of(text), container.items
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
    items = container.items
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


def _boundary(container: Value, index: int) -> int:
    before = container.items[index - 1].comma if index else container.start
    return container.start + 1 if before is None else before + 1


def _last_comment(text: str, start: int, stop: int, comment: re.Pattern[str]) -> tuple[int, bool]:
    end, is_line = start, False
    for match in comment.finditer(text, start, stop):
        end, is_line = match.end(), not match[0].startswith("/*")
    return end, is_line


def _after_comments(text: str, start: int, comment: re.Pattern[str]) -> tuple[int, bool]:
    end, is_line = start, False
    while not is_line:
        blanks = _BLANKS.match(text, end)
        match = comment.match(text, blanks.end() if blanks else end)
        if not match:
            break
        end, is_line = match.end(), not match[0].startswith("/*")
    return end, is_line


_MAX_DEPTH = 100
_NO_COMMENT = re.compile(r"(?!)")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_WHITESPACE = re.compile(r"[ \t\r\n]*+")
_GAP = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*.*?\*/)*+", re.DOTALL)
_WORD = re.compile(r"-?[0-9A-Za-z.+-]+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_constant=_no_constant)  # which knows NaN and Infinity otherwise
_NAMES: dict[str, object] = {"true": True, "false": False, "null": None}


class JsonText:
    """A JSON text that holds an object, or nothing."""

    def __init__(self, text: str, *, comments: bool) -> None:
        self._text = text
        self._comments = comments
        self._comment = _COMMENT if comments else _NO_COMMENT
        self._gap = _GAP if comments else _WHITESPACE
        self._root: Value | None = None
        self.data: dict[str, object] = {}
        start = self._skip(0)
        if start == len(text):
            return
        if text[start] != "{":
            raise self._error(start, "an object is expected, which begins with {")
        self._is_plain = True
        try:
            root, data = self._value(start, 0)
        except (ValueError, RecursionError, InvalidInput):
            self._is_plain = False
            root, data = self._value(start, 0)
        if self._skip(root.end) != len(text):
            raise self._error(self._skip(root.end), "nothing is expected after the object")
        self._root = root
        if isinstance(data, dict):
            self.data = data

    def put(self, path: Sequence[str], value: object) -> str:
        """Return the text with the value of a key set; parents that are missing are made."""
        if self._root is None:
            for key in reversed(path):
                value = {key: value}
            return self._with_root(value)
        steps = self._walk(path)
        place = steps[-1][1]
        if len(steps) > len(path):
            return self._text[: place.start] + self._written(value, self._layout(steps)) + self._text[place.end :]
        for key in reversed(path[len(steps) :]):
            value = {key: value}
        return self._insert(steps, value, path[len(steps) - 1])

    def drop(self, path: Sequence[str]) -> str:
        steps = self._walk(path)
        return cut(self._text, steps[-2][1], steps[-1][0], comment=self._comment)

    def append(self, path: Sequence[str], value: object) -> str:
        """Return the text with an element at the end of an array that is there."""
        return self._insert(self._walk(path), value, None)

    def remove(self, path: Sequence[str], index: int) -> str:
        return cut(self._text, self._walk(path)[-1][1], index, comment=self._comment)

    def prune(self, path: Sequence[str]) -> str:
        """Return the text without an object or array that is empty."""
        if path:
            return self.drop(path)
        text, root = self._text, self._root
        if root is None or self._comment.search(text, root.start, root.end):
            return text
        before, after = text[: root.start], text[root.end :]
        newline = newline_of(text)
        if after.startswith(newline):
            return before + after[len(newline) :]
        return (before if after else before.removesuffix(newline)) + after

    def _with_root(self, value: object) -> str:
        text, newline = self._text, newline_of(self._text)
        written = self._written(value, Layout(newline, "", "  "))
        return text + newline + written if text and not text.endswith("\n") else text + written + newline

    def _walk(self, path: Sequence[str]) -> list[tuple[int, Value]]:
        steps = [(0, self._root)] if self._root is not None else []
        for depth, key in enumerate(path):
            places = [place for place, item in enumerate(steps[-1][1].items) if item.key == key]
            if len(places) > 1:
                raise Refused(
                    f"the key {'.'.join(path[: depth + 1])} stands {len(places)} times in this file",
                    "Only the last one counts: remove the others, then try again",
                )
            if not places:
                break
            value = steps[-1][1].items[places[0]].value
            steps.append((places[0], self._value(value.start, 0)[0]))
        return steps

    def _insert(self, steps: list[tuple[int, Value]], value: object, key: str | None) -> str:
        container = steps[-1][1]
        spread = len(steps) == 1 or is_on_own_line(self._text, steps[-2][1], steps[-1][0])
        name = "" if key is None else json.dumps(key, ensure_ascii=False) + self._colon()

        def write(layout: Layout) -> str:
            return name + self._written(value, layout)

        return inserted(self._text, container, write, comment=self._comment, unit=self._unit(), spread=spread)

    def _layout(self, steps: list[tuple[int, Value]]) -> Layout:
        (_, parent), (place, value) = steps[-2:]
        if is_on_own_line(self._text, parent, place):
            return Layout(newline_of(self._text), indent_at(self._text, value.start), self._unit())
        return Layout(None, "", "")

    def _unit(self) -> str:
        root = self._root
        if root is None or not root.items or not is_on_own_line(self._text, root, 0):
            return "  "
        outer = indent_at(self._text, root.start)
        return indent_at(self._text, root.items[0].start).removeprefix(outer) or "  "

    def _colon(self) -> str:
        if self._root is None or not self._root.items:
            return ": "
        first = self._root.items[0]
        compact = self._text[: first.value.start].endswith(":")
        return ":" if compact else ": "

    def _written(self, value: object, layout: Layout) -> str:
        if layout.newline is None:
            colon = self._colon()
            return json.dumps(value, ensure_ascii=False, separators=("," if colon == ":" else ", ", colon))
        written = json.dumps(value, ensure_ascii=False, indent=layout.unit, separators=(",", self._colon()))
        return written.replace("\n", layout.newline + layout.indent)

    def _skip(self, position: int) -> int:
        gap = self._gap.match(self._text, position)
        return gap.end() if gap else position

    def _value(self, start: int, depth: int) -> tuple[Value, object]:
        # without comments only the outermost value is read here: the decoder in C is much faster
        if self._is_plain and depth:
            data, end = _DECODER.raw_decode(self._text, start)
            return Value(start, end), data
        first = self._text[start : start + 1]
        if first == '"':
            string, end = self._string(start)
            return Value(start, end), string
        if first in ("{", "["):
            if depth == _MAX_DEPTH:
                raise self._error(start, f"nothing may be nested deeper than {_MAX_DEPTH} levels")
            return self._object(start, depth + 1) if first == "{" else self._array(start, depth + 1)
        word = _WORD.match(self._text, start)
        if word and word[0] in _NAMES:
            return Value(start, word.end()), _NAMES[word[0]]
        if word and _NUMBER.fullmatch(word[0]):
            try:
                return Value(start, word.end()), json.loads(word[0])
            except ValueError:  # Python reads whole numbers of up to 4300 digits
                raise self._error(start, "this number has too many digits") from None
        raise self._error(start, "a value is expected")

    def _object(self, start: int, depth: int) -> tuple[Value, object]:
        members: dict[str, object] = {}

        def member(position: int) -> tuple[str, Value]:
            if self._text[position : position + 1] != '"':
                raise self._error(position, "a key in double quotes is expected")
            key, end = self._string(position)
            colon = self._skip(end)
            if self._text[colon : colon + 1] != ":":
                raise self._error(colon, "a colon is expected")
            value, members[key] = self._value(self._skip(colon + 1), depth)
            return key, value

        return self._items(start, "}", member), members

    def _array(self, start: int, depth: int) -> tuple[Value, object]:
        elements: list[object] = []

        def element(position: int) -> tuple[None, Value]:
            value, data = self._value(position, depth)
            elements.append(data)
            return None, value

        return self._items(start, "]", element), elements

    def _items(self, start: int, closing: str, read: Callable[[int], tuple[str | None, Value]]) -> Value:
        items: list[Item] = []
        position = self._skip(start + 1)
        while self._text[position : position + 1] != closing or (items and not self._comments):
            key, value = read(position)
            after = self._skip(value.end)
            has_comma = self._text[after : after + 1] == ","
            items.append(Item(key, position, value, after if has_comma else None))
            if not has_comma:
                if self._text[after : after + 1] != closing:
                    raise self._error(after, f"a comma or {closing} is expected")
                position = after
                break
            position = self._skip(after + 1)
        return Value(start, position + 1, tuple(items))

    def _string(self, start: int) -> tuple[str, int]:
        try:
            string, end = _DECODER.raw_decode(self._text, start)
        except json.JSONDecodeError as error:
            raise self._error(error.pos, error.msg[0].lower() + error.msg[1:]) from None
        return str(string), end

    def _error(self, position: int, problem: str) -> InvalidInput:
        before = self._text[:position]
        line, column = before.count("\n") + 1, position - before.rfind("\n")
        syntax = "JSON, even with comments" if self._comments else "JSON"
        return InvalidInput(
            f"not valid {syntax}: line {line}, column {column}: {problem}", "Correct it there, then try again"
        )
