"""What a trial's log says: calls, errors, retries, tokens of the answers, and calls that gave nothing, by tool."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from satchel.base.tokens import token_counter

WITHIN = 3
"""A call can be a retry of one of so many calls of its agent before it."""

SIMILAR = 0.6
"""The arguments of a retry are so much like those of the call that failed, as difflib measures it, at least."""

MOST_SHOWN_CHARS = 300

_NOTHING = re.compile(r"\A(?:0|no|nothing)\b|^(?:note: )?nothing (?:was|is) ", re.MULTILINE | re.IGNORECASE)


_NO_ITEMS = re.compile(r'"total": ?0\b')


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log.

    Attributes:
        name: the tool, or what else was asked, in brackets.
        arguments: of a call, as JSON with sorted keys; empty for anything else.
    """

    agent: str
    name: str
    arguments: str
    is_error: bool
    text: str

    @classmethod
    def read(cls, text: str) -> Line:
        """Return a line of a log's file."""
        line: dict[str, Any] = json.loads(text)
        is_call = "tool" in line
        return cls(
            agent=line["agent"],
            name=line["tool"] if is_call else f"({line['asked']})",
            arguments=json.dumps(line["arguments"], sort_keys=True, ensure_ascii=False) if is_call else "",
            is_error=line["error"],
            text=line["text"],
        )

    def gave_nothing(self) -> bool:
        """Whether a call succeeded, and its answer is an empty list."""
        is_answered = self.arguments != "" and not self.is_error
        return is_answered and (_NO_ITEMS if self.text.startswith("{") else _NOTHING).search(self.text) is not None

    def is_like(self, other: Line) -> bool:
        """Whether it calls the same tool with similar arguments."""
        alike = SequenceMatcher(None, self.arguments, other.arguments, autojunk=False).ratio()
        return self.name == other.name and alike >= SIMILAR


@dataclass(frozen=True, slots=True)
class Row:
    """What is summed up of one tool, or of all."""

    name: str
    calls: int
    errors: int
    retries: int
    nothing: int
    tokens: int


def read_log(text: str) -> list[Line]:
    """Return the lines of a log."""
    return [Line.read(line) for line in text.splitlines() if line.strip()]


def retries_of(lines: Sequence[Line]) -> list[Line]:
    """Return the calls that try again what failed, among the last :data:`WITHIN` calls of the same agent."""
    found = []
    for agent in dict.fromkeys(line.agent for line in lines):
        own = [line for line in lines if line.agent == agent]
        for place, line in enumerate(own):
            before = own[max(0, place - WITHIN) : place]
            if any(one.is_error and line.is_like(one) for one in before):
                found.append(line)
    return found


def rows_of(lines: Sequence[Line]) -> list[Row]:
    """Return a row for each tool, those with the most tokens first, and one for all."""
    count = token_counter().count
    retries = Counter(line.name for line in retries_of(lines))

    def row(name: str, own: Sequence[Line], tried_again: int) -> Row:
        return Row(
            name,
            len(own),
            sum(line.is_error for line in own),
            tried_again,
            sum(line.gave_nothing() for line in own),
            sum(count(line.text) for line in own),
        )

    names = dict.fromkeys(line.name for line in lines)
    rows = [row(name, [line for line in lines if line.name == name], retries[name]) for name in names]
    return [*sorted(rows, key=lambda one: -one.tokens), row("in all", lines, retries.total())]


def summary(lines: Sequence[Line]) -> str:
    """Return what a person reads of a log."""
    if not lines:
        return "nobody asked anything"
    counter = token_counter()
    agents = Counter(line.agent for line in lines)
    said = ", ".join(f"{agent} {number}" for agent, number in agents.items())
    unit = counter.name if counter.exact else "an estimate"
    errors = [
        f"{line.agent} {line.name} {line.arguments}\n  {line.text}"[:MOST_SHOWN_CHARS]
        for line in lines
        if line.is_error
    ]
    parts = [f"asked: {said}; tokens of the answers: {unit}", "", *_table(rows_of(lines))]
    return "\n".join([*parts, *(["", "errors:", *errors] if errors else [])])


def _table(rows: Iterable[Row]) -> list[str]:
    head = ("", "calls", "errors", "retries", "nothing", "tokens")
    cells = [
        head,
        *((row.name, *map(str, (row.calls, row.errors, row.retries, row.nothing, row.tokens))) for row in rows),
    ]
    width = max(len(name) for name, *_ in cells)
    return [f"{name:<{width}}" + "".join(f"{number:>9}" for number in numbers) for name, *numbers in cells]
