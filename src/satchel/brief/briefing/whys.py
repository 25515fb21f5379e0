"""Reasons why a briefing shows an item: its place on the page and the parts of its score."""

from __future__ import annotations

from satchel.base.vocabulary import PRIORITIES
from satchel.brief.briefing.page import PageItem
from satchel.brief.briefing.ranking import parts
from satchel.brief.briefing.records import Candidate
from satchel.find.kind import Kind

_PLACED = {
    "critical": "critical: before everything else",
    "share": "in the share of {section}",
    "answer": "answers the query: in the rest of the budget",
    "wanted": "belongs to a share: in the rest of the budget",
    "room": "in the rest of the budget",
}
_RULES = {Kind.CONSTRAINT: "an active rule", Kind.DECISION: "an active decision"}
_IS = {
    "attempts": "an attempt in its own loop",
    "reviews": "an open review of its own work",
    "messages": "an unread message",
    "packages": "a package",
    "errors": "an error with a fix, or a strategy",
    "entries": "a note",
}


def why_shown(item: PageItem, now: int) -> tuple[str, ...]:
    """Return why an item is on a page: its place, its kind, and its score."""
    candidate = item.candidate
    reasons = [_PLACED[item.place].format(section=candidate.section), what(candidate)]
    if candidate.is_pinned:
        reasons.append("pinned by a person: ranks as critical")
    if candidate.is_repeated:
        reasons.append("delivered in this window: a line stays, as it is critical")
    if candidate.stands_for:
        reasons.append(f"same text as {', '.join(one.ref for one in candidate.stands_for)}")
    return (*reasons, scored(candidate, now))


def what(candidate: Candidate) -> str:
    """Return what an item is to the reader."""
    if candidate.leads:
        return "the point where the last session stopped"
    return _RULES.get(candidate.kind) or _IS[candidate.section]


def scored(candidate: Candidate, now: int) -> str:
    """Return the score of an item and its parts."""
    priority, task, role, age, query, stale = some = parts(candidate, now)
    parts_text = [f"priority {PRIORITIES[candidate.priority - 1]} {priority:g}"]
    parts_text += [f"own task {task:g}"] if task else []
    parts_text += [f"meant for it {role:g}"] if role else []
    parts_text += [f"matches the query {candidate.relevance:.2f}: {query:.1f}"] if query else []
    parts_text += [f"the cited file has changed {stale:g}"] if stale else []
    return f"{sum(some):.1f} points: {', '.join(parts_text)}, age {age:.2g}"
