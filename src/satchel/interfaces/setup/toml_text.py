"""TOML texts: where tables, keys and values stand, and edits at the right place.

``tomllib`` says whether a text is valid and what it holds; what is read here is only where things stand. The format:
https://toml.io/en/v1.0.0. What an edit adds are whole lines, so that :meth:`TomlText.drop` gives back the bytes.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from typing import NamedTuple

from satchel.base.errors import InvalidInput, Refused
from satchel.interfaces.setup.containers import Item, Layout, Value, cut, indent_at, inserted, newline_of

Location = tuple[str | int, ...]
"""Keys from the outermost table inwards; a number is the place in an array of tables."""

_COMMENT = re.compile(r"#[^\r\n]*")
_GAP = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_BLANKS = re.compile(r"[ \t]*+")
_REST_OF_LINE = re.compile(r"[ \t]*+(\r?\n|\Z)")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]++")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})' r"|'''.*?'''(?:'{0,2})" r'|"(?:[^"\\]|\\.)*+"' r"|'[^']*+'",
    re.DOTALL,
)
_PLAIN = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[^\s,\]}#]*+|[^\s,\]}#]++")


class _Statement(NamedTuple):
    """A header, or a key with its value.

    Attributes:
        location: what it defines.
        table: the location of the header above it, or its own.
        start: where it begins.
        end: where it ends, before blanks and a comment.
        value: None for a header.
    """

    location: Location
    table: Location
    start: int
    end: int
    value: Value | None


class TomlText:
    """A TOML text.

    Args:
        text: the text, without a byte order mark.

    Raises:
        InvalidInput: it is not valid; the text names line and column.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        try:
            self.data: dict[str, object] = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # ValueError itself: a number of too many digits
            problem = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
            raise InvalidInput(f"not valid TOML: {problem}", "Correct it there, then try again") from None
        self._statements = self._read()

    def put(self, path: Sequence[str], value: object) -> str:
        """Return the text with the value of a key set; tables that are missing are made."""
        path = tuple(path)
        if (place := self._find_value(path)) is not None:
            return self._text[: place.start] + _inline(value) + self._text[place.end :]
        if (old := self._look_up(path)) is not None:
            return self._put_over(path, old, value)
        for depth in range(len(path) - 1, 0, -1):
            if (place := self._find_value(path[:depth])) is not None:
                if self._look_up(path[: depth + 1]) is not None:  # it comes from dotted keys
                    return self._insert(place, f"{_dotted(path[depth:])} = {_inline(value)}")
                for key in reversed(path[depth + 1 :]):
                    value = {key: value}
                return self._insert(place, f"{_key(path[depth])} = {_inline(value)}")
        if isinstance(value, dict):
            return self._add_section(f"[{_dotted(path)}]", value, len(self._text))
        return self._put_pair(path, value)

    def drop(self, path: Sequence[str]) -> str:
        """Return the text without a key or table."""
        path = tuple(path)
        own = [statement for statement in self._statements if statement.location[: len(path)] == path]
        if own:
            return self._cut([*self._header_for_alone(own), *own])
        for depth in range(len(path) - 1, 0, -1):
            place, rest = self._find_value(path[:depth]), path[depth:]
            for index, item in enumerate(place.items or () if place else ()):
                if place and item.key[: len(rest)] == rest:  # of several dotted keys the others follow
                    return TomlText(cut(self._text, place, index, comment=_COMMENT)).drop(path)
        return self._text

    def append(self, path: Sequence[str], value: object) -> str:
        """Return the text with an element at the end of an array that is there."""
        path = tuple(path)
        if (place := self._find_value(path)) is not None:
            return self._insert(place, _inline(value))
        own = [statement for statement in self._statements if statement.location[: len(path)] == path]
        if not isinstance(value, dict) or not own:
            raise Refused(
                f"{'.'.join(path)} in this file is an array of tables", f"Add {_inline(value)} by hand, in another form"
            )
        return self._add_section(f"[[{_dotted(path)}]]", value, self._line_after(own[-1]))

    def remove(self, path: Sequence[str], index: int) -> str:
        """Return the text without one element of an array that is there."""
        path = tuple(path)
        if (place := self._find_value(path)) is not None:
            return cut(self._text, place, index, comment=_COMMENT)
        element = (*path, index)
        return self._cut([one for one in self._statements if one.location[: len(element)] == element])

    def prune_root(self) -> str:
        """Return the text as it is: without keys nothing of an outermost table is left."""
        return self._text

    def _header_for_alone(self, own: list[_Statement]) -> list[_Statement]:
        """Return the header that :meth:`put` made for one key alone, below the headers of tables in that table."""
        table = own[0].table
        of_table = [one for one in self._statements if one.table == table]
        header = of_table[0]
        if header.value or len(of_table) != 2 or own != of_table[1:]:
            return []
        above = self._statements[: self._statements.index(header)]
        return [header] if any(one.location[: len(table)] == table for one in above) else []

    def _put_over(self, path: tuple[str, ...], old: object, value: object) -> str:
        """Return the text with a value in the place of a table that has headers or dotted keys."""
        text = self._text
        if not isinstance(old, dict) or not isinstance(value, dict):
            return TomlText(self.drop(path)).put(path, value)
        for key in old.keys() - value.keys():
            text = TomlText(text).drop((*path, key))
        for key, inner in value.items():
            if key not in old or old[key] != inner or type(old[key]) is not type(inner):
                text = TomlText(text).put((*path, key), inner)
        return text

    def _put_pair(self, path: tuple[str, ...], value: object) -> str:
        """Return the text with a new key of a table that is no inline table."""
        parent = path[:-1]
        headers = [one for one in self._statements if one.value is None]
        of_table = [one for one in self._statements if one.table == parent]
        if not of_table:  # the table may come from dotted keys, which forbid a header of its own
            of_table = [one for one in self._statements if one.value and one.location[: len(parent)] == parent]
            of_table = [one for one in of_table if len(one.table) < len(parent)]
        if of_table and not (parent == () and of_table[-1].value is None):
            last = of_table[-1]
            indent = "" if last.value is None else indent_at(self._text, last.start)
            line = f"{indent}{_dotted(path[len(last.table) :])} = {_inline(value)}"
            return self._add_lines(line, self._line_after(last))
        pair = f"{_key(path[-1])} = {_inline(value)}"
        if parent:
            return self._add_section(f"[{_dotted(parent)}]", {path[-1]: value}, len(self._text))
        if headers:
            newline, position = newline_of(self._text), self._before_first(headers[0])
            return self._text[:position] + pair + newline * 2 + self._text[position:]
        return self._add_lines(pair, len(self._text))

    def _add_section(self, header: str, table: dict[str, object], position: int) -> str:
        """Return the text with a table behind a line, and an empty line before it."""
        newline = newline_of(self._text)
        lines = newline.join((header, *(f"{_key(key)} = {_inline(value)}" for key, value in table.items())))
        return self._add_lines(newline + lines if self._text else lines, position)

    def _add_lines(self, lines: str, position: int) -> str:
        """Return the text with lines at the beginning of a line, or at the end of a text whose last line is open."""
        before, newline = self._text[:position], newline_of(self._text)
        is_open = before and not before.endswith("\n")
        return before + (newline + lines if is_open else lines + newline) + self._text[position:]

    def _insert(self, container: Value, written: str) -> str:
        def write(_: Layout) -> str:
            return written

        return inserted(self._text, container, write, comment=_COMMENT, unit="  ", spread=False)

    def _cut(self, statements: list[_Statement]) -> str:
        """Return the text without the lines of statements; a comment behind one stays."""
        text = self._text
        of_root = [one for one in self._statements if one.table == () and one.value]
        for one in reversed(statements):
            rest = _REST_OF_LINE.match(text, one.end)
            start = one.start - len(indent_at(text, one.start))
            if rest is None:
                blanks = _BLANKS.match(text, one.end)
                text = text[:start] + text[blanks.end() if blanks else one.end :]
                continue
            end, is_open = rest.end(), not rest[1]
            if is_open:
                start = _before_newline(text, start)
            if one.value is None and _before_newline(text, start) < start and (is_open or _is_empty_line(text, start)):
                start = _before_newline(text, start)
            elif of_root == [one] and len(self._statements) > 1 and (empty := re.compile(r"\r?\n").match(text, end)):
                end = empty.end()
            text = text[:start] + text[end:]
        return text

    def _line_after(self, statement: _Statement) -> int:
        end = self._text.find("\n", statement.end)
        return len(self._text) if end < 0 else end + 1

    def _before_first(self, header: _Statement) -> int:
        """Return where the first key of a text goes: before its first header and the comment that belongs to that."""
        start = position = header.start - len(indent_at(self._text, header.start))
        while position:
            line = self._text.rfind("\n", 0, position - 1) + 1
            if not self._text[line:position].lstrip().startswith("#"):
                return position
            position = line
        return start  # a comment at the top of a file is about the file

    def _look_up(self, path: tuple[str, ...]) -> object:
        found: object = self.data
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        return found

    def _find_value(self, path: Location) -> Value | None:
        """Return where the value of a path is written, if it is written in one piece."""
        for one in self._statements:
            if one.value and one.location == path[: len(one.location)]:
                return _inside(one.value, path[len(one.location) :])
        return None

    def _read(self) -> list[_Statement]:
        statements: list[_Statement] = []
        arrays: dict[Location, int] = {}
        table: Location = ()
        position = self._skip(0)
        while position < len(self._text):
            start = position
            if self._text[position] == "[":
                is_array = self._text.startswith("[[", position)
                keys, position = self._keys(position + 1 + is_array)
                position += 1 + is_array
                table = ()
                for depth, key in enumerate(keys, 1):
                    table = (*table, key)
                    if is_array and depth == len(keys):
                        arrays[table] = arrays.get(table, 0) + 1
                    if table in arrays:
                        table = (*table, arrays[table] - 1)
                statements.append(_Statement(table, table, start, position, None))
            else:
                keys, value = self._pair(position)
                position = value.end
                statements.append(_Statement((*table, *keys), table, start, position, value))
            position = self._skip(position)
        return statements

    def _pair(self, position: int) -> tuple[tuple[str, ...], Value]:
        keys, equals = self._keys(position)
        return keys, self._value(self._skip(equals + 1))

    def _keys(self, position: int) -> tuple[tuple[str, ...], int]:
        """Return the keys of a dotted key, and where what follows them stands."""
        keys: list[str] = []
        while True:
            position = self._skip(position)
            if bare := _BARE_KEY.match(self._text, position):
                keys.append(bare[0])
                position = bare.end()
            elif quoted := _STRING.match(self._text, position):
                keys.append(tomllib.loads(f"key = {quoted[0]}")["key"])
                position = quoted.end()
            position = self._skip(position)
            if self._text[position : position + 1] != ".":
                return tuple(keys), position
            position += 1

    def _value(self, start: int) -> Value:
        first = self._text[start]
        if first not in "[{":
            found = _STRING.match(self._text, start) or _PLAIN.match(self._text, start)
            return Value(start, found.end() if found else start)
        items: list[Item] = []
        position = self._skip(start + 1)
        while self._text[position] not in "]}":
            keys, value = self._pair(position) if first == "{" else ((), self._value(position))
            after = self._skip(value.end)
            has_comma = self._text[after] == ","
            items.append(Item(keys, position, value, after if has_comma else None))
            position = self._skip(after + 1) if has_comma else after
        return Value(start, position + 1, tuple(items), first == "{")

    def _skip(self, position: int) -> int:
        gap = _GAP.match(self._text, position)
        return gap.end() if gap else position


