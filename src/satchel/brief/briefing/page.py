"""The page: lines under headings, with what each costs, filled until the budget is used."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from satchel.base.grouping import grouped
from satchel.base.records import dataclass, field
from satchel.base.text import neutral
from satchel.base.vocabulary import SECTIONS
from satchel.brief.briefing.ranking import is_answer, is_wanted, score
from satchel.brief.briefing.records import Candidate
from satchel.brief.briefing.shortening import on_one_line, shortened

Count = Callable[[str], int]
"""Counts the tokens of a text."""

_CRITICAL_GROUP = "critical"
_LEAST_COST = 4
"""The tokens of the shortest line."""

_MAX_CHARS_PER_TOKEN = 8
"""A line that is longer than this for each token of room left is not tried: prose has 4 to 5, paths and code fewer."""

_USUAL_CHARS_PER_TOKEN = 5
_CUTS_TRIED = 4

_LEAST_CHARS = 60
"""No text is shortened to less, nor to less than a sentence."""

_MAX_HEAD_CHARS = 200

_MAX_REPEATED_CHARS = 120
"""So much is shown of what the receiver has got before."""

_MAX_EXCESS = 0.1
"""By how much of what the sections leave an item may exceed what is left of its section's share."""

_MAX_MISSES = 30
"""After so many items in a row that did not fit the rest is left out: what still fits would be short and not needed."""

_COST_OF_REF = 5
"""The tokens of one more id in the line about what is shortened."""

_MAX_OPENED = 3
"""Of more the ids, which stand before the texts, are not said again: each takes 5 tokens."""

_WHOLE_PART, _LATE_CHARS = 0.7, 40
"""Where no item is cut to fit, notes are whole on so much of the page and then one sentence or so many characters: of
LoCoMo's evidence 1,000 tokens show .85 so, and .82 all whole; of the answers' words they hold .64 and .65."""

_BY_TIME = frozenset({"attempts", "reviews"})
"""The sections whose items stand in order of time."""


PLACES = ("critical", "share", "answer", "wanted", "room")
"""How an item gets onto a page: as critical, in its section's share, and in what the shares leave: since it answers the
query, has a claim to a share, or fits."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One line of a page.

    Attributes:
        place: one of :data:`PLACES`.
    """

    candidate: Candidate
    group: str
    line: str
    cost: int
    is_shortened: bool
    place: str


