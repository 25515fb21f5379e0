"""What memory is worth: the tokens put into windows."""

from __future__ import annotations

from satchel.base.clock import DAY_MS
from satchel.brief.room.memory_records import Day, Spending, Spent
from satchel.keep.deliveries import MOMENTS
from satchel.store.transaction import Transaction

MOST_DAYS = 90
_MOST_NAMES = 8
"""So many names are told apart: a plot has colours for no more."""

_NOBODY, _OTHERS = "nobody", "others"
_IN_DAYS = "project_id = :project AND day > :before AND day <= :today"


def spending(transaction: Transaction, project_id: int, now: int, days: int, by: str) -> Spending:
    """Return what was put into windows.

    Args:
        now: milliseconds UTC.
        days: how many, today among them.
        by: one of :data:`satchel.brief.room.memory_records.SPENT_BY`.
    """
    today = now // DAY_MS
    values: dict[str, object] = {"project": project_id, "today": today, "before": today - days}
    rows = transaction.all(
        f"""
        SELECT day, {"moment" if by == "moment" else "agent_id"}, sum(tokens), sum(deliveries), sum(items)
        FROM delivery_days WHERE {_IN_DAYS} GROUP BY 1, 2
        """,
        values,
    )
    sums: dict[int, int] = {}
    for _, number, tokens, *_ in rows:
        sums[number] = sums.get(number, 0) + tokens
    ordered = sorted(sums, key=lambda number: (-sums[number], number))
    apart = ordered if len(ordered) <= _MOST_NAMES else ordered[: _MOST_NAMES - 1]
    places = {number: place for place, number in enumerate(apart)}
    names = [_name(transaction, by, number) for number in apart] + [_OTHERS] * (len(apart) < len(ordered))
    of_name = [[0, 0] for _ in names]
    spent = {day: [0] * len(names) for day in range(today - days + 1, today + 1)}
    times_on = dict.fromkeys(spent, 0)
    for day, number, tokens, times, _ in rows:
        place = places.get(number, len(apart))
        spent[day][place] += tokens
        times_on[day] += times
        of_name[place][0] += tokens
        of_name[place][1] += times
    in_sessions = transaction.one(
        """
        SELECT count(DISTINCT session_id), sum(tokens) FROM windows
        WHERE project_id = :project AND session_id <> 0 AND seen_at >= :began AND tokens > 0
        """,
        {"project": project_id, "began": (today - days + 1) * DAY_MS},
    )
    sessions, in_them = in_sessions or (0, None)
    return Spending(
        by=by,
        names=tuple(Spent(name, *of_one) for name, of_one in zip(names, of_name, strict=True)),
        days=tuple(Day(day * DAY_MS, tuple(spent[day]), times_on[day]) for day in spent),
        tokens=sum(sums.values()),
        deliveries=sum(times_on.values()),
        items=sum(row[-1] for row in rows),
        sessions=sessions,
        per_session=round(in_them / sessions) if sessions else None,
    )


def _name(transaction: Transaction, by: str, number: int) -> str:
    if by == "moment":
        return MOMENTS[number - 1] if 0 < number <= len(MOMENTS) else _OTHERS
    row = transaction.one("SELECT name FROM agents WHERE id = :id", {"id": number}) if number else None
    return _NOBODY if row is None else str(row[0])
