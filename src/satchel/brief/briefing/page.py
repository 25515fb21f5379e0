"""The page: lines under headings, with what each costs, filled until the budget is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from satchel.base.text import shortened
from satchel.base.vocabulary import SECTIONS
from satchel.brief.briefing.ranking import is_answer, is_wanted, score
from satchel.brief.briefing.records import Candidate
from satchel.find.snippets import excerpt

Count = Callable[[str], int]
"""Counts the tokens of a text."""

_CRITICAL_GROUP = "critical"
_LEAST_COST = 4
"""The tokens of the shortest line."""

_MAX_CHARS_PER_TOKEN = 8
"""A line that is longer than this for each token of room left is not tried: prose has 4 to 5, paths and code fewer."""

_AT_LENGTH = 0.25
"""The part of what the sections leave that is filled with texts at length."""

_CRITICAL_CHARS = (400, 200, 100, 60)
_MAX_FOR_CRITICAL = 0.5
"""Critical items are shortened, as far as 60 characters, until they need no more than this part of the budget."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One line of a page."""

    candidate: Candidate
    group: str
    line: str
    cost: int
    is_shortened: bool


@dataclass(slots=True)
class Page:
    """What is shown so far, and what it costs.

    Attributes:
        room: the tokens that lines and headings may take.
        max_chars: how much of an item's text is shown.
        short_chars: how much of it where the item is not among the best; None is as much.
        words: those of the query, which a shortened text is cut around.
    """

    count: Count
    room: int
    max_chars: int
    words: tuple[str, ...] = ()
    short_chars: int | None = None
    shown: dict[tuple[int, int], Shown] = field(default_factory=dict)
    used: int = 0
    _lines: dict[tuple[int, int, int], tuple[str, int]] = field(default_factory=dict)
    _headings: dict[str, int] = field(default_factory=dict)
    _heading_costs: dict[str, int] = field(default_factory=dict)

    def add(self, candidate: Candidate, chars: int | None = None) -> int | None:
        """Show an item if it fits.

        Args:
            chars: how much of its text is shown; None is the page's own measure.

        Returns:
            What it took, or None where it does not fit.
        """
        chars = self.max_chars if chars is None else chars
        if len(candidate.head) + min(len(candidate.text), chars) > _MAX_CHARS_PER_TOKEN * (self.room - self.used):
            return None
        line, cost = self.measure(candidate, chars)
        group = _CRITICAL_GROUP if candidate.is_critical else candidate.group
        whole = cost + (0 if group in self._headings else self._cost_of_heading(group))
        if self.used + whole > self.room:
            return None
        self._headings[group] = self._headings.get(group, 0) + 1
        self.shown[candidate.key] = Shown(candidate, group, line, cost, _is_cut(candidate, chars))
        self.used += whole
        return whole

    def grow(self, ordered: Sequence[Candidate], chars: int) -> None:
        """Show more of shortened texts, the most important first, where room is left.

        Args:
            chars: how much of a text is shown at most.
        """
        for candidate in ordered:
            shown = self.shown.get(candidate.key)
            if shown is None or not shown.is_shortened:
                continue
            line, cost = self.measure(candidate, chars)
            if self.used - shown.cost + cost <= self.room:
                self.used += cost - shown.cost
                self.shown[candidate.key] = replace(shown, line=line, cost=cost, is_shortened=_is_cut(candidate, chars))

    def remove(self, key: tuple[int, int]) -> None:
        """Take an item off the page again."""
        gone = self.shown.pop(key)
        self.used -= gone.cost
        self._headings[gone.group] -= 1
        if not self._headings[gone.group]:
            del self._headings[gone.group]
            self.used -= self._cost_of_heading(gone.group)

    def _cost_of_heading(self, group: str) -> int:
        if group not in self._heading_costs:
            self._heading_costs[group] = self.count(f"{group}\n")
        return self._heading_costs[group]

    def remove_last(self, ordered: Sequence[Candidate]) -> bool:
        """Take the least important item off the page, critical ones last; whether there was any."""
        on_page = [candidate for candidate in ordered if candidate.key in self.shown]
        if not on_page:
            return False
        last = next((one for one in reversed(on_page) if not one.is_critical), on_page[-1])
        self.remove(last.key)
        return True

    def measure(self, candidate: Candidate, chars: int) -> tuple[str, int]:
        """Return the line of an item and what it costs."""
        key = (*candidate.key, chars)
        known = self._lines.get(key)
        if known is None:
            line = line_of(candidate, chars, self.words)
            known = self._lines[key] = line, self.count(f"{line}\n")
        return known

    def text(self, ordered: Sequence[Candidate]) -> str:
        """Return the lines under their headings: critical ones first, then by section and rank.

        Args:
            ordered: every candidate, best first.
        """
        shown = [self.shown[candidate.key] for candidate in ordered if candidate.key in self.shown]
        groups: dict[str, list[Shown]] = {}
        for one in sorted(shown, key=_place_of):
            groups.setdefault(one.group, []).append(one)
        return "\n".join("\n".join((group, *(one.line for one in some))) for group, some in groups.items())