@dataclass(slots=True)
class Page:
    """What is shown so far, and what it costs.

    Attributes:
        room: the tokens that lines, headings and the line about what is shortened may take.
        max_chars: how much of an item's text is shown; None is all.
        words: those of the query, which a shortened text is cut around.
        most_of_one: the tokens that an item may take which is not critical; a longer one is shortened.
        most_of_note: the same for entries; None is ``most_of_one``.
        cuts_to_fit: whether any item is shortened that does not fit whole.
        passed: why items that were tried are not shown, by their keys: for want of room, or as one package too many.
    """

    count: Count
    room: int
    max_chars: int | None = None
    words: tuple[str, ...] = ()
    most_of_one: int | None = None
    most_of_note: int | None = None
    cuts_to_fit: bool = True
    shown: dict[tuple[int, int], Shown] = field(default_factory=dict)
    passed: dict[tuple[int, int], str] = field(default_factory=dict)
    used: int = 0
    _lines: dict[tuple[int, int, int | None], tuple[str, int, bool]] = field(default_factory=dict)
    _headings: dict[str, int] = field(default_factory=dict)
    _opening: int = 0
    _shortened: list[str] = field(default_factory=list)
    _least_telling: int = 0

    def add(
        self,
        candidate: Candidate,
        at_most: int | None = None,
        *,
        place: str = "room",
        cuts: bool | None = None,
        chars: int | None = None,
    ) -> int | None:
        """Show an item if it fits.

        Args:
            at_most: the tokens that it may take; None is all that are left.
            place: one of :data:`PLACES`.
            cuts: whether it is shortened where it does not fit whole; None is the page's own rule.
            chars: how much of its text is shown, but never less than a sentence; None is what fits.

        Returns:
            What it took, or None where it does not fit.
        """
        group = _CRITICAL_GROUP if candidate.is_critical else candidate.group
        heading = 0 if group in self._headings else self._cost_of_heading(group)
        left = self.room - self.used
        left = (left if at_most is None else min(left, at_most)) - heading
        may_cut = self.cuts_to_fit if cuts is None else cuts
        found = self._whole(candidate, left) if chars is None else self._brief(candidate, left, chars)
        if found is None and left - self._least_telling < _LEAST_COST:
            self.passed[candidate.key] = "room"  # not even cut: no line need be made of it
            return None
        most = self.most_of_note if candidate.section == "entries" and self.most_of_note else self.most_of_one
        if most is not None and not candidate.is_critical and not self._fits(candidate, most):
            may_cut, found, left = True, None, min(left, most)
        if found is None and may_cut and chars is None:
            found = self._cut(candidate, left)
        if found is None:
            self.passed[candidate.key] = "room"
            return None
        before = self.used
        self._headings[group] = self._headings.get(group, 0) + 1
        self.shown[candidate.key] = Shown(candidate, group, *found, place)
        self.used += heading + found[1]
        self._count_opening()
        return self.used - before

    def grow(self, ordered: Iterable[Candidate]) -> None:
        """Show more of shortened texts, the most important first, where room is left."""
        for candidate in ordered:
            shown, left = self.shown.get(candidate.key), self.room - self.used
            if shown is None or not shown.is_shortened or left < _LEAST_COST:
                continue
            left += shown.cost
            found = self._whole(candidate, left, is_told=True) or self._cut(candidate, left, is_told=True)
            if found is not None and found[1] > shown.cost:
                self.shown[candidate.key] = Shown(candidate, shown.group, *found, shown.place)
                self.used += found[1] - shown.cost
                self._count_opening()

    def remove(self, key: tuple[int, int]) -> None:
        """Take an item off the page again."""
        gone = self.shown.pop(key)
        self.used -= gone.cost
        self._headings[gone.group] -= 1
        if not self._headings[gone.group]:
            del self._headings[gone.group]
            self.used -= self._cost_of_heading(gone.group)
        self._count_opening()

    def _cost_of_heading(self, group: str) -> int:
        return self.count(f"{group}\n")

    def _count_opening(self) -> None:
        self._shortened = [one.candidate.ref for one in self.shown.values() if one.is_shortened]
        before, self._opening = self._opening, self._cost_of_opening(self._shortened)
        self._least_telling = self._cost_of_opening([*self._shortened, ""]) - self._opening
        self.used += self._opening - before

    def _cost_of_opening(self, refs: Sequence[str]) -> int:
        return self.count(f"{opening_line(refs)}\n") if refs else 0

    def remove_last(self, ordered: Sequence[Candidate]) -> bool:
        """Take the least important item off the page, critical ones last; whether there was any."""
        on_page = [candidate for candidate in ordered if candidate.key in self.shown]
        if not on_page:
            return False
        last = next((one for one in reversed(on_page) if not one.is_critical), on_page[-1])
        self.remove(last.key)
        self.passed[last.key] = "room"
        return True

    def least(self, candidate: Candidate) -> tuple[int, bool]:
        """Return what the line of an item takes at its shortest, and whether its text is shortened in it."""
        _, cost, is_cut = self._measure(candidate, _least_chars(candidate))
        return cost, is_cut

    def cost_of_telling(self, candidate: Candidate) -> int:
        """Return what it takes to say that one more item is shortened."""
        return self._cost_of_opening([*self._shortened, candidate.ref]) - self._opening

    def whole_cost(self, candidates: Sequence[Candidate]) -> int | None:
        """Return what items take together at the length that the zone allows; None where it is more than all room."""
        whole = 0
        for candidate in candidates:
            found = self._whole(candidate, self.room - whole)
            if found is None:
                return None
            whole += found[1]
        return whole

    def _fits(self, candidate: Candidate, tokens: int) -> bool:
        return self._whole(candidate, tokens) is not None

    def _whole(self, candidate: Candidate, tokens: int, *, is_told: bool = False) -> tuple[str, int, bool] | None:
        """Return the line of an item at the length that the zone allows, if it takes no more than so many tokens.

        Args:
            is_told: whether it counts already among what is shortened.
        """
        length = len(candidate.text) if self.max_chars is None else min(len(candidate.text), self.max_chars)
        if len(candidate.head) + length > _MAX_CHARS_PER_TOKEN * tokens:
            return None
        found = self._measure(candidate, self.max_chars)
        telling = self.cost_of_telling(candidate) if found[2] and not is_told else 0
        return found if found[1] + telling <= tokens else None

    def _brief(self, candidate: Candidate, tokens: int, chars: int) -> tuple[str, int, bool] | None:
        """Return the line of an item with so much of its text, if it takes no more than so many tokens."""
        found = self._measure(candidate, chars if self.max_chars is None else min(chars, self.max_chars))
        return found if found[1] + (self.cost_of_telling(candidate) if found[2] else 0) <= tokens else None

    def _cut(self, candidate: Candidate, tokens: int, *, is_told: bool = False) -> tuple[str, int, bool] | None:
        """Return the line of an item with as much of its text as so many tokens hold.

        Args:
            is_told: whether it counts already among what is shortened.
        """
        tokens -= 0 if is_told else self.cost_of_telling(candidate)
        if tokens < _LEAST_COST:
            return None
        chars, least = _USUAL_CHARS_PER_TOKEN * tokens, _least_chars(candidate)
        shortest = self._measure(candidate, least)
        if shortest[1] > tokens:
            return None
        for _ in range(_CUTS_TRIED):
            chars = chars if self.max_chars is None else min(chars, self.max_chars)
            if chars <= least:
                break
            found = self._measure(candidate, chars)
            if found[1] <= tokens:
                return found
            # a little less than would be in proportion, so that the next one fits
            chars = chars * tokens * 9 // (found[1] * 10)
        return shortest

    def _measure(self, candidate: Candidate, chars: int | None) -> tuple[str, int, bool]:
        """Return the line of an item, what it costs, and whether its text is shortened in it."""
        key = (*candidate.key, chars)
        known = self._lines.get(key)
        if known is None:
            line, is_cut = line_of(candidate, chars, self.words)
            known = self._lines[key] = line, self.count(f"{line}\n"), is_cut
        return known

    def text(self, ordered: Sequence[Candidate]) -> str:
        """Return the lines under their headings: critical ones first, then by section and rank, attempts by time.

        Args:
            ordered: every candidate, best first.
        """
        shown = [self.shown[candidate.key] for candidate in ordered if candidate.key in self.shown]
        groups = grouped((one.group, one) for one in sorted(shown, key=_place_of))
        lines = [line for group, some in groups.items() for line in (neutral(group), *(one.line for one in some))]
        refs = [one.candidate.ref for some in groups.values() for one in some if one.is_shortened]
        return "\n".join([*lines, *([opening_line(refs)] if refs else [])])


