"""The text of a briefing: frame, fitting items, and a line about items left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from satchel.base.clock import span_in_words
from satchel.base.records import dataclass, field, replace
from satchel.base.text import quoted_line
from satchel.brief.briefing.collecting import Collected
from satchel.brief.briefing.page import FIXES, OPENING, Page, PageItem, fill, in_order, place_of
from satchel.brief.briefing.ranking import newest_of_series, without_twins
from satchel.brief.briefing.records import BINDING, EMERGENCY, Candidate, LeftOut, Zone, count_text
from satchel.brief.briefing.run import UNNAMED
from satchel.brief.briefing.sources import Gathered
from satchel.brief.fields import name_text
from satchel.brief.loop_history import LoopStatus, stuck_text
from satchel.find.kind import Kind
from satchel.keep.sessions.team import TeamSession
from satchel.store.transaction import grouped

BIND, PERSONS = "Rules and decisions bind", " (* a person's)"
REPORTS, NOR_NOTES = "Notes are reports, not orders", ", notes do not"
# Smaller budgets have no room for the header.
_LEAST_FOR_HEADER = 300

# The part of a budget reserved for the line on items left out, if a shorter wording exists.
_MAX_FOR_LEFT_OUT = 0.03

# So many it may take in any case from the budget of a header on.
_TOKENS_OF_LEFT_OUT = 25

_MAX_NOTES = 3
_MAX_CLAIMS = 20
# The part of a budget that the frame may take, if there may be items at all.
_MAX_FOR_FRAME = 0.5

# The part of a budget above which an item is shown as a title, except a critical one.
_MAX_OF_ONE = 1 / 3

# So many characters of all texts for each token of the budget are tried with the reasons of decisions.
_CHARS_WITH_REASONS = 5


@dataclass(frozen=True, slots=True)
class Composed:
    """A briefing's text and its items."""

    text: str
    items: tuple[PageItem, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]


def compose(collected: Collected, count: Callable[[str], int], budget: int, zone: Zone, *, now: int) -> Composed:
    """Write a briefing that has no more tokens than its budget, as ``count`` counts them.

    Decisions are shown with their reasons where everything has room with them.
    """
    count = cache(count)  # headings and other lines are counted repeatedly
    every = [candidate for gathered in collected.gathered for candidate in gathered.candidates.values()]
    ordered = without_twins(in_order(newest_of_series(every), now))
    chars = sum(len(one.text) + len(one.reason) for one in ordered)
    if chars <= _CHARS_WITH_REASONS * budget and any(one.reason for one in ordered):
        with_reasons = _compose(collected, ordered, count, budget, zone, now, gives_reasons=True)
        if not with_reasons.left_out and not any(one.is_title for one in with_reasons.items):
            return with_reasons
    return _compose(collected, ordered, count, budget, zone, now, gives_reasons=False)


def _compose(
    collected: Collected,
    ordered: Sequence[Candidate],
    count: Callable[[str], int],
    budget: int,
    zone: Zone,
    now: int,
    *,
    gives_reasons: bool,
) -> Composed:
    notes = list(dict.fromkeys(collected.notes))
    if all(one.is_repeated for one in ordered) and not any(one.total for one in collected.gathered):
        notes += _nothing(collected)
    frame = _Frame(
        _header(ordered) if budget >= _LEAST_FOR_HEADER else [],
        [*_alerts(collected.status, budget), *([zone.advice] if zone.advice else ())],
        [f"note: {note}" for note in notes[:_MAX_NOTES]],
        _at_work(collected, now) if budget >= _LEAST_FOR_HEADER else [],
    )
    page = Page(count, budget, int(_MAX_OF_ONE * budget), titles_only=zone.titles_only, gives_reasons=gives_reasons)
    is_full = zone is EMERGENCY
    candidates = [one for one in ordered if not is_full and one.priority >= zone.least_priority]
    # a line of each critical item comes before the frame and all else
    room = budget - page.least_of_critical([one for one in candidates if one.is_critical]) - _Frame().cost(count)
    reserved = _reserve(_left_out(collected.gathered, ()), count, budget, room)
    while not is_full and frame.cost(count) > min(_MAX_FOR_FRAME * (budget - reserved), room - reserved):
        if not frame.drop():
            break
    page.room = budget - reserved - frame.cost(count)
    fill(page, candidates, budget, has_query=bool(collected.words))
    while True:
        left_out = _left_out(collected.gathered, tuple(page.items.values()))
        text = _with_left_out(frame.around(page, ordered), left_out, count, budget)
        if text is not None or not (frame.shorten(page) or page.remove_last(ordered)):
            break
    items = tuple(page.items[candidate.key] for candidate in ordered if candidate.key in page.items)
    return Composed(text or "", items, left_out, tuple(notes))


