"""A page: lines under headings with their cost, filled until the budget is used."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

from satchel.base.grouping import grouped
from satchel.base.records import dataclass, field
from satchel.base.text import neutral
from satchel.base.vocabulary import SECTIONS
from satchel.brief.briefing.ranking import is_answer, is_wanted, score
from satchel.brief.briefing.records import Candidate
from satchel.brief.briefing.shortening import on_one_line, shortened
from satchel.brief.fields import cut_head

Count = Callable[[str], int]
"""Counts the tokens of a text."""

_CRITICAL_GROUP = "critical"
_LEAST_COST = 4
"""The tokens of the shortest line."""

_MAX_CHARS_PER_TOKEN = 8
"""A line longer than this per token of room left is not tried: prose has 4 to 5, paths and code fewer."""

_USUAL_CHARS_PER_TOKEN = 5
_CUTS_TRIED = 4

_LEAST_CHARS = 60
"""The least length of a shortened text, and never less than a sentence."""

_MAX_HEAD_CHARS = 200

_MAX_REPEATED_CHARS = 120
"""How much is shown of an item that the receiver has got before."""

_MAX_EXCESS = 0.1
"""How far an item may exceed its section's share, as a part of the room for all sections."""

_MAX_MISSES = 30
"""After so many items in a row that did not fit, the rest is left out: short items that still fit are not needed."""

_COST_OF_REF = 5
"""The tokens of one more id in the line on shortened items."""

_MAX_OPENED = 3
"""How many ids that line lists: each takes 5 tokens, and they precede the texts anyway."""

_WHOLE_PART, _LATE_CHARS = 0.7, 40
"""If items are not cut to fit, notes are whole on this part of the page, then one sentence or so many characters: of
LoCoMo's evidence 1,000 tokens then show .85, and .82 with whole notes; of the answers' words .64 and .65."""

_BY_TIME = frozenset({"attempts", "reviews"})
"""The sections in order of time."""


@dataclass(frozen=True, slots=True)
class PageItem:
    """One line of a page."""

    candidate: Candidate
    group: str
    line: str
    cost: int
    is_shortened: bool