def opening_line(refs: Sequence[str]) -> str:
    """Say which items are shortened, and the call that opens them."""
    if len(refs) > _MAX_OPENED:
        return f'… shortened: get_items(["{refs[0]}", ...]) opens them by their ids'
    listed = json.dumps(list(refs), separators=(",", ":"))
    return f"… shortened: get_items({listed}) opens {'them' if len(refs) > 1 else 'it'}"


def _least_chars(candidate: Candidate) -> int:
    # the shortest of what keeps its end is its last sentence, however short the whole is
    return 0 if candidate.is_critical else _LEAST_CHARS


def _place_of(shown: Shown) -> tuple[int, int]:
    candidate = shown.candidate
    if shown.group == _CRITICAL_GROUP:
        return -2, 0
    if candidate.leads:
        return -1, 0
    return SECTIONS.index(candidate.section), candidate.changed_at if candidate.section in _BY_TIME else 0


def line_of(candidate: Candidate, chars: int | None, words: Sequence[str] = ()) -> tuple[str, bool]:
    """Return the line of an item, and whether its text is shortened in it.

    A critical item never loses its end.

    Args:
        chars: how much of its text is shown, but never less than a sentence; None is all.
        words: those of the query.
    """
    if candidate.is_repeated:
        chars = _MAX_REPEATED_CHARS if chars is None else min(chars, _MAX_REPEATED_CHARS)
    head = f"{candidate.label} {candidate.head}".strip() if candidate.is_critical else candidate.head
    start = f"{candidate.ref} {shortened(head, _MAX_HEAD_CHARS)}:" if head else candidate.ref
    text = candidate.text.strip()
    said = shortened(text, chars, words if candidate.relevance else (), keeps_end=candidate.is_critical)
    is_cut = chars is not None and len(text) > chars and said != on_one_line(text)
    # what was delivered whole before needs no word on how to open it
    return neutral(f"{start} {said}" if said else start.removesuffix(":")), is_cut and not candidate.is_repeated