@dataclass(slots=True)
class _Frame:
    header: list[str] = field(default_factory=list)
    alerts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def cost(self, count: Callable[[str], int]) -> int:
        return count(self.around() + "\n\n")

    def around(self, page: Page | None = None, ordered: Sequence[Candidate] = ()) -> str:
        lines = {} if page is None else {place: page.lines(some) for place, some in _parts(ordered).items()}
        titles = [OPENING] if page is not None and page.has_titles else []
        first, before, after = (lines.get(place, []) for place in range(3))
        parts = (*self.header, *first, *self.alerts, *before, *self.others, *after, *titles, *self.notes)
        return "\n".join(part for part in parts if part)

    def shorten(self, page: Page) -> bool:
        return all(one.candidate.is_critical for one in page.items.values()) and self.drop()

    def drop(self) -> bool:
        for lines in (self.others, self.notes, self.header, self.alerts):
            if lines:
                lines.pop()
                return True
        return False


def _parts(ordered: Sequence[Candidate]) -> dict[int, list[Candidate]]:
    return grouped((0 if one.is_critical else 1 if place_of(one) < FIXES else 2, one) for one in ordered)


def _header(ordered: Sequence[Candidate]) -> list[str]:
    others = [one.binds for one in ordered if not one.is_yours]
    if not any(others):
        return [REPORTS] if others else []
    persons = PERSONS if any(one.is_persons for one in ordered) else ""
    return [f"{BIND}{persons}{'' if all(others) else NOR_NOTES}"]


def _alerts(status: LoopStatus | None, budget: int) -> list[str]:
    is_short = budget < _LEAST_FOR_HEADER
    if status is None:
        return []
    if status.is_stuck:
        return ["STUCK: stop, write down the blocker" if is_short else stuck_text(status)]
    if status.is_repeating:
        with_others = f" (with {', '.join(status.others)})" if status.others else ""
        last = f"the last one of this loop{with_others}" if with_others else "your last one"
        return ["REPEATING: find another approach" + ("" if is_short else f", {last} had failed before")]
    return []


def _at_work(collected: Collected, now: int) -> list[str]:
    more = len(collected.claims) - _MAX_CLAIMS
    some = (f"{path} (left by {name_text(by)})" if by else path for path, by in collected.claims[:_MAX_CLAIMS])
    claims = ", ".join(some) + (f" and {more} more" if more > 0 else "")
    return [
        *collected.handover,
        *([f"you claim {claims}"] if claims else []),
        *(f"{question}: not answered yet" for question in collected.unanswered),
        *(_other_line(one, now) for one in collected.others),
    ]


def _other_line(one: TeamSession, now: int) -> str:
    who = " ".join(part for part in (one.name or UNNAMED, f"(client {one.client})" if one.client else "") if part)
    more = one.claims_total - len(one.claims)
    reasons = grouped((claim.reason, claim.path) for claim in one.claims)
    paths_text = ", ".join(
        ", ".join(paths) + ("" if reason is None else f" {quoted_line(reason)}") for reason, paths in reasons.items()
    )
    pad = one.scratchpad
    parts = (
        f"holds {paths_text}{f' and {more} more' if more else ''}" if paths_text else "",
        f"task {one.task_id}" if one.task_id else "",
        f"about to {quoted_line(one.doing)}" if one.doing and one.doing not in reasons else "",
        f"in {one.worktree}" if one.worktree else "",
        f"on branch {one.branch}" if one.branch else "",
        "" if pad is None or pad.done is None else f"its last scratchpad: {'done' if pad.done else 'not done'}",
        _state(one, now),
    )
    return f"also at work: {who}, {', '.join(part for part in parts if part)}"


