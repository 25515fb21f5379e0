"""A page: items under headings with their cost, whole or as titles, until the room is used."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from satchel.base.records import dataclass, field
from satchel.base.text import neutral, shortened
from satchel.base.vocabulary import priority_number
from satchel.brief.briefing.ranking import score
from satchel.brief.briefing.records import Candidate
from satchel.brief.fields import cut_head, reason_text
from satchel.find.kind import Kind
from satchel.store.transaction import grouped

# The places of a briefing, in order. Who is at work comes between messages and fixes.
CRITICAL, ATTEMPTS, RULES, DECISIONS, REVIEWS, PACKAGES, HANDOVER, MESSAGES, FIXES, NOTES = range(10)

_PLACES = {"attempts": ATTEMPTS, "reviews": REVIEWS, "packages": PACKAGES, "messages": MESSAGES, "errors": FIXES}
_CURRENT = frozenset({REVIEWS, HANDOVER, MESSAGES})
_HIGH = priority_number("high")

# The part of the room that decisions leave for open reviews, the handover and messages.
_FOR_CURRENT = 0.2

# The part of the room that rules and decisions leave for fixes and notes that answer the query.
_FOR_ANSWERS = 0.2

# The part of the budget that notes may take.
_MAX_FOR_NOTES = 0.5

# Both parts where no rule or decision answers the query: then it is a question, not a task that they bind.
_FOR_QUESTION = 0.9

# The share of the best match from which an item answers the query.
_ANSWER = 0.4

# What a rule, a high priority, and a decision of the own task or branch count as relevance to a query: rules bind work
# that does not name them.
_PRIOR_OF_RULE, _PRIOR_OF_HIGH, _PRIOR_OF_TASK = 0.25, 0.15, 0.15

# After so many items in a row that did not fit, the rest is left out.
_MAX_MISSES = 30


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
    page.add_critical(of_place.get(CRITICAL, []))
    _add(page, of_place.get(ATTEMPTS, ()))
    fixes, notes = (
        sorted((one for one in of_place.get(place, ()) if one.relevance >= _ANSWER), key=lambda one: -one.relevance)
        for place in (FIXES, NOTES)
    )
    answers = [*fixes, *notes]
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
    for_notes -= _add(page, notes, at_most=for_notes)
    _add(page, packages)
    _add(page, of_place.get(FIXES, ()))
    _add(page, of_place.get(NOTES, ()), at_most=for_notes)


def _add(page: Page, candidates: Iterable[Candidate], reserve: int = 0, at_most: int | None = None) -> int:
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


# Counts the tokens of a text.
Count = Callable[[str], int]

# The line that says how to read an item that is shown as a title.
OPENING = "… ends a title: get_items opens it by its id"

_CRITICAL_GROUP = "critical"
# Follows the id of an item that a person wrote.
PERSONS = "*"

# A line longer than this per token of room left is not tried: prose has 4 to 5, paths and code fewer.
_MAX_CHARS_PER_TOKEN = 8

_MAX_HEAD_CHARS = 200
_TITLE_CHARS = 90
_SENTENCE = re.compile(r"[^\n]{1,160}?(?:[.!?](?=\s)(?<!\b\w.)|[。！？]|(?=\n))")
_ONE_LINE = str.maketrans("\n\t\u2028\u2029", "    ")


@dataclass(frozen=True, slots=True)
class PageItem:
    """One line of a page."""

    candidate: Candidate
    group: str
    line: str
    cost: int
    is_title: bool


@dataclass(slots=True)
class Page:
    """The lines shown so far and their cost.

    Attributes:
        room: the tokens for lines, headings and the line on titles.
        most_of_one: the tokens above which an item that is not critical is shown as a title.
        titles_only: whether no text is shown whole except rules, decisions and what is critical.
        gives_reasons: whether decisions are shown with their reasons.
    """

    count: Count
    room: int
    most_of_one: int
    titles_only: bool = False
    gives_reasons: bool = False
    items: dict[tuple[int, int], PageItem] = field(default_factory=dict)
    used: int = 0
    _costs: dict[str, int] = field(default_factory=dict)
    _headings: dict[str, int] = field(default_factory=dict)
    _titles: int = 0

    def add(self, candidate: Candidate, at_most: int | None = None) -> bool:
        """Show an item, which is not critical, whole or else as a title, if it fits; return whether it is shown.

        ``at_most`` limits its tokens.
        """
        if candidate.key in self.items:
            return True
        group = candidate.group
        heading = 0 if group in self._headings else self._cost(f"{group}\n")
        room = self.room - self.used if at_most is None else min(self.room - self.used, at_most)
        item = self._whole(candidate, group, room - heading) or self._title(candidate, group, room - heading)
        if item is None:
            return False
        self.items[candidate.key] = item
        self._headings[group] = self._headings.get(group, 0) + 1
        self.used += heading + item.cost + (self._cost(f"{OPENING}\n") if item.is_title and not self._titles else 0)
        self._titles += item.is_title
        return True

    def add_critical(self, ordered: Sequence[Candidate]) -> None:
        """Show critical items first: a line of each as far as they fit, whole where that leaves the others their lines.

        A larger page never shows fewer of them.
        """
        items = self._critical(ordered, self.room)
        if self._total(items) > self.room:
            items = self._critical(ordered, 0)
            while items and self._total(items) > self.room:
                items.pop()
            used = self._total(items)
            for place, line in enumerate(items):
                whole = self._whole(line.candidate, line.group, self.room - used + line.cost)
                items[place] = whole or line
                used += items[place].cost - line.cost
        self.items |= {item.candidate.key: item for item in items}
        self.used, self._titles = self._total(items), sum(item.is_title for item in items)
        self._headings[_CRITICAL_GROUP] = len(items)

    def least_of_critical(self, candidates: Sequence[Candidate]) -> int:
        """Return the tokens that a line of each critical item takes at least."""
        return min(self._total(self._critical(candidates, room)) for room in (0, self.room))

    def _critical(self, candidates: Sequence[Candidate], room: int) -> list[PageItem]:
        group = _CRITICAL_GROUP
        return [self._whole(one, group, room) or self._line(one, group) for one in candidates]

    def _total(self, items: Sequence[PageItem]) -> int:
        if not items:
            return 0
        frame = f"{items[0].group}\n", *([f"{OPENING}\n"] if any(item.is_title for item in items) else [])
        return sum(map(self._cost, frame)) + sum(item.cost for item in items)

    def cost_of(self, candidate: Candidate, *, with_heading: bool) -> int:
        """Return the tokens of an item at its length on this page."""
        room = max(self.room, 0)
        item = self._whole(candidate, "", room) or self._title(candidate, "", room)
        heading = self._cost(f"{candidate.group}\n") if with_heading else 0
        return 0 if item is None else item.cost + heading

    def remove_last(self, ordered: Sequence[Candidate]) -> bool:
        """Remove the least important item, critical ones last; return whether there was one."""
        on_page = [candidate for candidate in ordered if candidate.key in self.items]
        if not on_page:
            return False
        last = next((one for one in reversed(on_page) if not one.is_critical), on_page[-1])
        item = self.items.pop(last.key)
        self._headings[item.group] -= 1
        self._titles -= item.is_title
        return True

    def lines(self, ordered: Sequence[Candidate]) -> list[str]:
        """Return the lines of items in order, under their headings."""
        items = [self.items[candidate.key] for candidate in ordered if candidate.key in self.items]
        groups = grouped((one.group, one) for one in items)
        return [line for group, some in groups.items() for line in (neutral(group), *(one.line for one in some))]

    @property
    def has_titles(self) -> bool:
        return self._titles > 0

    def _cost(self, text: str) -> int:
        cost = self._costs.get(text)
        if cost is None:
            cost = self._costs[text] = self.count(text)
        return cost

    def _whole(self, candidate: Candidate, group: str, room: int) -> PageItem | None:
        is_brief = candidate.is_repeated or (self.titles_only and not candidate.binds)
        if is_brief and not candidate.is_critical:
            return None
        if candidate.is_repeated or len(candidate.text) > _MAX_CHARS_PER_TOKEN * room:
            return None
        if not candidate.is_critical:
            room = min(room, self.most_of_one)
        line = line_of(candidate, gives_reason=self.gives_reasons)
        cost = self._cost(f"{line}\n")
        return PageItem(candidate, group, line, cost, False) if cost <= room else None

    def _title(self, candidate: Candidate, group: str, room: int) -> PageItem | None:
        item = self._line(candidate, group)
        opening = self._cost(f"{OPENING}\n") if item.is_title and not self._titles else 0
        return item if item.cost + opening <= room else None

    def _line(self, candidate: Candidate, group: str) -> PageItem:
        title, whole = title_line(candidate), line_of(candidate)
        is_shorter = len(title) < len(whole)
        line = title if is_shorter else whole
        return PageItem(candidate, group, line, self._cost(f"{line}\n"), is_shorter and not candidate.is_repeated)


def line_of(candidate: Candidate, *, gives_reason: bool = False) -> str:
    reason = reason_text(candidate.reason) if gives_reason else ""
    return neutral(f"{_start(candidate)} {candidate.text.strip()}{reason}".translate(_ONE_LINE).rstrip(": "))


def title_line(candidate: Candidate) -> str:
    return neutral(with_title(candidate.kind, _start(candidate), candidate.text))


def with_title(kind: Kind, start: str, text: str) -> str:
    """Return the start of a line with a title: a decision's key is in the start, others have a first sentence."""
    return f"{start} {'…' if kind is Kind.DECISION else title_of(text)}"


def start_of(ref: str, head: str | None, *, is_persons: bool) -> str:
    """Return what stands before the text of an item: its id, the mark of a person and its head."""
    return f"{ref}{PERSONS if is_persons else ''}{f' {head}' if head else ''}:"


def title_of(text: str) -> str:
    """Return the first sentence of a text if it is short, else its first words, with an ellipsis where more follows."""
    text = text.strip()
    match = _SENTENCE.match(text)
    title = match[0].strip() if match is not None else shortened(text, _TITLE_CHARS).removesuffix("…").rstrip()
    return title.translate(_ONE_LINE) if len(title) == len(text) else f"{title} …".translate(_ONE_LINE)


def _start(candidate: Candidate) -> str:
    is_apart = candidate.is_critical and candidate.kind is not Kind.CONSTRAINT
    head = f"{candidate.label or candidate.kind.noun} {candidate.head}".strip() if is_apart else candidate.head
    head = cut_head(head.translate(_ONE_LINE), _MAX_HEAD_CHARS)
    return start_of(candidate.ref, head, is_persons=candidate.is_persons)