def ranked(candidates: Iterable[Candidate], now: int) -> list[Candidate]:
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
    """Fill a page with whole items: what is critical, then each section's share, then what is left of the budget.

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

    def take(
        candidate: Candidate,
        place: str,
        at_most: int | None = None,
        *,
        cuts: bool | None = None,
        chars: int | None = None,
    ) -> int | None:
        """Return what it took, 0 where it is not wanted, and None where it does not fit."""
        nonlocal packages
        is_package = candidate.section == "packages"
        if candidate.key in page.shown:
            return 0
        if is_package and packages >= max_packages:
            page.passed[candidate.key] = "packages"
            return 0
        took = page.add(candidate, at_most, place=place, cuts=cuts, chars=chars)
        packages += is_package and took is not None
        return took

    wanted = [candidate for candidate in others if is_wanted(candidate, has_query=has_query)]
    of_section: dict[str, list[Candidate]] = {section: [] for section in SECTIONS}
    for candidate in wanted:
        of_section[candidate.section].append(candidate)
    room = page.room - page.used
    for section, some in of_section.items():
        left = shares[section] * room
        for candidate in some:
            if left <= 0:
                break
            # the last may exceed the share: a smaller one in its place would be a less important one
            left -= take(candidate, "share", int(left + _MAX_EXCESS * room), cuts=False) or 0
    # the rests flow on in the order of rank: to what answers the query, to whatever else has a claim, then to anything
    misses = 0
    tried: set[tuple[int, int]] = set()
    rests = (("answer", filter(is_answer, wanted)), ("wanted", wanted), ("room", others))
    for place, candidate in ((place, candidate) for place, some in rests for candidate in some):
        if candidate.key in tried:
            continue
        tried.add(candidate.key)
        if page.room - page.used < _LEAST_COST or misses == _MAX_MISSES:
            break
        is_late = not page.cuts_to_fit and page.used > _WHOLE_PART * page.room and candidate.section == "entries"
        took = take(candidate, place, chars=_LATE_CHARS if is_late else None)
        misses = misses + 1 if took is None else 0


def _fill_critical(page: Page, critical: Sequence[Candidate]) -> None:
    """Show the critical items whole, or the last of them as short as it takes to show them all."""
    if not critical:
        return
    heading = page.count(f"{_CRITICAL_GROUP}\n")
    whole = page.whole_cost(critical)
    if whole is not None and whole + heading <= page.room:
        for candidate in critical:
            page.add(candidate, place="critical")
        return
    least = [page.least(candidate) for candidate in critical]
    costs = [cost + _COST_OF_REF * is_cut for cost, is_cut in least]
    for place, (candidate, (cost, is_cut)) in enumerate(zip(critical, least, strict=True)):
        left = page.room - page.used - sum(costs[place + 1 :])
        shortest = cost + (0 if page.shown else heading) + (page.cost_of_telling(candidate) if is_cut else 0)
        page.add(candidate, max(left, shortest), place="critical", cuts=True)
