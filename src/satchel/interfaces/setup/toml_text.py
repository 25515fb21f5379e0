"""TOML texts, edited by whole lines in tables that have a header of their own.

``tomllib`` parses; here only the lines of each statement are worked out. Other forms (dotted keys, inline tables,
arrays of tables) are never rewritten: :func:`satchel.interfaces.setup.editing.edited` compares the result and prints
the change to make by hand. The format: https://toml.io/en/v1.0.0.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from typing import NamedTuple

from satchel.base.errors import InvalidInput, Refused
from satchel.interfaces.setup.jsonc_text import newline_of

Path = tuple[str, ...]

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class _Section(NamedTuple):
    """A header with the pairs below it; the outermost table begins before the first line.

    Attributes:
        table: its keys.
        is_array: whether it is one element of an array of tables.
        start: the line of its header.
        pairs: the lines of each pair by the first key of its name; several pairs where that is dotted.
    """

    table: Path
    is_array: bool
    start: int
    pairs: dict[str, list[range]]

    @property
    def end(self) -> int:
        return max([self.start + 1, *(span.stop for spans in self.pairs.values() for span in spans)])


class TomlText:
    """A TOML text."""

    def __init__(self, text: str) -> None:
        try:
            self.data: dict[str, object] = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # ValueError itself: a number of too many digits
            problem = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
            raise InvalidInput(f"not valid TOML: {problem}", "Correct it there, then try again") from None
        self._text = text
        self._lines: list[str] = _LINE.findall(text)
        self._sections = self._read()

    def put(self, path: Sequence[str], value: object) -> str:
        """Return the text with the value of a key set; a table that is missing is added at the end."""
        *parent, key = path
        section = next((one for one in self._sections if one.table == tuple(parent) and not one.is_array), None)
        line = f"{_key(key)} = {_inline(value)}"
        spans = [] if section is None else section.pairs.get(key, [])
        if len(spans) == 1:
            return self._replaced(spans[0], [line + self._comment(spans[0])])
        old = self._value(path)
        if isinstance(old, dict) and isinstance(value, dict):
            text = self._text
            for inner in [*(one for one in old if one not in value), *value]:
                now = TomlText(text)
                text = now.put((*path, inner), value[inner]) if inner in value else now.drop((*path, inner))
            return text
        if old is not None:
            text = self.drop(path)
            return text if text == self._text else TomlText(text).put(path, value)
        if isinstance(value, dict):
            pairs = [f"{_key(inner)} = {_inline(one)}" for inner, one in value.items()]
            return self._with_section(tuple(path), pairs)
        if section is not None:
            return self._replaced(range(section.end, section.end), [line])
        return self._with_section(tuple(parent), [line])

    def drop(self, path: Sequence[str]) -> str:
        path = tuple(path)
        lines = list(self._lines)
        for section in self._sections:
            if path and section.table[: len(path)] == path:
                is_apart = section.start > 0 and not lines[section.start - 1].strip()
                _blank(lines, range(section.start - is_apart, section.end))
            elif section.table == path[:-1] and not section.is_array:
                for span in section.pairs.get(path[-1], []):
                    comment = self._comment(span).lstrip()
                    _blank(lines, span)
                    lines[span.start] = comment and comment + self._end_of(span.stop - 1)
        if self._lines and not lines[-1] and not self._lines[-1].endswith("\n"):
            return "".join(lines).removesuffix("\n").removesuffix("\r")
        return "".join(lines)

    def append(self, path: Sequence[str], value: object) -> str:
        """Refuse: no client that setup knows has its hooks or permissions in an array of a TOML file."""
        raise Refused(f"{'.'.join(path)} in this file is an array", f"Add {_inline(value)} to it by hand")

    def remove(self, path: Sequence[str], index: int) -> str:
        """Refuse, as :meth:`append` does."""
        raise Refused(f"{'.'.join(path)} in this file is an array", f"Remove its element {index + 1} by hand")

    def prune(self, path: Sequence[str]) -> str:
        """Return the text without an empty table, unless comments belong to it; of the outermost nothing is left."""
        starts = [*(section.start for section in self._sections), len(self._lines)]
        if any(
            section.table == tuple(path) and (not path or self._has_comments(section.start, end))
            for section, end in zip(self._sections, starts[1:], strict=True)
        ):
            return self._text
        return self.drop(path)

    def _read(self) -> list[_Section]:
        sections = [_Section((), False, -1, {})]
        start = 0
        while start < len(self._lines):
            stop = start + 1
            while (data := _parsed("".join(self._lines[start:stop]))) is None:  # a value of several lines
                stop += 1
            first = self._lines[start].lstrip()
            if first.startswith("["):
                sections.append(_Section(_keys(data), first.startswith("[["), start, {}))
            elif data:
                (key,) = data
                sections[-1].pairs.setdefault(key, []).append(range(start, stop))
            start = stop
        return sections

    def _value(self, path: Sequence[str]) -> object:
        inner: object = self.data
        for key in path:
            inner = inner.get(key) if isinstance(inner, dict) else None
        return inner

    def _comment(self, span: range) -> str:
        text = "".join(self._lines[span.start : span.stop]).rstrip("\r\n")
        data = _parsed(text)
        for place in (match.start() for match in re.finditer("#", text)):
            if _parsed(text[:place]) == data:
                return text[len(text[:place].rstrip()) :]
        return ""

    def _has_comments(self, header: int, end: int) -> bool:
        is_comment = [line.lstrip().startswith("#") for line in self._lines]
        apart = end
        while end < len(self._lines) and is_comment[apart - 1]:
            apart -= 1
        if not self._lines[apart - 1].strip():
            end = apart
        return any(is_comment[max(header - 1, 0) : end]) or self._comment(range(header, header + 1)) != ""

    def _end_of(self, line: int) -> str:
        text: str = self._lines[line]
        return text[len(text.rstrip("\r\n")) :]

    def _with_section(self, table: Path, pairs: Sequence[str]) -> str:
        end = len(self._lines)
        return self._replaced(range(end, end), [""] * bool(end) + [f"[{'.'.join(map(_key, table))}]", *pairs])

    def _replaced(self, span: range, lines: Sequence[str]) -> str:
        before = "".join(self._lines[: span.start])
        after = "".join(self._lines[span.stop :])
        newline = newline_of(self._text)
        added = newline.join(lines)
        if before and not before.endswith("\n"):
            return before + newline + added
        is_open = not after and span and not self._end_of(span.stop - 1)
        return before + added + ("" if is_open else newline) + after


def _blank(lines: list[str], span: range) -> None:
    for place in span:
        lines[place] = ""


def _parsed(text: str) -> dict[str, object] | None:
    try:
        return tomllib.loads(text)
    except ValueError:
        return None


def _keys(header: object) -> Path:
    keys: list[str] = []
    while header:
        if isinstance(header, list):
            (header,) = header
        if isinstance(header, dict) and header:
            ((key, header),) = header.items()
            keys.append(key)
    return tuple(keys)


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _inline(key)


def _inline(value: object) -> str:
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
