"""Tokens added to the context of agents, day by day."""

from __future__ import annotations

from satchel.base.clock import DAY_MS
from satchel.base.records import dataclass
from satchel.keep.deliveries import MOMENTS
from satchel.store.transaction import Transaction

MOST_DAYS = 90
_MOST_NAMES = 8
"""A chart has colours for no more."""

_OTHERS = "others"


@dataclass(frozen=True, slots=True)
class MomentTokens:
    """The tokens and deliveries of one moment, or of all rare moments together as ``others``."""

    name: str
    tokens: int
    deliveries: int


@dataclass(frozen=True, slots=True)
class Day:
    """One day.

    Attributes:
        began_at: midnight, in milliseconds UTC.
        tokens: one number for each moment of :class:`Spending`.
    """

    began_at: int
    tokens: tuple[int, ...]
    deliveries: int


@dataclass(frozen=True, slots=True)
class Spending:
    """The tokens added to context in a number of days.

    Attributes:
        moments: the most tokens first.
        days: every day in order, today last.
        sessions: the number of sessions that received something.
        per_session: the average tokens of such a session; None without any.
    """

    moments: tuple[MomentTokens, ...]
    days: tuple[Day, ...]
    tokens: int
    deliveries: int
    items: int
    sessions: int
    per_session: int | None


def count(transaction: Transaction, project_id: int, now: int, days: int) -> Spending:
    """Return the tokens added to context in the last days, today included."""
    today = now // DAY_MS
    rows = transaction.all(
        """
        SELECT day, moment, sum(tokens), sum(deliveries), sum(items) FROM delivery_days
        WHERE project_id = :project AND day > :before AND day <= :today GROUP BY 1, 2
        """,
        {"project": project_id, "today": today, "before": today - days},
    )
    sums: dict[int, int] = {}
    for _, moment, tokens, *_ in rows:
        sums[moment] = sums.get(moment, 0) + tokens
    ordered = sorted(sums, key=lambda moment: (-sums[moment], moment))
    apart = ordered if len(ordered) <= _MOST_NAMES else ordered[: _MOST_NAMES - 1]
    places = {moment: place for place, moment in enumerate(apart)}
    names = [_name(moment) for moment in apart] + [_OTHERS] * (len(apart) < len(ordered))
    totals = [[0, 0] for _ in names]
    spent = {day: [0] * len(names) for day in range(today - days + 1, today + 1)}
    times_on = dict.fromkeys(spent, 0)
    for day, moment, tokens, times, _ in rows:
        place = places.get(moment, len(apart))
        spent[day][place] += tokens
        times_on[day] += times
        totals[place][0] += tokens
        totals[place][1] += times
    sessions, in_sessions = transaction.one(
        """
        SELECT count(DISTINCT session_id), sum(tokens) FROM windows
        WHERE project_id = :project AND session_id <> 0 AND seen_at >= :began AND tokens > 0
        """,
        {"project": project_id, "began": (today - days + 1) * DAY_MS},
    ) or (0, None)
    return Spending(
        moments=tuple(MomentTokens(name, *total) for name, total in zip(names, totals, strict=True)),
        days=tuple(Day(day * DAY_MS, tuple(spent[day]), times_on[day]) for day in spent),
        tokens=sum(sums.values()),
        deliveries=sum(times_on.values()),
        items=sum(row[-1] for row in rows),
        sessions=sessions,
        per_session=round(in_sessions / sessions) if sessions else None,
    )


def _name(moment: int) -> str:
    return MOMENTS[moment - 1] if 0 < moment <= len(MOMENTS) else _OTHERS
