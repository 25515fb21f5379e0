"""The order of a briefing, and how its items share the room: what binds comes first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from satchel.base.vocabulary import priority_number
from satchel.brief.briefing.page import Page
from satchel.brief.briefing.ranking import score
from satchel.brief.briefing.records import Candidate
from satchel.find.kind import Kind

CRITICAL, ATTEMPTS, RULES, DECISIONS, REVIEWS, PACKAGES, HANDOVER, MESSAGES, FIXES, NOTES = range(10)
"""The places of a briefing, in order. Who is at work comes between messages and fixes."""

_PLACES = {"attempts": ATTEMPTS, "reviews": REVIEWS, "packages": PACKAGES, "messages": MESSAGES, "errors": FIXES}
_CURRENT = frozenset({REVIEWS, HANDOVER, MESSAGES})
_HIGH = priority_number("high")

_FOR_CURRENT = 0.2
"""The part of the room that decisions leave for open reviews, the handover and messages."""

_FOR_ANSWERS = 0.2
"""The part of the room that rules and decisions leave for fixes and notes that answer the query."""

_MAX_FOR_NOTES = 0.5
"""The part of the budget that notes may take."""

_FOR_QUESTION = 0.9
"""Both parts where no rule or decision answers the query: then it is a question, not a task that they bind."""

_ANSWER = 0.4
"""The share of the best match from which an item answers the query."""

_PRIOR_OF_RULE, _PRIOR_OF_HIGH, _PRIOR_OF_TASK = 0.25, 0.15, 0.15
"""What a rule, a high priority, and a decision of the own task or branch count as relevance to a query: rules bind work
that does not name them."""

_MAX_MISSES = 30
"""After so many items in a row that did not fit, the rest is left out."""


def place_of(candidate: Candidate) -> int:
    """Return the place of an item in the order of a briefing."""
    if candidate.is_critical:
        return CRITICAL
    if candidate.leads:
        return HANDOVER
    if candidate.kind is Kind.CONSTRAINT:
        return RULES
    if candidate.kind is Kind.DECISION:
        return DECISIONS
    return _PLACES.get(candidate.section, NOTES)


def in_order(candidates: Iterable[Candidate], now: int) -> list[Candidate]:
    """Return candidates in the order of a briefing, which is stable: by place, then the most needed first.

    Attempts and reviews are in the order of time.
    """

    def key(one: Candidate) -> tuple[float, ...]:
        place = place_of(one)
        is_rule_first = one.kind is not Kind.CONSTRAINT
        if place in {ATTEMPTS, REVIEWS}:
            return (place, 0.0, one.changed_at, *one.key)
        return (place, float(is_rule_first and place == CRITICAL), -score(one, now), -one.changed_at, *one.key)

    return sorted(candidates, key=key)


def fill(page: Page, ordered: Sequence[Candidate], budget: int, *, has_query: bool) -> None:
    """Fill a page with items in order, leaving room for what is current and for answers to the query."""
    of_place: dict[int, list[Candidate]] = {}
    for one in ordered:
        of_place.setdefault(place_of(one), []).append(one)
    for place in (CRITICAL, ATTEMPTS):
        _add(page, of_place.get(place, ()))
    answers = [one for place in (FIXES, NOTES) for one in of_place.get(place, ()) if one.relevance >= _ANSWER]
    answers.sort(key=lambda one: (place_of(one), -one.relevance))
    rules, decisions = of_place.get(RULES, []), of_place.get(DECISIONS, [])
    is_question = has_query and all(one.relevance < _ANSWER for one in (*rules, *decisions))
    part, most_for_notes = (_FOR_QUESTION, _FOR_QUESTION) if is_question else (_FOR_ANSWERS, _MAX_FOR_NOTES)
    for_answers = _reserve(page, answers, part) if has_query else 0
    current = [one for place in sorted(_CURRENT) for one in of_place.get(place, ())]
    for_current = _reserve(page, current, _FOR_CURRENT)
    if has_query:
        binding = sorted([*rules, *decisions], key=lambda one: -_pull(one))
        _add(page, binding, for_answers + for_current)
    else:
        _add(page, rules)
        _add(page, decisions, for_current)
    packages = of_place.get(PACKAGES, [])
    urgent = [one for one in packages if one.priority >= _HIGH]
    _add(page, [*of_place.get(REVIEWS, ()), *urgent], for_answers)
    _add(page, [*of_place.get(HANDOVER, ()), *of_place.get(MESSAGES, ())], for_answers)
    before = page.used
    _add(page, answers, at_most=for_answers)
    _add(page, [*rules, *decisions])
    for_notes = int(most_for_notes * budget) - (page.used - before)
    for_notes -= _add(page, [one for one in answers if place_of(one) == NOTES], at_most=for_notes)
    _add(page, packages)
    _add(page, of_place.get(FIXES, ()))
    _add(page, of_place.get(NOTES, ()), at_most=for_notes)


def _add(page: Page, candidates: Iterable[Candidate], reserve: int = 0, at_most: int | None = None) -> int:
    """Add the items that fit without using the reserve, within ``at_most`` tokens; return the tokens used."""
    before, misses = page.used, 0
    for one in candidates:
        room = page.room - reserve - page.used
        if at_most is not None:
            room = min(room, at_most - (page.used - before))
        misses = 0 if page.add(one, room) else misses + 1
        if misses == _MAX_MISSES:
            break
    return page.used - before


def _reserve(page: Page, candidates: Sequence[Candidate], part: float) -> int:
    """Return the tokens of items with their headings, as many as a part of the room holds."""
    most, total = int(part * max(0, page.room - page.used)), 0
    groups: set[str] = set()
    for one in candidates:
        cost = page.cost_of(one, with_heading=one.group not in groups)
        if total + cost > most:
            break
        groups.add(one.group)
        total += cost
    return total


def _pull(one: Candidate) -> float:
    prior = _PRIOR_OF_RULE if one.kind is Kind.CONSTRAINT else 0.0
    return one.relevance + prior + _PRIOR_OF_HIGH * (one.priority >= _HIGH) + _PRIOR_OF_TASK * one.is_of_task
