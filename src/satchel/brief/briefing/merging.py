"""Merging of items, so that no text appears twice in a briefing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from satchel.base.records import replace
from satchel.base.text import fold
from satchel.brief.briefing.records import Candidate
from satchel.store.transaction import grouped


def newest_of_series(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates with each series of scratchpads merged into its newest one."""
    every = list(candidates)
    merged = [one for one in every if not one.series]
    for some in grouped(((one.section, *one.series), one) for one in every if one.series).values():
        *older, newest = sorted(some, key=lambda one: (one.changed_at, one.number))
        merged.append(_with_tried(newest, older) if older else newest)
    return merged


def _with_tried(newest: Candidate, older: Sequence[Candidate]) -> Candidate:
    tried: dict[str, str] = {}
    for text in (text for one in older for text in one.tried):
        tried.setdefault(_normalized(text), text)
    own = {_normalized(text) for text in newest.tried}
    before = [text for normalized, text in tried.items() if normalized not in own]
    text = "; ".join(part for part in (newest.text, f"tried before: {'; '.join(before)}" if before else "") if part)
    relevance = max(one.relevance for one in (*older, newest))
    return replace(newest, text=text, relevance=relevance, stands_for=tuple(older))


def without_twins(ordered: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates in order without repeated texts; of equal ones the first critical, else the first, stays."""
    beginnings = grouped((_beginning(one.text), one) for one in ordered)
    maybe = (one for some in beginnings.values() if len(some) > 1 for one in some)
    alike = grouped(((fold(one.subject), _normalized(one.text)), one) for one in maybe)
    removed: set[tuple[int, int]] = set()
    stands_for: dict[tuple[int, int], tuple[Candidate, ...]] = {}
    for some in alike.values():
        if len(some) == 1:
            continue
        winner = next((one for one in some if one.is_critical), some[0])
        others = [one for one in some if one is not winner]
        removed |= {one.key for one in others}
        stands_for[winner.key] = tuple(item for one in others for item in (one, *one.stands_for))
    if not removed:
        return list(ordered)
    return [
        replace(one, stands_for=(*one.stands_for, *stands_for[one.key])) if one.key in stands_for else one
        for one in ordered
        if one.key not in removed
    ]


def _normalized(text: str) -> str:
    return fold(" ".join(text.split()))


def _beginning(text: str) -> str:
    """Return the first words, normalized: comparing these first saves normalizing most texts."""
    return " ".join((text if text.isascii() else _normalized(text)).split(None, 6)[:6]).lower()
