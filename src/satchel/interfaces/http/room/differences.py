"""Two texts side by side, line by line, with the words that differ marked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

from satchel.base.records import NamedTuple

_CONTEXT = 3
"""So many lines that are alike stand around what differs."""

_MOST_LINES = 200
_LINE_CHARS = 1_000
_CHARS = 24_000
"""So much of all texts of a page is shown: with what each character may become that stays below 150 KB."""

_WORK = 40_000
"""So many pairs of words of a page are compared: the worst takes 20 ms. Then what differs is marked from the first to
the last word that does."""

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")

Part = tuple[str, bool]
"""A piece of a line, and whether it differs."""


class Row(NamedTuple):
    """A line of both texts, or of one.

    Attributes:
        old, new: the pieces of the line; None where that text has no such line.
        left_out: so many lines that are alike stand here instead; 0 for a line.
    """

    old: tuple[Part, ...] | None
    new: tuple[Part, ...] | None
    left_out: int = 0

    @property
    def differs(self) -> bool:
        """Whether the texts differ here."""
        return self.old != self.new


class Difference(NamedTuple):
    """How two texts differ; ``is_cut`` where that is not all."""

    rows: tuple[Row, ...]
    is_cut: bool


class Comparing:
    """Compares the texts of one page, as far as that stays small."""

    def __init__(self) -> None:
        self._chars = _CHARS
        self._work = _WORK

    def compare(self, before: str, after: str) -> Difference:
        """Return how two texts differ."""
        old, new = (text.split("\n") if text else [] for text in (before, after))
        first = max(0, _alike(old, new) - _CONTEXT)
        # of long texts only what differs is looked at
        last = max(0, _alike(old[first:][::-1], new[first:][::-1]) - _CONTEXT)
        old, new = old[first : len(old) - last], new[first : len(new) - last]
        is_cut = max(len(old), len(new)) > _MOST_LINES
        rows = [Row(None, None, first)] if first else []
        for row in self._rows(old[:_MOST_LINES], new[:_MOST_LINES]):
            rows.append(row)
            self._chars -= sum(len(text) + 20 for text, _ in (*(row.old or ()), *(row.new or ())))
            if self._chars <= 0:
                is_cut = True
                break
        if last and not is_cut:
            rows.append(Row(None, None, last))
        return Difference(tuple(rows), is_cut)

    def _rows(self, old: Sequence[str], new: Sequence[str]) -> Iterator[Row]:
        for way, a, b, c, d in self._steps(old, new):
            if way == "equal":
                alike = [Row(part, part) for part in (((_cut(line, 0), False),) for line in old[a:b])]
                if b - a > 2 * _CONTEXT + 1:
                    left_out = Row(None, None, b - a - 2 * _CONTEXT)
                    alike = [*alike[:_CONTEXT], left_out, *alike[-_CONTEXT:]]
                yield from alike
            else:
                for one, other in zip_longest(old[a:b], new[c:d]):
                    if one is None or other is None:
                        parts = ((_cut(other if one is None else one, 0), True),)
                        yield Row(None, parts) if one is None else Row(parts, None)
                    else:
                        yield self._line(one, other)

    def _line(self, old: str, new: str) -> Row:
        if max(len(old), len(new)) > _LINE_CHARS:
            start = max(0, _alike(old, new) - _LINE_CHARS // 10)
            old, new = _cut(old, start), _cut(new, start)
        a, b = _WORDS.findall(old), _WORDS.findall(new)
        before: list[Part] = []
        after: list[Part] = []
        for way, i, j, k, m in self._steps(a, b):
            before += [("".join(a[i:j]), way != "equal")] if j > i else []
            after += [("".join(b[k:m]), way != "equal")] if m > k else []
        return Row(tuple(before), tuple(after))

    def _steps(self, a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
        """Return what makes the second of the first: equal, or replace, each with both ranges."""
        first = _alike(a, b)
        last = _alike(a[first:][::-1], b[first:][::-1])
        if first:
            yield "equal", 0, first, 0, first
        inner, other = a[first : len(a) - last], b[first : len(b) - last]
        if inner or other:
            yield from self._inner(inner, other, first)
        if last:
            yield "equal", len(a) - last, len(a), len(b) - last, len(b)

    def _inner(self, a: Sequence[str], b: Sequence[str], at: int) -> Iterator[tuple[str, int, int, int, int]]:
        counts = Counter(b)
        work = max(len(a) * len(b), sum(counts[one] for one in a))
        if work > self._work:
            yield "replace", at, at + len(a), at, at + len(b)
            return
        self._work -= work
        for way, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
            yield way, at + i, at + j, at + k, at + m


def _alike(a: Sequence[str], b: Sequence[str]) -> int:
    """Return how many items at the beginning are the same."""
    return next((place for place, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _cut(line: str, start: int) -> str:
    cut = line[start : start + _LINE_CHARS]
    return f"{'…' if start else ''}{cut}{'…' if start + _LINE_CHARS < len(line) else ''}"
