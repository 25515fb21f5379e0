"""Differences between two texts, by lines and within them by words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

from satchel.base.records import NamedTuple
from satchel.interfaces.web.rendering import fit

_MOST, _NEXT_LINES = 4_000, 1
"""Characters that each text takes at most on the page, and unchanged lines around a change."""

_WORD = re.compile(r"\w+|\s+|.")


class Line(NamedTuple):
    """A line of a difference.

    Attributes:
        sign: ``-`` of the old text, ``+`` of the new one, or a space of both.
        parts: its text in parts, each with whether it changed.
    """

    sign: str
    parts: tuple[tuple[str, bool], ...]


def lines_of(text: str) -> tuple[Line, ...]:
    """Return the lines of a text that did not change."""
    return tuple(Line(" ", ((line, False),)) for line in fit(text, _MOST).splitlines())


def compare(before: str, after: str) -> tuple[Line, ...]:
    """Return the lines that changed with their words marked, and the lines next to them."""
    old, new = before.splitlines(), after.splitlines()
    first = next(
        (at for at, (was, now) in enumerate(zip(old, new, strict=False)) if was != now), min(len(old), len(new))
    )
    old, new = (fit("\n".join(lines[first:]), _MOST).splitlines() for lines in (old, new))
    lines: list[Line] = []
    for codes in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_NEXT_LINES):
        if lines:
            lines.append(Line(" ", (("…", False),)))
        for tag, i, j, k, m in codes:
            lines += (
                [Line(" ", ((text, False),)) for text in old[i:j]] if tag == "equal" else _changed(old[i:j], new[k:m])
            )
    return tuple(lines)


def _changed(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    for was, now in zip_longest(old, new):
        removed, added = _words(was, now) if was is not None and now is not None else ((), ())
        if was is not None:
            yield Line("-", removed or ((was, now is not None),))
        if now is not None:
            yield Line("+", added or ((now, was is not None),))


def _words(was: str, now: str) -> tuple[tuple[tuple[str, bool], ...], tuple[tuple[str, bool], ...]]:
    old, new = _WORD.findall(was), _WORD.findall(now)
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return (
        _parts(old, [(i, j, tag != "equal") for tag, i, j, _, _ in codes]),
        _parts(new, [(k, m, tag != "equal") for tag, _, _, k, m in codes]),
    )


def _parts(words: Sequence[str], ranges: Sequence[tuple[int, int, bool]]) -> tuple[tuple[str, bool], ...]:
    return tuple(("".join(words[i:j]), is_changed) for i, j, is_changed in ranges if j > i)
