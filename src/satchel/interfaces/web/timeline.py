"""The timeline of agents: coordinates in per cent, so that shapes keep their form at any width."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from satchel.base.clock import span_in_words
from satchel.base.records import NamedTuple, replace
from satchel.brief.room.records import ClaimBar, Mark, SessionDay, Where
from satchel.interfaces.web.rendering import clock
from satchel.interfaces.web.rows import in_order
from satchel.keep.names import shown_name
from satchel.keep.sessions.caller import SEEN_MS
from satchel.keep.sessions.team import TeamSession

_MINUTE_MS, _HOUR_MS = 60_000, 3_600_000
HOURS, _HOURS = (1, 8, 24), 8
_LEAST_MS = 5 * _MINUTE_MS
_MOST_LANES, _MOST_CLAIM_LANES = 12, 8
# Marks of one kind that would cover each other are one, in per cent of the width.
_APART, _BESIDE = 2, 1.2
_TICK_MINUTES, _MOST_TICKS = (1, 5, 10, 30, 60, 180), 9


class Bar(NamedTuple):
    """A time in one state, or of a claim; ``x`` and ``width`` in per cent."""

    state: str
    x: float
    width: float
    began_at: int
    ended_at: int
    title: str


class Point(NamedTuple):
    """A mark at ``x`` per cent, with the path of what it links to, if any."""

    kind: str
    x: float
    at: int
    title: str
    ref: str | None


class Lane(NamedTuple):
    """A row of a timeline, with the session that its name links to."""

    name: str
    session: str | None
    label: str
    bars: tuple[Bar, ...]
    points: tuple[Point, ...]
    is_path: bool = False


class Timeline(NamedTuple):
    """Lanes, and the times of the lines between them, each with its ``x``.

    Attributes:
        hours: the zoom; None if it begins with the first event.
        span: the time that is drawn, in words.
    """

    hours: int | None
    span: str
    lanes: tuple[Lane, ...]
    ticks: tuple[tuple[float, int], ...]


def chosen_hours(values: Mapping[str, str]) -> int | None:
    """Return the number of hours in the address of a page, None without one."""
    text = values.get("hours", "")
    return int(text) if text in map(str, HOURS) else None


def of_team(where: Where, hours: int | None) -> Timeline:
    """Return a lane for each session, in the order of the table."""
    sessions = {one.uid: one for one in in_order(where.team.sessions)}
    days = {day.uid: day for day in where.timeline}
    drawn = [days[uid] for uid in sessions if uid in days][:_MOST_LANES]
    window = _Window(where.team.asked_at, hours, drawn)
    lanes = (_lane(window, day, sessions[day.uid], "", window.points(day.marks)) for day in drawn)
    return window.timeline(one for one in lanes if one.bars or one.points)


def of_session(where: Where, session: TeamSession, hours: int | None) -> Timeline:
    """Return lanes for the state of a session, what it did, and its claims."""
    day = next((day for day in where.timeline if day.uid == session.uid), None)
    window = _Window(where.team.asked_at, hours, () if day is None else (day,))
    if day is None:
        return window.timeline(())
    lanes = [_lane(window, day, session, "Session", ())]
    lanes.append(Lane("Events", None, f"{len(day.marks)} events", (), window.points(day.marks)))
    for path in list(dict.fromkeys(one.path for one in day.claims))[:_MOST_CLAIM_LANES]:
        bars = window.claims(one for one in day.claims if one.path == path)
        if bars:
            lanes.append(Lane(path, None, f"Claims of {path}", bars, (), is_path=True))
    return window.timeline(lanes)


class _Window:
    """The time that is drawn: the hours that were chosen, else from the first event, but at most 8 hours."""

    def __init__(self, now: int, hours: int | None, days: Iterable[SessionDay]) -> None:
        self.now = now
        self.hours: int | None = hours or _HOURS
        self.began = now - (hours or _HOURS) * _HOUR_MS
        first = min([now - _LEAST_MS, *(at for day in days for at in _starts(day))])
        if hours is None and first > self.began:
            self.hours, self.began = None, first

    def timeline(self, lanes: Iterable[Lane]) -> Timeline:
        return Timeline(self.hours, span_in_words(self.now - self.began), tuple(lanes), self.ticks())

    def x(self, at: int) -> float:
        return round((max(at, self.began) - self.began) * 100 / (self.now - self.began), 2)

    def bar(self, state: str, began: int, ended: int, title: str) -> Bar:
        ended = min(ended, self.now)
        x = self.x(began)
        return Bar(state, x, round(max(self.x(ended) - x, 0.2), 2), began, ended, title)

    def points(self, marks: Iterable[Mark]) -> tuple[Point, ...]:
        first: dict[str, Mark] = {}
        apart: dict[tuple[str, int], Mark] = {}
        for one in marks:
            if one.at < self.began:
                continue
            last = first.get(one.kind)
            if last is None or self.x(one.at) - self.x(last.at) >= _APART:
                first[one.kind] = apart[one.kind, one.at] = one
            else:
                key = last.kind, last.at
                apart[key] = replace(apart[key], count=apart[key].count + one.count)
        points: list[Point] = []
        most = 100.0
        for one in reversed(apart.values()):
            # those of other kinds stand beside each other, the earlier ones to the left
            x = min(self.x(one.at), most)
            most = x - _BESIDE
            text = f"{one.count} × {one.text}" if one.count > 1 else one.text
            points.insert(0, Point(one.kind, round(max(x, 0), 2), one.at, text, one.ref))
        return tuple(points)

    def claims(self, bars: Iterable[ClaimBar]) -> tuple[Bar, ...]:
        ends = ((one, self.now if one.ended_at is None else one.ended_at) for one in bars)
        return tuple(
            self.bar("claim", one.began_at, ended, f"Claim, {one.end}") for one, ended in ends if ended > self.began
        )

    def ticks(self) -> tuple[tuple[float, int], ...]:
        steps = (minutes * _MINUTE_MS for minutes in _TICK_MINUTES)
        step = next(one for one in steps if self.now - self.began <= one * _MOST_TICKS)
        first = -(-self.began // step) * step
        return tuple((self.x(at), at) for at in range(first, self.now - step // 4, step))


def _starts(day: SessionDay) -> Iterable[int]:
    yield from (one.began_at for one in day.spans)
    yield from (one.began_at for one in day.claims)
    yield from (one.at for one in day.marks)


def _lane(window: _Window, day: SessionDay, session: TeamSession, name: str, points: tuple[Point, ...]) -> Lane:
    state, is_gone = session.state, session.gone
    end = min(session.seen_at, window.now) if is_gone else window.now
    # a state that began in the time at work replaces the rest of it
    until = min(state.since_at, end) if state.name in ("stuck", "waiting") else end
    times = [("working", one.began_at, one.ended_at) for one in day.spans]
    if times and not is_gone and day.idle_at is None and window.now - session.seen_at < SEEN_MS:
        times[-1] = (*times[-1][:2], window.now)
    times = sorted([*times, *(("idle", one.began_at, one.ended_at) for one in day.idle)], key=lambda one: one[1:])
    if day.idle_at is not None:
        times.append(("idle", day.idle_at, until))
    times = [(name, max(began, window.began), min(ended, until)) for name, began, ended in times]
    if until < end:
        times.append((state.name, max(until, window.began), end))
    bars = [window.bar(name, began, ended, name.capitalize()) for name, began, ended in times if began <= ended]
    if any(one.ended_at < began for one, began in zip(bars, [*(bar.began_at for bar in bars[1:]), end], strict=False)):
        # one line below the others
        bars.insert(0, window.bar("silent", bars[0].began_at, end, "Silent, where no other state is drawn"))
    agent = shown_name(session.name) if session.name else session.client or "no name yet"
    label = f"{agent}: {state.name} since {clock(state.since_at)} UTC"
    return Lane(name or agent, None if name else session.uid, label, tuple(bars), points)
