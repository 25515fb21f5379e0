"""The sessions of a project, and a timeline of the last 24 hours: times at work, marks, and bars of claims."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from satchel.base.clock import DAY_MS
from satchel.base.records import replace
from satchel.base.text import shortened
from satchel.brief.room import states
from satchel.brief.room.looking import LINE_CHARS, Look, newest, once_a_minute, value_text
from satchel.brief.room.records import ClaimBar, Mark, SessionDay, Span, Where
from satchel.find.kind import Kind
from satchel.keep import events
from satchel.keep.loop_scope import OF_LOOPS
from satchel.keep.sessions.team import MOST, find_team
from satchel.store.transaction import Transaction, grouped, set_of

# The unit of the timeline: a day has 96 of them.
QUARTER_MS = 15 * 60_000

# The tables with times at work, with the condition of the index for a session.
_SOURCES = {
    "events": "",
    "file_changes": "",
    "context": f" AND t.{OF_LOOPS}",
}


def find(look: Look, own_session: int | None) -> Where:
    """Return the sessions and their times at work."""
    ended = (look.now // QUARTER_MS + 1) * QUARTER_MS
    began = ended - DAY_MS
    team = find_team(
        look.transaction, look.project_id, own_session, look.now, states.find, is_all=False, ended_since=began
    )
    return Where(team, _timeline(look, began), began, ended)


@once_a_minute
def _timeline(look: Look, began: int) -> tuple[SessionDay, ...]:
    transaction, project_id, now = look.transaction, look.project_id, look.now
    sessions = transaction.all(
        f"""
        SELECT s.id, s.uid, a.name, s.client, s.created_at, s.seen_at, s.turn_ended_at, s.ended_at
        FROM sessions s LEFT JOIN agents a ON a.id = COALESCE(s.agent_id, s.unnamed_id)
        WHERE s.project_id = :project AND s.seen_at >= :began ORDER BY s.seen_at DESC, s.id DESC LIMIT {MOST}
        """,
        {"project": project_id, "began": began},
    )
    numbers = [row[0] for row in sessions]
    values = {"began": began, "now": now}
    acts: dict[int, list[int]] = grouped(transaction.all(_hops(numbers), values)) if sessions else {}
    drawn, claims = _drawn(transaction, {"project": project_id, **values}, numbers)
    marks = grouped((session, mark) for session, mark in [*drawn, *_marks(transaction, project_id, began)])
    bars = grouped(claims)
    edited = transaction.all(_LAST_EDITS.format(sessions=set_of(numbers))) if sessions else []
    edits = grouped((number, (path, at)) for number, path, at in edited)
    noted = transaction.all(_NOTED.format(sessions=set_of(numbers)), values) if sessions else []
    details = [(number, kind, json.loads(text), at) for number, kind, text, at in noted]
    idle = grouped((number, Span(one["began"], at)) for number, kind, one, at in details if kind == events.IDLE)
    passed = grouped((number, (at, one)) for number, kind, one, at in details if kind == events.RECOVERY)
    days = []
    for number, uid, agent, client, created, seen_at, turn_ended, ended in sessions:
        # what ends a session is no sign that it was at work
        signs = [created, *(at for at in acts.get(number, ()) if ended is None or at < ended)]
        is_idle = turn_ended is not None and (seen_at <= turn_ended or (ended == seen_at and max(signs) <= turn_ended))
        last = turn_ended if is_idle else min(max(seen_at, *signs), now)
        steps = [(at, f"edited {path}") for path, at in edits.get(number, ())]
        steps += [(at, f"{one['command']} passed") for at, one in passed.get(number, ())]
        steps += [(turn_ended + 1, "got another prompt")] if turn_ended is not None and seen_at > turn_ended else []
        spans = _spans([at for at in (*signs, last) if began <= at], max(created, began), last)
        own, pauses = marks.get(number, ()), tuple(idle.get(number, ()))
        worked, idle_at = _without(pauses, spans), turn_ended if is_idle else None
        own_bars = tuple(sorted(bars.get(number, ()), key=lambda one: (one.began_at, one.path)))
        last_step = _last_step(own, steps)
        days.append(SessionDay(uid.hex(), agent, client, worked, idle_at, _merged(own), own_bars, last_step, pauses))
    return tuple(days)


_LAST_EDITS = """
    SELECT s.id, f.path, c.created_at FROM sessions s JOIN file_changes c ON c.id = (
        SELECT id FROM file_changes WHERE session_id = s.id ORDER BY created_at DESC, id DESC LIMIT 1
    ) JOIN files f ON f.id = c.file_id WHERE s.id IN {sessions}
"""
_NOTED = f"""
    SELECT session_id, kind, details, created_at FROM events
    WHERE session_id IN {{sessions}} AND created_at >= :began AND kind IN ({events.IDLE}, {events.RECOVERY})
    ORDER BY created_at
