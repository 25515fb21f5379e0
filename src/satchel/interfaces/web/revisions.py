"""The revisions of a decision, each with what it changed: the lines that differ, and within them the words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

from satchel.base.paging import Page as Part
from satchel.base.records import NamedTuple
from satchel.interfaces.web.rendering import fit
from satchel.interfaces.web.request import PageRequest
from satchel.keep.decisions.records import Decision, DecisionState

_REVISIONS = 10
# Characters that each text takes at most on the page, and unchanged lines around a change.
_MOST, _NEXT_LINES = 4_000, 1

_WORD = re.compile(r"\w+|\s+|.")


class Line(NamedTuple):
    """A line of a difference.

    Attributes:
        sign: ``-`` of the old text, ``+`` of the new one, or a space of both.
        parts: its text in parts, each with whether it changed.
    """

    sign: str
    parts: tuple[tuple[str, bool], ...]


class Revision(NamedTuple):
    """One revision of a decision.

    Attributes:
        lines: the difference from the one before; of the first the value, unless it is the current one.
        rationale: the new reason; empty where the old one stayed.
        set_at: milliseconds UTC.
        fields: the name, the old and the new text of whatever else changed.
    """

    number: int
    agent: str | None
    lines: tuple[Line, ...]
    rationale: str
    set_at: int
    fields: tuple[tuple[str, str, str], ...]


def revisions_of(request: PageRequest, current: Decision) -> Part[Revision]:
    """Return the revisions of a decision, the latest first."""
    first = request.number("revisions", 0)
    # one state more than is shown, to compare the last one with; the current state is not in the history
    limit, skipped = (_REVISIONS + 1, first - 1) if first else (_REVISIONS, 0)
    history = request.reader.decisions.get(current.key, limit=limit, offset=skipped).history
    states: list[Decision | DecisionState] = [*([] if first else [current]), *history.items]
    pairs = zip_longest(states[:_REVISIONS], states[1 : _REVISIONS + 1])
    revisions = tuple(_revision(state, before) for state, before in pairs if state is not None)
    return Part(revisions, history.total + 1, first, _REVISIONS)


def _revision(state: Decision | DecisionState, before: Decision | DecisionState | None) -> Revision:
    set_at = state.updated_at if isinstance(state, Decision) else state.set_at
    value = str(state.value)
    if before is None:
        # the page has the text of the current revision anyway
        lines = () if isinstance(state, Decision) else _lines_of(value)
        return Revision(state.revision, state.agent, lines, state.rationale or "", set_at, ())
    fields = tuple(
        (name, old, new)
        for name in ("status", "version", "layer", "tags", "scopes", "paths")
        if (old := _text(getattr(before, name))) != (new := _text(getattr(state, name)))
    )
    lines = () if state.value == before.value else _compare(str(before.value), value)
    rationale = "" if state.rationale == before.rationale else state.rationale or ""
    return Revision(state.revision, state.agent, lines, rationale, set_at, fields)


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else "" if value is None else str(value)


def _lines_of(text: str) -> tuple[Line, ...]:
    return tuple(Line(" ", ((line, False),)) for line in fit(text, _MOST).splitlines())


def _compare(before: str, after: str) -> tuple[Line, ...]:
    # the lines that changed with their words marked, and the lines next to them
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
