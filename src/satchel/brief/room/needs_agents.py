"""Agents that are stuck or blocked, at work, after their sessions ended, and without a session."""

from __future__ import annotations

from collections.abc import Iterator

from satchel.base.clock import DAY_MS
from satchel.base.errors import InvalidInput
from satchel.base.vocabulary import PRIORITIES
from satchel.brief import at_work
from satchel.brief.room import states
from satchel.brief.room.looking import OPEN_RUN, Look, possible
from satchel.brief.room.records import Need
from satchel.find.kind import Kind
from satchel.keep.entries import structured
from satchel.keep.entries.records import SCRATCHPAD
from satchel.keep.loop_scope import OF_LOOPS
from satchel.keep.sessions import joining
from satchel.keep.sessions.presence import LISTED_DAYS, MAX_CHECKED
from satchel.store.transaction import set_of

_HIGH = PRIORITIES[-2]
_LOOKED_AT = 200
"""How many scratchpads are read for agents without a session, newest first."""


def find(look: Look) -> list[Need]:
    """Return the agents whose last scratchpad needs a person.

    It does until it is continued, answered or dismissed, or its run ends.
    """
    since = look.now - LISTED_DAYS * DAY_MS
    return [*_with_session(look, since), *_without_session(look, since)]


def _with_session(look: Look, since: int) -> Iterator[Need]:
    values: dict[str, object] = {"project": look.project_id, "since": since}
    sessions = joining.load(look.transaction, "s.project_id = :project AND s.seen_at > :since", values, MAX_CHECKED)
    state_of = {
        number: state
        for number, state in states.find(look.transaction, look.project_id, sessions, None, look.now).items()
        if state.name in {"stuck", "waiting"}
    }
    if not state_of:
        return
    rows = look.rows(
        f"""
        SELECT s.id, s.uid, a.name, c.id, c.content, c.created_at, {OPEN_RUN}
        FROM sessions s JOIN context c ON c.id = (
            SELECT n.id FROM context n
            WHERE n.session_id = s.id AND n.{OF_LOOPS} AND n.type = {SCRATCHPAD} AND n.superseded_by IS NULL
            ORDER BY n.created_at DESC, n.id DESC LIMIT 1
        )
        LEFT JOIN agents a ON a.id = c.agent_id JOIN runs r ON r.id = c.run_id
        WHERE s.id IN {set_of(state_of)}
        """
    )
    for session, uid, agent, number, content, created, run in rows:
        try:
            pad = structured.scratchpad(content)
        except InvalidInput:  # another program may have written the row
            continue
        state = state_of[session]
        if state.name == "waiting" and (pad.done or not pad.blockers or state.since_at != created):
            continue
        kind, ref = "stuck" if state.name == "stuck" else "blocked", Kind.ENTRY.ref(number)
        actions, key = possible(answer=agent, end_run=run, see=True), f"session-{uid.hex()}"
        text = state.reason or ""
        yield Need(kind, _HIGH, text, ref, uid.hex(), agent, state.since_at, actions, run=run, key=key)


def _without_session(look: Look, since: int) -> Iterator[Need]:
    rows = look.rows(
        f"""
        SELECT c.id, c.content, c.run_id, c.task_id, c.loop_id, c.agent_id, c.session_id, c.created_at, a.name,
            {OPEN_RUN},
            EXISTS (
                SELECT 1 FROM context n WHERE n.run_id = c.run_id AND n.agent_id = c.agent_id
                    AND n.created_at > c.created_at
            ) OR EXISTS (
                SELECT 1 FROM file_changes f WHERE f.project_id = :project AND f.agent_id = c.agent_id
                    AND f.created_at > c.created_at
            )
        FROM (
            SELECT * FROM context WHERE project_id = :project AND type = {SCRATCHPAD} AND superseded_by IS NULL
                AND created_at > :after ORDER BY created_at DESC, id DESC LIMIT {_LOOKED_AT}
        ) c LEFT JOIN agents a ON a.id = c.agent_id JOIN runs r ON r.id = c.run_id
        ORDER BY c.created_at DESC, c.id DESC
        """,
        after=since,
    )
    places: set[tuple[object, ...]] = set()
    last = []
    for number, content, run, task, loop, agent, session, at, *others in rows:
        place = (run, task, None if task else loop, None if task or loop else agent)
        if place not in places and session is None and not structured.is_plan(content):
            last.append((number, content, (run, task, loop, agent, None, None), at, *others))
        places.add(place)
    settled = states.settlements(look, [number for number, *_ in last])
    for number, content, place, at, name, run, has_gone_on in last:
        try:
            pad = structured.scratchpad(content)
        except InvalidInput:  # another program may have written the row
            continue
        is_dismissed, is_continued, answered_at = settled[number]
        if pad.done or is_dismissed or is_continued or answered_at > at:
            continue
        stuck_since = at_work.stuck_since(look.transaction, look.project_id, place, look.now)
        if stuck_since is None and (not pad.blockers or has_gone_on):
            continue
        kind, began = ("blocked", at) if stuck_since is None else ("stuck", stuck_since)
        text, ref, actions = (
            states.reason_of(place[1], pad),
            Kind.ENTRY.ref(number),
            possible(answer=name, end_run=run, see=True),
        )
        yield Need(kind, _HIGH, text, ref, None, name, began, actions, run=run)