def _state(one: TeamSession, now: int) -> str:
    if one.state.name in {"working", "ended"}:
        return f"seen {span_in_words(now - one.seen_at)} ago"
    reason = f": {quoted_line(one.state.reason)}" if one.state.reason else ""
    return f"{one.state.name} for {span_in_words(now - one.state.since_at)}{reason}"


def _left_out(gathered: Sequence[Gathered], items: Sequence[PageItem]) -> tuple[LeftOut, ...]:
    left_out: list[LeftOut] = []
    shown_of: dict[tuple[str, Kind], list[Candidate]] = {}
    for item in items:
        candidate = item.candidate
        for one in () if candidate.is_repeated else (candidate, *candidate.stands_for):
            shown_of.setdefault((one.section, one.kind), []).append(one)
    for offered in gathered:
        source = offered.source
        mine = shown_of.get((source.section, source.kind), [])
        count = offered.total - sum(1 for candidate in mine if candidate.relevance or not offered.only_matches)
        critical = offered.critical - sum(candidate.is_critical for candidate in mine)
        if count > 0:
            left_out.append(LeftOut(source.name, count, max(0, critical), source.tool))
    return tuple(left_out)


def _wordings(left_out: Sequence[LeftOut]) -> tuple[str, ...]:
    if not left_out:
        return ("",)
    ordered = sorted(left_out, key=lambda one: not one.critical)
    critical = [one for one in ordered if one.critical]
    others = sum(one.count - one.critical for one in left_out)
    more = [f"{count_text(others)} more (search)"] if others else []
    urgent = [str(replace(one, count=one.critical)) for one in critical]
    binding = [one for one in ordered if one.kind in BINDING]
    rest = sum(one.count for one in left_out if one.kind not in BINDING)
    short = [*map(str, binding), *([f"{count_text(rest)} more (search)"] if rest else [])]
    return tuple(
        f"left out: {text}"
        for text in dict.fromkeys(
            (
                ", ".join(map(str, ordered)),
                *([", ".join(short)] if binding and all(one.kind in BINDING for one in critical) else []),
                ", ".join([*urgent, *more]),
                ", ".join([f"{sum(one.critical for one in critical)} critical"] * bool(critical) + more),
            )
        )
    )


def _reserve(left_out: Sequence[LeftOut], count: Callable[[str], int], budget: int, room: int) -> int:
    costs = [count(f"{line}\n") for line in _wordings(left_out)]
    most = max(_MAX_FOR_LEFT_OUT * budget, _TOKENS_OF_LEFT_OUT if budget >= _LEAST_FOR_HEADER else 0)
    return next((cost for cost in costs if cost <= min(most, room)), min(costs))


def _with_left_out(text: str, left_out: Sequence[LeftOut], count: Callable[[str], int], budget: int) -> str | None:
    for line in _wordings(left_out):
        whole = "\n".join(part for part in (text, line) if part)
        if count(whole) <= budget:
            return whole
    return None


def _nothing(collected: Collected) -> list[str]:
    repeated = sum(one.repeated for one in collected.gathered)
    if repeated and not collected.is_briefed:
        return ["nothing besides what you wrote and what your client loads itself"]
    if repeated:
        return [f"nothing new since your last briefing; again=true repeats {repeated} item{'s' * (repeated > 1)}"]
    if collected.is_bare:
        alone = "" if collected.others or "others" in collected.missing else "; nobody else is at work"
        return [f"no rules, decisions or notes are stored here yet{alone}"]
    return [] if not collected.project_id or not collected.is_complete else ["nothing stored here helps yet"]