"""
_STEPS = {
    "commit": "committed {}",
    "tests": "tests passed",
    "decision": "set {}",
    "error": "met {}",
    "message": "sent a message",
}


def _last_step(marks: Iterable[Mark], others: Iterable[tuple[int, str]]) -> str | None:
    steps = [*((one.at, _STEPS[one.kind].format(one.text)) for one in marks if one.kind in _STEPS), *others]
    return shortened(max(steps)[1], LINE_CHARS) if steps else None


_MERGED_MS = 5 * 60_000
_MOST_DRAWN = 2_000

_Marks = list[tuple[int | None, Mark]]


_Bars = list[tuple[int | None, ClaimBar]]


def _drawn(transaction: Transaction, values: Mapping[str, object], sessions: list[int]) -> tuple[_Marks, _Bars]:
    marks: _Marks = []
    bars: _Bars = []
    if not sessions:
        return marks, bars
    extended: dict[tuple[int | None, str, str], list[int]] = {}
    rows = transaction.all(
        f"""
        SELECT session_id, kind, details, created_at FROM events
        WHERE project_id = :project AND created_at >= :began AND {events.IS_DRAWN}
        ORDER BY created_at DESC LIMIT {_MOST_DRAWN}
        """,
        values,
    )
    for session, kind, text, at in reversed(rows):
        details = json.loads(text or "{}")
        place = session, details.get("path", ""), details.get("worktree") or ""
        if kind == events.PROGRESS:
            what = str(details.get("what"))
            marks.append((session, Mark(what, at, shortened(str(details.get("subject") or what), LINE_CHARS), None)))
        elif kind == events.REFUSAL:
            holders = " and ".join(details.get("holders", ()))
            refused = f"{', '.join(details.get('paths', ()))}{f', held by {holders}' if holders else ''}"
            marks.append((session, Mark("refusal", at, shortened(refused, LINE_CHARS), None)))
        elif kind == events.EXTENSION:
            extended.setdefault(place, []).append(at)
        elif "began" in details and not details.get("is_undone"):
            bars.append((session, _ended_bar(details, at, kind, extended.pop(place, []))))
    live = transaction.all(
        f"""
        SELECT session_id, path, worktree, created_at, expires_at, reason FROM file_claims
        WHERE project_id = :project AND expires_at > :now AND session_id IN {set_of(sessions)}
        """,
        values,
    )
    for session, path, worktree, began, until, reason in live:
        times = tuple(extended.get((session, path, worktree), ()))
        bars.append((session, ClaimBar(path, worktree or None, began, None, until, "held", reason, times)))
    return marks, bars


def _ended_bar(details: Mapping[str, Any], at: int, kind: int, extended: list[int]) -> ClaimBar:
    until, began, reason = details["until"], details["began"], details.get("reason")
    end = "ended" if details.get("by") else "expired" if kind == events.EXPIRY else "released"
    tree, ended = details.get("worktree"), min(at, until)
    return ClaimBar(details["path"], tree, began, ended, until, end, reason, tuple(extended))


# the session, the item's number, what its line begins with, its text (of a decision maybe a number), and the time
_DONE = {
    "decision": (
        Kind.DECISION,
        f"""
        WITH newest AS (
            SELECT id, key, value_text, value_number, session_id, updated_at FROM decisions
            WHERE project_id = :project AND updated_at >= :began ORDER BY updated_at DESC LIMIT {_MOST_DRAWN}
        )
        SELECT session_id, id, key, value_text, value_number, updated_at FROM newest WHERE session_id IS NOT NULL
        UNION ALL
        SELECT h.session_id, h.decision_id, x.key, h.value_text, h.value_number, h.set_at
        FROM newest x JOIN decision_history h ON h.decision_id = x.id
        WHERE h.set_at >= :began AND h.session_id IS NOT NULL
        ORDER BY 6 DESC LIMIT {_MOST_DRAWN}
        """,
    ),
    "error": (
        Kind.ERROR_PATTERN,
        f"""
        SELECT r.session_id, p.id, p.error_type, p.message, NULL, r.created_at
        FROM {newest("error_reports", _MOST_DRAWN)} r JOIN error_patterns p ON p.id = r.pattern_id
        WHERE r.created_at >= :began AND r.session_id IS NOT NULL
        """,
    ),
    "message": (
        Kind.MESSAGE,
        f"""
        SELECT m.session_id, m.id, 'to ' || COALESCE(a.name, 'all'), m.message, NULL, m.created_at
        FROM {newest("agent_messages", _MOST_DRAWN)} m LEFT JOIN agents a ON a.id = m.to_agent_id
        WHERE m.created_at >= :began AND m.session_id IS NOT NULL
        """,
    ),
}


def _marks(transaction: Transaction, project_id: int, began: int) -> _Marks:
    marks: _Marks = []
    for name, (kind, statement) in _DONE.items():
        rows = transaction.all(statement, {"project": project_id, "began": began})
        for session, number, first, text, amount, at in rows:
            line = shortened(f"{first}: {value_text(text, amount)}", LINE_CHARS)
            marks.append((session, Mark(name, at, line, kind.ref(number))))
    return marks


def _merged(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    last: dict[str, int] = {}
    merged: list[Mark] = []
    for mark in sorted(marks, key=lambda one: (one.at, one.kind)):
        place = last.get(mark.kind)
        if place is not None and mark.at - merged[place].at < _MERGED_MS:
            merged[place] = replace(mark, at=merged[place].at, count=merged[place].count + 1)
        else:
            last[mark.kind] = len(merged)
            merged.append(mark)
    return tuple(merged)


def _hops(sessions: list[int]) -> str:
    # It skips from one such quarter to the next, so that the number of rows in a quarter does not matter.

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


def _spans(signs: Iterable[int], first: int, last: int) -> tuple[Span, ...]:
    spans: list[Span] = []
    for quarter in sorted({at // QUARTER_MS for at in signs}):
        began = max(quarter * QUARTER_MS, first)
        if spans and spans[-1].ended_at == began:
            began = spans.pop().began_at
        spans.append(Span(began, min((quarter + 1) * QUARTER_MS, max(last, began))))
    return tuple(spans)


def _without(idle: Iterable[Span], spans: Iterable[Span]) -> tuple[Span, ...]:
    parts: list[Span] = []
    for one in spans:
        began = one.began_at
        for pause in idle:
            if began < pause.ended_at and pause.began_at < one.ended_at:
                parts += [Span(began, pause.began_at)] if began < pause.began_at else []
                began = pause.ended_at
        parts += [Span(began, one.ended_at)] if began <= one.ended_at else []
    return tuple(parts)
