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
    column = "moment" if by == "moment" else "agent_id"
    sums = transaction.all(
        f"""
        SELECT {column}, sum(tokens), sum(deliveries), sum(items) FROM delivery_days WHERE {_IN_DAYS}
        GROUP BY 1 ORDER BY 2 DESC, 1
        """,
        values,
    )
    apart = sums if len(sums) <= _MOST_NAMES else sums[: _MOST_NAMES - 1]
    places = {number: place for place, (number, *_) in enumerate(apart)}
    names = [Spent(_name(transaction, by, number), tokens, times) for number, tokens, times, _ in apart]
    if rest := sums[len(apart) :]:
        names.append(Spent(_OTHERS, sum(row[1] for row in rest), sum(row[2] for row in rest)))
    shown = f"CASE WHEN {column} IN ({', '.join(map(str, places)) or 'NULL'}) THEN {column} END"
    spent = {day: [0] * len(names) for day in range(today - days + 1, today + 1)}
    times_on = dict.fromkeys(spent, 0)
    for day, number, tokens, times in transaction.all(
        f"SELECT day, {shown}, sum(tokens), sum(deliveries) FROM delivery_days WHERE {_IN_DAYS} GROUP BY 1, 2", values
    ):
        spent[day][places.get(number, len(places))] += tokens
        times_on[day] += times
    in_sessions = transaction.one(
        """
        SELECT count(DISTINCT session_id), sum(tokens) FROM windows
        WHERE project_id = :project AND session_id <> 0 AND seen_at >= :began AND tokens > 0
        """,
        {"project": project_id, "began": (today - days + 1) * DAY_MS},
    )
    sessions, tokens = in_sessions or (0, None)
    return Spending(
        by=by,
        names=tuple(names),
        days=tuple(Day(day * DAY_MS, tuple(spent[day]), times_on[day]) for day in spent),
        tokens=sum(row[1] for row in sums),
        deliveries=sum(row[2] for row in sums),
        items=sum(row[3] for row in sums),
        sessions=sessions,
        per_session=round(tokens / sessions) if sessions else None,
    )


def _name(transaction: Transaction, by: str, number: int) -> str:
    if by == "moment":
        return MOMENTS[number - 1] if 0 < number <= len(MOMENTS) else _OTHERS
    row = transaction.one("SELECT name FROM agents WHERE id = :id", {"id": number}) if number else None
    return _NOBODY if row is None else str(row[0])
