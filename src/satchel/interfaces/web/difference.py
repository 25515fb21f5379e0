"""Differences between two texts, by lines and within them by words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from satchel.base.records import NamedTuple

_WORD = re.compile(r"\w+|\s+|.")


class Line(NamedTuple):
    """A line of a difference.

    Attributes:
        sign: ``-`` of the old text, ``+`` of the new one, or a space of both.
        parts: its text in parts, each with whether it changed.
    """

    sign: str
    parts: tuple[tuple[str, bool], ...]


def compare(before: str, after: str) -> tuple[Line, ...]:
    """Return the lines of both texts, those that changed with their words marked."""
    old, new = before.splitlines(), after.splitlines()
    lines: list[Line] = []
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += [Line(" ", ((text, False),)) for text in old[i:j]]
            continue
        for number in range(max(j - i, m - k)):
            was = old[i + number] if i + number < j else None
            now = new[k + number] if k + number < m else None
            removed, added = _words(was or "", now or "") if was is not None and now is not None else ((), ())
            if was is not None:
                lines.append(Line("-", removed or ((was, now is not None),)))
            if now is not None:
                lines.append(Line("+", added or ((now, was is not None),)))
    return tuple(lines)


def _words(was: str, now: str) -> tuple[tuple[tuple[str, bool], ...], tuple[tuple[str, bool], ...]]:
    old, new = _WORD.findall(was), _WORD.findall(now)
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return (
        _parts(old, [(i, j, tag != "equal") for tag, i, j, _, _ in codes]),
        _parts(new, [(k, m, tag != "equal") for tag, _, _, k, m in codes]),
    )


def _parts(words: Sequence[str], ranges: Sequence[tuple[int, int, bool]]) -> tuple[tuple[str, bool], ...]:
    return tuple(("".join(words[i:j]), is_changed) for i, j, is_changed in ranges if j > i)
