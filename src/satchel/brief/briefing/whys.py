"""Why a briefing shows an item, in words: of what placed it, and of what its score is the sum of."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.vocabulary import PRIORITIES
from satchel.brief.briefing.page import Shown
from satchel.brief.briefing.ranking import parts
from satchel.brief.briefing.records import Candidate
from satchel.find.kind import Kind

_PLACED = {
    "critical": "critical: before everything else",
    "share": "in the share of {section}",
    "answer": "answers the query: in what the shares left",
    "wanted": "has a claim to a share: in what the shares left",
    "room": "in the room that was left",
}
_RULES = {Kind.CONSTRAINT: "a rule that holds", Kind.DECISION: "a decision that holds"}
_IS = {
    "attempts": "what was tried in its own loop",
    "reviews": "the review of its own work is open",
    "messages": "an unread message",
    "packages": "a package that was handed over",
    "errors": "an error with a fix, or a strategy",
    "entries": "a note",
}


def why_shown(shown: Shown, now: int) -> tuple[str, ...]:
    """Return why an item stands on a page: how it got there, what it is, and its score.

    Args:
        now: milliseconds UTC.
    """
    candidate = shown.candidate
    reasons = [_PLACED[shown.place].format(section=candidate.section), what(candidate)]
    if candidate.is_pinned:
        reasons.append("pinned by a person: as urgent as what is critical")
    if candidate.is_repeated:
        reasons.append("delivered in this window: critical, so a line of it stays")
    if candidate.stands_for:
        reasons.append(f"says what {_refs(candidate.stands_for)} say{'s' * (len(candidate.stands_for) == 1)}")
    return (*reasons, scored(candidate, now))


def what(candidate: Candidate) -> str:
    """Return what an item is to the reader."""
    if candidate.leads:
        return "where the last session left off"
    return _RULES.get(candidate.kind) or _IS[candidate.section]


def scored(candidate: Candidate, now: int) -> str:
    """Return the score of an item, and what it is the sum of."""
    priority, task, role, age, query, stale = some = parts(candidate, now)
    said = [f"priority {PRIORITIES[candidate.priority - 1]} {priority:g}"]
    said += [f"own task {task:g}"] if task else []
    said += [f"meant for it {role:g}"] if role else []
    said += [f"matches the query {candidate.relevance:.2f}: {query:.1f}"] if query else []
    said += [f"what it cites has changed {stale:g}"] if stale else []
    return f"{sum(some):.1f} points: {', '.join(said)}, age {age:.2g}"


def _refs(candidates: Sequence[Candidate]) -> str:
    return ", ".join(one.ref for one in candidates)