@dataclass(slots=True)
class Page:
    """The lines shown so far and their cost.

    Attributes:
        room: the tokens for lines, headings and the line on shortened items.
        max_chars: how much of an item's text is shown; None is all.
        words: of the query; shortened texts are cut around them.
        most_of_one: the tokens above which an item that is not critical is shortened.
        most_of_note: the same for entries; None is ``most_of_one``.
        cuts_to_fit: whether items that do not fit whole are shortened.
    """

    count: Count
    room: int
    max_chars: int | None = None
    words: tuple[str, ...] = ()
    most_of_one: int | None = None
    most_of_note: int | None = None
    cuts_to_fit: bool = True
    items: dict[tuple[int, int], PageItem] = field(default_factory=dict)
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
        cuts: bool | None = None,
        chars: int | None = None,
    ) -> int | None:
        """Show an item if it fits; return its tokens, or None.

        ``at_most`` limits its tokens. ``cuts`` decides whether it may be shortened (None is the page's own rule).
        ``chars`` limits its text, but never to less than a sentence.
        """
        group = _CRITICAL_GROUP if candidate.is_critical else candidate.group
        heading = 0 if group in self._headings else self._cost_of_heading(group)
        room_left = self.room - self.used
        room_left = (room_left if at_most is None else min(room_left, at_most)) - heading
        may_cut = self.cuts_to_fit if cuts is None else cuts
        result = self._whole(candidate, room_left) if chars is None else self._brief(candidate, room_left, chars)
        if result is None and room_left - self._least_telling < _LEAST_COST:
            return None  # it would not fit shortened either
        most = self.most_of_note if candidate.section == "entries" and self.most_of_note else self.most_of_one
        if most is not None and not candidate.is_critical and not self._fits(candidate, most):
            may_cut, result, room_left = True, None, min(room_left, most)
        if result is None and may_cut and chars is None:
            result = self._cut(candidate, room_left)
        if result is None:
            return None
        before = self.used
        self._headings[group] = self._headings.get(group, 0) + 1
        self.items[candidate.key] = PageItem(candidate, group, *result)
        self.used += heading + result[1]
        self._count_opening()
        return self.used - before

    def grow(self, ordered: Iterable[Candidate]) -> None:
        """Show more of shortened texts, the most important first, if room is left."""
        for candidate in ordered:
            item, room_left = self.items.get(candidate.key), self.room - self.used
            if item is None or not item.is_shortened or room_left < _LEAST_COST:
                continue
            room_left += item.cost
            result = self._whole(candidate, room_left, is_counted=True) or self._cut(
                candidate, room_left, is_counted=True
            )
            if result is not None and result[1] > item.cost:
                self.items[candidate.key] = PageItem(candidate, item.group, *result)
                self.used += result[1] - item.cost
                self._count_opening()

    def remove(self, key: tuple[int, int]) -> None:
        item = self.items.pop(key)
        self.used -= item.cost
        self._headings[item.group] -= 1
        if not self._headings[item.group]:
            del self._headings[item.group]
            self.used -= self._cost_of_heading(item.group)
        self._count_opening()

    def _cost_of_heading(self, group: str) -> int:
        return self.count(f"{group}\n")

    def _count_opening(self) -> None:
        self._shortened = [one.candidate.ref for one in self.items.values() if one.is_shortened]
        before, self._opening = self._opening, self._opening_cost(self._shortened)
        self._least_telling = self._opening_cost([*self._shortened, ""]) - self._opening
        self.used += self._opening - before

    def _opening_cost(self, refs: Sequence[str]) -> int:
        return self.count(f"{opening_line(refs)}\n") if refs else 0

    def remove_last(self, ordered: Sequence[Candidate]) -> bool:
        """Remove the least important item, critical ones last; return whether there was one."""
        on_page = [candidate for candidate in ordered if candidate.key in self.items]
        if not on_page:
            return False
        last = next((one for one in reversed(on_page) if not one.is_critical), on_page[-1])
        self.remove(last.key)
        return True

    def least(self, candidate: Candidate) -> tuple[int, bool]:
        """Return the tokens of an item at its shortest, and whether its text is shortened in that line."""
        _, cost, is_cut = self._measure(candidate, _least_chars(candidate))
        return cost, is_cut

    def cost_of_shortening(self, candidate: Candidate) -> int:
        """Return the tokens for naming one more shortened item."""
        return self._opening_cost([*self._shortened, candidate.ref]) - self._opening

    def whole_cost(self, candidates: Sequence[Candidate]) -> int | None:
        """Return the tokens of items at the length that the zone allows; None if they exceed the page."""
        whole = 0
        for candidate in candidates:
            result = self._whole(candidate, self.room - whole)
            if result is None:
                return None
            whole += result[1]
        return whole

    def _fits(self, candidate: Candidate, tokens: int) -> bool:
        return self._whole(candidate, tokens) is not None

    def _whole(self, candidate: Candidate, tokens: int, *, is_counted: bool = False) -> tuple[str, int, bool] | None:
        """Return the line of an item at the length that the zone allows, if it fits so many tokens."""
        length = len(candidate.text) if self.max_chars is None else min(len(candidate.text), self.max_chars)
        if len(candidate.head) + length > _MAX_CHARS_PER_TOKEN * tokens:
            return None
        result = self._measure(candidate, self.max_chars)
        telling = self.cost_of_shortening(candidate) if result[2] and not is_counted else 0
        return result if result[1] + telling <= tokens else None

    def _brief(self, candidate: Candidate, tokens: int, chars: int) -> tuple[str, int, bool] | None:
        """Return the line of an item with so much of its text, if it fits so many tokens."""
        result = self._measure(candidate, chars if self.max_chars is None else min(chars, self.max_chars))
        return result if result[1] + (self.cost_of_shortening(candidate) if result[2] else 0) <= tokens else None

    def _cut(self, candidate: Candidate, tokens: int, *, is_counted: bool = False) -> tuple[str, int, bool] | None:
        """Return the line of an item with as much of its text as so many tokens hold."""
        tokens -= 0 if is_counted else self.cost_of_shortening(candidate)
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
            result = self._measure(candidate, chars)
            if result[1] <= tokens:
                return result
            # a little less than in proportion, so that the next one fits
            chars = chars * tokens * 9 // (result[1] * 10)
        return shortest

    def _measure(self, candidate: Candidate, chars: int | None) -> tuple[str, int, bool]:
        """Return the line of an item, its cost, and whether its text is shortened."""
        key = (*candidate.key, chars)
        result = self._lines.get(key)
        if result is None:
            line, is_cut = line_of(candidate, chars, self.words)
            result = self._lines[key] = line, self.count(f"{line}\n"), is_cut
        return result

    def text(self, ordered: Sequence[Candidate]) -> str:
        """Return the lines under their headings: critical ones first, then by section and rank, attempts by time."""
        items = [self.items[candidate.key] for candidate in ordered if candidate.key in self.items]
        groups = grouped((one.group, one) for one in sorted(items, key=_place_of))
        lines = [line for group, some in groups.items() for line in (neutral(group), *(one.line for one in some))]
        refs = [one.candidate.ref for some in groups.values() for one in some if one.is_shortened]
        return "\n".join([*lines, *([opening_line(refs)] if refs else [])])


def opening_line(refs: Sequence[str]) -> str:
    """Return the line that names shortened items and the call that opens them."""
    if len(refs) > _MAX_OPENED:
        return f'… shortened: get_items(["{refs[0]}", ...]) opens them by their ids'
    listed = json.dumps(list(refs), separators=(",", ":"))
    return f"… shortened: get_items({listed}) opens {'them' if len(refs) > 1 else 'it'}"


