"""Front matter: a strict subset of YAML with one ``name: value`` per line.

A value is plain text, a text in JSON's quotation marks (which YAML reads alike) or single ones, or a list of such in
brackets, on one line. Anchors, tags, blocks and nested values are not accepted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

Value = str | list[str]

FENCE = "---"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+-]+)*")
# words that YAML does not read as text
_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))

_LITERAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z|true")
_UNQUOTED = re.compile(r"[^\s\"'\[\]{}&*!|>%@`#,?:-](?:[^#\n]|(?<=\S)#)*|-[0-9].*")
_NAME = re.compile(r"[a-z_]+")
_ITEM = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,"'\[\]]+?)\s*(,|$)""")


class BrokenText(Exception):
    """Raised when a shared text cannot be read."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line
        self.problem = problem


class Literal(str):
    """A number, a time or ``true``, written without quotation marks."""

    __slots__ = ()


def write(fields: Mapping[str, str | Sequence[str]]) -> str:
    """Return front matter with its fences; equal fields give equal text."""
    lines = [FENCE]
    for name, value in fields.items():
        if isinstance(value, str):
            lines.append(f"{name}: {_written(value)}")
        else:
            lines.append(f"{name}: [{', '.join(map(_written, value))}]")
    return "\n".join((*lines, FENCE, ""))


def _written(text: str) -> str:
    if isinstance(text, Literal) or (_PLAIN.fullmatch(text) and text.lower() not in _WORDS):
        return text
    # YAML accepts JSON's escapes; of the characters JSON does not escape, YAML forbids DEL and the C1 controls, and
    # breaks lines at three more
    return re.sub("[\x7f-\x9f\u2028\u2029]", lambda one: f"\\u{ord(one[0]):04x}", json.dumps(text, ensure_ascii=False))


def read(text: str) -> tuple[dict[str, Value], dict[str, int], int]:
    lines = text.split("\n")
    if lines[0].rstrip() != FENCE:
        raise BrokenText(1, f"the first line is not {FENCE}, with which front matter begins")
    values: dict[str, Value] = {}
    places: dict[str, int] = {}
    for number, line in enumerate(lines[1:], start=2):
        if line.rstrip() == FENCE:
            return values, places, number
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, colon, rest = line.partition(":")
        if not colon or not _NAME.fullmatch(name) or not rest[:1].isspace():
            raise BrokenText(number, f"{_quoted(line)} is not of the form name: value")
        if name in values:
            raise BrokenText(number, f"{name} occurs twice")
        values[name], places[name] = _read_value(rest.strip(), number), number
    raise BrokenText(len(lines), f"the front matter has no end, a line {FENCE}")


def _read_value(text: str, line: int) -> Value:
    if not text.startswith("["):
        return _read_text(text, line)
    if not text.endswith("]"):
        raise BrokenText(line, f"the list {_quoted(text)} has no end on its line")
    inner, items, place = text[1:-1].strip(), list[str](), 0
    while place < len(inner):
        match = _ITEM.match(inner, place)
        if match is None:
            raise BrokenText(line, f"{_quoted(inner[place:])} is not an item of a list")
        items.append(_read_text(match[1], line))
        place = match.end()
    return items


def _read_text(text: str, line: int) -> str:
    if text.startswith('"'):
        try:
            value = json.loads(text)
        except ValueError:
            raise BrokenText(line, f"{_quoted(text)} is no text in quotation marks") from None
        assert isinstance(value, str)
        return value
    if text.startswith("'"):
        if len(text) < 2 or not text.endswith("'") or "'" in text[1:-1].replace("''", ""):
            raise BrokenText(line, f"{_quoted(text)} is no text in quotation marks")
        return text[1:-1].replace("''", "'")
    if not _LITERAL.fullmatch(text) and (not _UNQUOTED.fullmatch(text) or ": " in text or text.endswith(":")):
        raise BrokenText(line, f'{_quoted(text)} needs quotation marks, as in "..."')
    return text


def _quoted(text: str) -> str:
    excerpt = text if len(text) <= 60 else f"{text[:59]}…"
    return json.dumps(excerpt, ensure_ascii=True)
