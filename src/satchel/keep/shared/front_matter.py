"""Front matter: the strict part of YAML that the shared text writes and reads, one ``name: value`` in each line.

A value is plain text, a text in JSON's quotation marks (which YAML reads alike), one in single ones, or a list of such
in brackets, on one line. Nothing of YAML that could surprise is read: no anchors, tags, blocks or nested values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

Value = str | list[str]

FENCE = "---"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+-]+)*")
_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))
"""What YAML takes for something else than text."""

_LITERAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z|true")
_UNQUOTED = re.compile(r"[^\s\"'\[\]{}&*!|>%@`#,?:-](?:[^#\n]|(?<=\S)#)*|-[0-9].*")
_NAME = re.compile(r"[a-z_]+")
_ITEM = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,"'\[\]]+?)\s*(,|$)""")


class BrokenText(Exception):
    """A shared text cannot be read.

    Attributes:
        line: where, from 1.
        problem: why, in words.
    """

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line
        self.problem = problem


class Literal(str):
    """A number, a time or ``true``: written as it is, without quotation marks."""

    __slots__ = ()


def write(fields: Mapping[str, str | Sequence[str]]) -> str:
    """Return front matter, fences included; the same fields always give the same text."""
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
    # YAML knows JSON's escapes; of what JSON leaves as it is, YAML forbids DEL and the C1 controls, and breaks lines at
    # three more
    return re.sub("[\x7f-\x9f\u2028\u2029]", lambda one: f"\\u{ord(one[0]):04x}", json.dumps(text, ensure_ascii=False))


def read(text: str) -> tuple[dict[str, Value], dict[str, int], int]:
    """Read the front matter that a text begins with.

    Returns:
        The values by their names, the line of each, and how many lines the whole takes.

    Raises:
        BrokenText: there is none, or a line of it is not understood.
    """
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
            raise BrokenText(number, f"{name} stands here a second time")
        values[name], places[name] = _read_value(rest.strip(), number), number
    raise BrokenText(len(lines), f"the front matter has no end, a line {FENCE}")


def _read_value(text: str, line: int) -> Value:
    if not text.startswith("["):
        return _read_text(text, line)
    if not text.endswith("]"):
        raise BrokenText(line, f"the list {_quoted(text)} has no end on its line")
    inner, items, place = text[1:-1].strip(), list[str](), 0
    while place < len(inner):
        found = _ITEM.match(inner, place)
        if found is None:
            raise BrokenText(line, f"{_quoted(inner[place:])} is no item of a list")
        items.append(_read_text(found[1], line))
        place = found.end()
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
    shown = text if len(text) <= 60 else f"{text[:59]}…"
    return json.dumps(shown, ensure_ascii=True)