def _least_chars(candidate: Candidate) -> int:
    # a critical text keeps its end, so its shortest form is the last sentence
    return 0 if candidate.is_critical else _LEAST_CHARS


def _place_of(item: PageItem) -> tuple[int, int]:
    candidate = item.candidate
    if item.group == _CRITICAL_GROUP:
        return -2, 0
    if candidate.leads:
        return -1, 0
    return SECTIONS.index(candidate.section), candidate.changed_at if candidate.section in _BY_TIME else 0


def line_of(candidate: Candidate, chars: int | None, words: Sequence[str] = ()) -> tuple[str, bool]:
    """Return the line of an item, and whether its text is shortened.

    At most ``chars`` of the text are shown, but never less than a sentence. A critical item keeps its end.
    """
    if candidate.is_repeated:
        chars = _MAX_REPEATED_CHARS if chars is None else min(chars, _MAX_REPEATED_CHARS)
    head = f"{candidate.label} {candidate.head}".strip() if candidate.is_critical else candidate.head
    text = candidate.text.strip()
    start = f"{candidate.ref} {cut_head(on_one_line(head), _MAX_HEAD_CHARS)}:" if head else candidate.ref
    if not head and (": " in text or text.endswith(":")):
        start += ":"  # so that the text's own beginning is not taken for what stands before a text
    cut_text = shortened(text, chars, words if candidate.relevance else (), keeps_end=candidate.is_critical)
    is_cut = chars is not None and len(text) > chars and cut_text != on_one_line(text)
    # an item delivered whole before needs no hint on how to open it
    return neutral(f"{start} {cut_text}" if cut_text else start.removesuffix(":")), is_cut and not candidate.is_repeated


def ranked(candidates: Iterable[Candidate], now: int) -> list[Candidate]:
    """Return candidates best first, in one stable order."""
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
    """Fill a page with whole items: critical ones, then each section's share, then the rest of the budget.

    An item that does not fit is skipped. ``max_packages`` does not count critical ones.
    """
    _fill_critical(page, [candidate for candidate in ordered if candidate.is_critical])
    others = [one for one in ordered if not one.is_critical and one.priority >= least_priority]
    packages = 0

    def take(
        candidate: Candidate,
        at_most: int | None = None,
        *,
        cuts: bool | None = None,
        chars: int | None = None,
    ) -> int | None:
        """Return the tokens of an added item, 0 if it was not needed, None if it does not fit."""
        nonlocal packages
        is_package = candidate.section == "packages"
        if candidate.key in page.items:
            return 0
        if is_package and packages >= max_packages:
            return 0
        took = page.add(candidate, at_most, cuts=cuts, chars=chars)
        packages += is_package and took is not None
        return took

    wanted = [candidate for candidate in others if is_wanted(candidate, has_query=has_query)]
    of_section: dict[str, list[Candidate]] = {section: [] for section in SECTIONS}
    for candidate in wanted:
        of_section[candidate.section].append(candidate)
    room = page.room - page.used
    for section, some in of_section.items():
        room_left = shares[section] * room
        for candidate in some:
            if room_left <= 0:
                break
            # the last may exceed the share, rather than give way to a less important one
            room_left -= take(candidate, int(room_left + _MAX_EXCESS * room), cuts=False) or 0
    # the rest goes, in order of rank, to answers to the query, to other wanted items, then to any
    misses = 0
    tried: set[tuple[int, int]] = set()
    for candidate in chain(filter(is_answer, wanted), wanted, others):
        if candidate.key in tried:
            continue
        tried.add(candidate.key)
        if page.room - page.used < _LEAST_COST or misses == _MAX_MISSES:
            break
        is_late = not page.cuts_to_fit and page.used > _WHOLE_PART * page.room and candidate.section == "entries"
        took = take(candidate, chars=_LATE_CHARS if is_late else None)
        misses = misses + 1 if took is None else 0


def _fill_critical(page: Page, critical: Sequence[Candidate]) -> None:
    """Show the critical items whole, or the last of them as short as needed to show them all."""
    if not critical:
        return
    heading = page.count(f"{_CRITICAL_GROUP}\n")
    whole = page.whole_cost(critical)
    if whole is not None and whole + heading <= page.room:
        for candidate in critical:
            page.add(candidate)
        return
    least = [page.least(candidate) for candidate in critical]
    costs = [cost + _COST_OF_REF * is_cut for cost, is_cut in least]
    for place, (candidate, (cost, is_cut)) in enumerate(zip(critical, least, strict=True)):
        room_left = page.room - page.used - sum(costs[place + 1 :])
        shortest = cost + (0 if page.items else heading) + (page.cost_of_shortening(candidate) if is_cut else 0)
        page.add(candidate, max(room_left, shortest), cuts=True)
