"""Ranking: what an agent needs most, whatever kind it is of."""

from __future__ import annotations

from satchel.base.clock import DAY_MS
from satchel.base.vocabulary import priority_number
from satchel.brief.briefing.records import Candidate

PRIORITY, SAME_TASK, FOR_ROLE = 4.0, 2.0, 1.5
"""What a step of priority counts, the same task, and being meant for this role."""

RELEVANCE = 8.0
"""What the best match of the query counts; others count by their share of its score."""

STALE = 4.0
"""What is taken from a note whose file has changed or is gone: half of what the best match counts."""

RELEVANT = 0.5
"""From this share of the best match on, an item that is no entry counts as an answer to the query."""

MEDIUM, HIGH = priority_number("medium"), priority_number("high")


def score(candidate: Candidate, now: int) -> float:
    """Return how much an agent needs an item: the higher, the more.

    ``4 x priority (1-4) + 2 x same task + 1.5 x meant for this role + 1 / (days + 1)``, as the design has it, and
    :data:`RELEVANCE` times the relevance to the query, less :data:`STALE` where what is cited is not there any more.

    Args:
        now: milliseconds UTC.
    """
    return (
        PRIORITY * candidate.priority
        + SAME_TASK * candidate.is_of_task
        + FOR_ROLE * candidate.is_for_role
        + 1 / (max(0, now - candidate.changed_at) // DAY_MS + 1)
        + RELEVANCE * candidate.relevance
        - STALE * candidate.is_stale
    )


def base_score_sql(priority: str, of_task: str, for_role: str, changed_at: str) -> str:
    """Return the SQL of :func:`score` without the query's part.

    Args:
        priority, changed_at: expressions.
        of_task, for_role: conditions.
    """
    return (
        f"{PRIORITY} * {priority} + CASE WHEN {of_task} THEN {SAME_TASK} ELSE 0 END "
        f"+ CASE WHEN {for_role} THEN {FOR_ROLE} ELSE 0 END "
        f"+ 1.0 / (CASE WHEN {changed_at} < :now THEN (:now - {changed_at}) / {DAY_MS} ELSE 0 END + 1)"
    )


def is_wanted(candidate: Candidate, *, has_query: bool) -> bool:
    """Whether an item has a claim to its section's share; what has none fills what is left in the end.

    With a query that is what answers it, what belongs to the agent's own loop or review, and what is urgent in its own
    task; without one, everything.
    """
    if not has_query or candidate.is_own or candidate.is_critical or is_answer(candidate):
        return True
    return candidate.priority >= HIGH and (candidate.is_of_task or candidate.is_for_role)


def is_answer(candidate: Candidate) -> bool:
    """Whether an item answers the query: an entry that it finds, or anything else that matches it well."""
    least = 0.0 if candidate.section == "entries" else RELEVANT
    return candidate.relevance > 0 and candidate.relevance >= least
