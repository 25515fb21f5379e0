"""Merging: what one item says for others, so that no text stands twice in a briefing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from satchel.base.grouping import grouped
from satchel.base.records import replace
from satchel.base.text import fold
from satchel.brief.briefing.records import Candidate


def newest_of_series(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates, of each series of scratchpads only the newest, which says all that was tried before, once."""
    every = list(candidates)
    found = [one for one in every if not one.series]
    for some in grouped(((one.section, *one.series), one) for one in every if one.series).values():
        *older, newest = sorted(some, key=lambda one: (one.changed_at, one.number))
        found.append(_with_tried(newest, older) if older else newest)
    return found


def _with_tried(newest: Candidate, older: Sequence[Candidate]) -> Candidate:
    tried: dict[str, str] = {}
    for text in (text for one in older for text in one.tried):
        tried.setdefault(_normalised(text), text)
    own = {_normalised(text) for text in newest.tried}
    before = [text for normalised, text in tried.items() if normalised not in own]
    said = "; ".join(part for part in (newest.text, f"tried before: {'; '.join(before)}" if before else "") if part)
    relevance = max(one.relevance for one in (*older, newest))
    return replace(newest, text=said, relevance=relevance, stands_for=tuple(older))


def without_twins(ordered: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates in their order, of those that say the same only the first, or the first critical one."""
    beginnings = grouped((_beginning(one.text), one) for one in ordered)
    maybe = (one for some in beginnings.values() if len(some) > 1 for one in some)
    alike = grouped(((fold(one.subject), _normalised(one.text)), one) for one in maybe)
    gone: set[tuple[int, int]] = set()
    stands_for: dict[tuple[int, int], tuple[Candidate, ...]] = {}
    for some in alike.values():
        if len(some) == 1:
            continue
        shown = next((one for one in some if one.is_critical), some[0])
        others = [one for one in some if one is not shown]
        gone |= {one.key for one in others}
        stands_for[shown.key] = tuple(item for one in others for item in (one, *one.stands_for))
    if not gone:
        return list(ordered)
    return [
        replace(one, stands_for=(*one.stands_for, *stands_for[one.key])) if one.key in stands_for else one
        for one in ordered
        if one.key not in gone
    ]


def _normalised(text: str) -> str:
    return fold(" ".join(text.split()))


def _beginning(text: str) -> str:
    """Return how a normalised text begins: most differ in that, and all of it takes five times as long."""
    return " ".join((text if text.isascii() else _normalised(text)).split(None, 6)[:6]).lower()