def _is_cut(candidate: Candidate, chars: int) -> bool:
    return len(candidate.text.strip()) > chars


def _place_of(shown: Shown) -> int:
    return -1 if shown.group == _CRITICAL_GROUP else SECTIONS.index(shown.candidate.section)


def line_of(candidate: Candidate, chars: int, words: Sequence[str] = ()) -> str:
    """Return the line of an item, its text on one line and no longer than so many characters."""
    head = f"{candidate.label} {candidate.head}".strip() if candidate.is_critical else candidate.head
    start = f"{candidate.ref} {shortened(head)}:" if head else candidate.ref
    return f"{start} {excerpt(candidate.text, words if candidate.relevance else (), chars)}"


def ranked(candidates: Sequence[Candidate], now: int) -> list[Candidate]:
    """Return candidates best first; of equals what changed last, then by kind and number, so that it is one order."""
    return sorted(candidates, key=lambda candidate: (-score(candidate, now), -candidate.changed_at, *candidate.key))


def fill(
    page: Page,
    ordered: Sequence[Candidate],
    shares: Mapping[str, float],
    *,
    has_query: bool,
    least_priority: int,
    max_packages: int,
) -> None:
    """Fill a page: what is critical, then each section's share, then what is left of the budget.

    What gets its section's share, or the first part of what is left, is shown at length; the others are many and short.
    An item that does not fit is skipped, not the end of the page.

    Args:
        ordered: candidates, best first.
        shares: the part of each section.
        least_priority: the lowest priority that is shown.
        max_packages: how many packages are shown, critical ones apart.
    """
    _fill_critical(page, [candidate for candidate in ordered if candidate.is_critical])
    others = [one for one in ordered if not one.is_critical and one.priority >= least_priority]
    packages = 0

    def take(candidate: Candidate, chars: int) -> int:
        nonlocal packages
        is_package = candidate.section == "packages"
        if candidate.key in page.shown or (is_package and packages >= max_packages):
            return 0
        took = page.add(candidate, chars)
        if took is None:
            return 0
        packages += is_package
        return took

    wanted = [candidate for candidate in others if is_wanted(candidate, has_query=has_query)]
    room = page.room - page.used
    for section in SECTIONS:
        left = shares[section] * room
        for candidate in wanted:
            # the last may exceed the share: a smaller one in its place would be a less important one
            if candidate.section == section and left > 0:
                left -= take(candidate, page.max_chars)
    # the rests flow on in the order of rank: to what answers the query, to whatever else has a claim, then to anything
    short = page.max_chars if page.short_chars is None else page.short_chars
    at_length = page.used + _AT_LENGTH * (page.room - page.used)
    for candidate in (*filter(is_answer, wanted), *wanted, *others):
        if page.room - page.used < _LEAST_COST:
            break
        take(candidate, page.max_chars if page.used < at_length else short)


def _fill_critical(page: Page, critical: Sequence[Candidate]) -> None:
    """Show the critical items, all as short as it takes to leave half of the budget to others."""
    if not critical:
        return
    sizes = [size for size in _CRITICAL_CHARS if size <= page.max_chars] or [_CRITICAL_CHARS[-1]]
    for size in sizes:
        if sum(page.measure(candidate, size)[1] for candidate in critical) <= _MAX_FOR_CRITICAL * page.room:
            break
    for candidate in critical:
        if page.add(candidate, size) is None:
            page.add(candidate, _CRITICAL_CHARS[-1])
