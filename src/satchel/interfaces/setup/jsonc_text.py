"""JSON texts, with or without comments and trailing commas: their values, and edits at the right place.

The formats: RFC 8259, and what VS Code reads (https://code.visualstudio.com/docs/languages/json#_json-with-comments).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import NoReturn

from satchel.base.errors import InvalidInput, Refused
from satchel.interfaces.setup.containers import (
    Item,
    Layout,
    Value,
    cut,
    indent_at,
    inserted,
    is_on_own_line,
    newline_of,
)

_MAX_DEPTH = 100
_NO_COMMENT = re.compile(r"(?!)")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_BLANKS = re.compile(r"[ \t\r\n]*+")
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
        self._gap = _GAP if comments else _BLANKS
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
        found = self._walk(path)
        place = found[-1][1]
        if len(found) > len(path):
            return self._text[: place.start] + self._written(value, self._layout(found)) + self._text[place.end :]
        for key in reversed(path[len(found) :]):
            value = {key: value}
        return self._insert(found, value, path[len(found) - 1])

    def drop(self, path: Sequence[str]) -> str:
        """Return the text without a key that is there."""
        found = self._walk(path)
        return cut(self._text, found[-2][1], found[-1][0], comment=self._comment)

    def append(self, path: Sequence[str], value: object) -> str:
        """Return the text with an element at the end of an array that is there."""
        return self._insert(self._walk(path), value, None)

    def remove(self, path: Sequence[str], index: int) -> str:
        """Return the text without one element of an array that is there."""
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
        found = [(0, self._root)] if self._root is not None else []
        for depth, key in enumerate(path):
            places = [place for place, item in enumerate(found[-1][1].items or ()) if item.key == key]
            if len(places) > 1:
                raise Refused(
                    f"the key {'.'.join(path[: depth + 1])} stands {len(places)} times in this file",
                    "Only the last one counts: remove the others, then try again",
                )
            if not places:
                break
            value = (found[-1][1].items or ())[places[0]].value
            found.append((places[0], self._value(value.start, 0)[0]))
        return found

    def _insert(self, found: list[tuple[int, Value]], value: object, key: str | None) -> str:
        container = found[-1][1]
        spread = len(found) == 1 or is_on_own_line(self._text, found[-2][1], found[-1][0])
        name = "" if key is None else json.dumps(key, ensure_ascii=False) + self._colon()

        def write(layout: Layout) -> str:
            return name + self._written(value, layout)

        return inserted(self._text, container, write, comment=self._comment, unit=self._unit(), spread=spread)

    def _layout(self, found: list[tuple[int, Value]]) -> Layout:
        (_, parent), (place, value) = found[-2:]
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
