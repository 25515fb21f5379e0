"""Ranking of items of all kinds by how much an agent needs them."""

from __future__ import annotations

import math

from satchel.base.clock import DAY_MS
from satchel.base.vocabulary import priority_number
from satchel.brief.briefing.records import Candidate

PRIORITY, SAME_TASK, FOR_ROLE = 4.0, 2.0, 1.5
"""Points for each step of priority, for the same task, and for being meant for this role."""

RELEVANCE = 8.0
"""Points of the best match of the query; others get their share of them."""

STALE = 4.0
"""Points deducted from a note whose file has changed or is gone."""

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