def _inside(value: Value, path: Location) -> Value | None:
    """Return where the value of a path in an inline table is written, if it is written in one piece."""
    if not path:
        return value
    if value.is_object:
        for item in value.items or ():
            if item.key == path[: len(item.key)]:
                return _inside(item.value, path[len(item.key) :])
    return None


def _before_newline(text: str, position: int) -> int:
    """Return where the newline that ends before a position begins; the position itself if none does."""
    if not text.endswith("\n", 0, position):
        return position
    return position - (2 if text.endswith("\r\n", 0, position) else 1)


def _is_empty_line(text: str, position: int) -> bool:
    """Whether the line that ends before a position is empty."""
    start = _before_newline(text, position)
    return start < position and text.endswith("\n", 0, start)


def _dotted(path: Location) -> str:
    return ".".join(_key(str(key)) for key in path)


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _inline(key)


def _inline(value: object) -> str:
    """Return a value as TOML on one line."""
    match value:
        case dict():
            inside = ", ".join(f"{_key(key)} = {_inline(inner)}" for key, inner in value.items())
            return f"{{ {inside} }}" if inside else "{}"
        case list():
            return f"[{', '.join(map(_inline, value))}]"
        case None:
            raise InvalidInput("TOML has no null", "Leave the key out")
    # JSON's texts are valid in TOML, but for one control character that JSON leaves as it is
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
