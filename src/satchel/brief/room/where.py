"""The sessions of a project, and a timeline of the last 24 hours."""

from __future__ import annotations

from satchel.base.clock import DAY_MS
from satchel.brief.room import states
from satchel.brief.room.records import SessionDay, Span, Where
from satchel.keep.loop_scope import OF_LOOPS
from satchel.keep.sessions.team import MOST, find_team
from satchel.store.transaction import Transaction, set_of

QUARTER_MS = 15 * 60_000
"""The unit of the timeline: a day has 96 of them."""

_SOURCES = {
    "events": "",
    "file_changes": "",
    "context": f" AND t.{OF_LOOPS}",
}
"""The tables with times at work, with the condition of the index for a session."""


def find(transaction: Transaction, project_id: int, own_session: int | None, now: int) -> Where:
    """Return the sessions and their times at work."""
    ended = (now // QUARTER_MS + 1) * QUARTER_MS
    began = ended - DAY_MS
    team = find_team(transaction, project_id, own_session, now, states.find, is_all=False)
    return Where(team, _timeline(transaction, project_id, began, now), began, ended)


def _timeline(transaction: Transaction, project_id: int, began: int, now: int) -> tuple[SessionDay, ...]:
    sessions = transaction.all(
        f"""
        SELECT s.id, s.uid, a.name, s.client, s.created_at, s.seen_at
        FROM sessions s LEFT JOIN agents a ON a.id = COALESCE(s.agent_id, s.unnamed_id)
        WHERE s.project_id = :project AND s.seen_at >= :began ORDER BY s.seen_at DESC, s.id DESC LIMIT {MOST}
        """,
        {"project": project_id, "began": began},
    )
    active: dict[int, set[int]] = {
        number: {at // QUARTER_MS for at in (created, seen_at) if began <= at <= now}
        for number, *_, created, seen_at in sessions
    }
    if sessions:
        for number, at in transaction.all(_hops(list(active)), {"began": began, "now": now}):
            active[number].add(at // QUARTER_MS)
    return tuple(
        SessionDay(uid.hex(), agent, client, _spans(active[number])) for number, uid, agent, client, *_ in sessions
    )


def _hops(sessions: list[int]) -> str:
    """Return the statement that reads one time of each session in every quarter of an hour that has one.

    It skips from one such quarter to the next, so that the number of rows in a quarter does not matter.
    """

    def first(table: str, where: str, session: str, at: str, until: str = "") -> str:
        return (
            f"SELECT min(t.created_at) AS at FROM {table} t "
            f"WHERE t.session_id = {session}{where} AND t.created_at >= {at}{until}"
        )

    def following(session: str, at: str) -> str:
        until = f" AND t.created_at < {at} + {QUARTER_MS}"
        here = (f"({first(table, where, session, at, until)})" for table, where in _SOURCES.items())
        later = (f"{first(table, where, session, at)}" for table, where in _SOURCES.items())
        return f"COALESCE({', '.join(here)}, (SELECT min(at) FROM ({' UNION ALL '.join(later)}) AS later), :now + 1)"

    return f"""
        WITH RECURSIVE hops (session, at) AS (
            SELECT s.id, {following("s.id", ":began")} FROM sessions s WHERE s.id IN {set_of(sessions)}
            UNION ALL
            SELECT h.session, {following("h.session", f"(h.at / {QUARTER_MS} + 1) * {QUARTER_MS}")}
            FROM hops h WHERE h.at <= :now
        )
        SELECT session, at FROM hops WHERE at <= :now
    """


def _spans(quarters: set[int]) -> tuple[Span, ...]:
    spans: list[Span] = []
    for quarter in sorted(quarters):
        began = quarter * QUARTER_MS
        if spans and spans[-1].ended_at == began:
            began = spans.pop().began_at
        spans.append(Span(began, (quarter + 1) * QUARTER_MS))
    return tuple(spans)
