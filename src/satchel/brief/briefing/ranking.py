"""Ranking of items of all kinds by how much an agent needs them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from satchel.base.clock import DAY_MS
from satchel.base.records import replace
from satchel.base.text import fold
from satchel.base.vocabulary import priority_number
from satchel.brief.briefing.records import Candidate
from satchel.store.transaction import grouped

# Points for each step of priority, for the same task, and for being meant for this role.
PRIORITY, SAME_TASK, FOR_ROLE = 4.0, 2.0, 1.5

# Points of the best match of the query; others get their share of them.
RELEVANCE = 8.0

# Points deducted from a note whose file has changed or is gone.
STALE = 4.0

LOW, MEDIUM, HIGH = map(priority_number, ("low", "medium", "high"))


def score(candidate: Candidate, now: int) -> float:
    """Return how much an agent needs an item.

    ``4 x priority (1-4) + 2 x same task + 1.5 x meant for this role + 1 / (days + 1)``, plus :data:`RELEVANCE` times
    the relevance to the query, less :data:`STALE` if the cited lines have changed; an error counts by how often it was
    met.
    """
    return (
        PRIORITY * candidate.priority
        + SAME_TASK * candidate.is_of_task
        + FOR_ROLE * candidate.is_for_role
        + 1 / (max(0, now - candidate.changed_at) // DAY_MS + 1)
        + RELEVANCE * candidate.relevance
        - STALE * candidate.is_stale
        + math.log2(candidate.times)
    )


def base_score_sql(priority: str, of_task: str, for_role: str, changed_at: str) -> str:
    """Return the SQL of :func:`score` without the part of the query, from SQL expressions and conditions."""
    return (
        f"{PRIORITY} * {priority} + CASE WHEN {of_task} THEN {SAME_TASK} ELSE 0 END "
        f"+ CASE WHEN {for_role} THEN {FOR_ROLE} ELSE 0 END "
        f"+ 1.0 / (CASE WHEN {changed_at} < :now THEN (:now - {changed_at}) / {DAY_MS} ELSE 0 END + 1)"
    )


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
    return " ".join((text if text.isascii() else _normalized(text)).split(None, 6)[:6]).lower()
