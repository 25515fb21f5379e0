"""The last scratchpad of an earlier session of the same task or worktree."""

from __future__ import annotations

from satchel.base.clock import DAY_MS
from satchel.brief.loop_history import RECENT_DAYS
from satchel.keep.entries.records import SCRATCHPAD
from satchel.keep.loop_scope import OF_LOOPS, LoopScope
from satchel.keep.projects import Workplace
from satchel.keep.sessions import joining
from satchel.keep.sessions.joining import sessions_before
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Transaction, set_of

_LOOKED_AT = 10
"""How many sessions are read, those seen last first."""


def find(
    transaction: Transaction, workplace: Workplace, project_id: int, actor: Actor, task_id: str | None, now: int
) -> int | None:
    """Return the id of the scratchpad that a session continues, until it writes one itself, or None.

    It is the last scratchpad of the latest ended session of the same task, else of the same worktree, of the last 14
    days.
    """
    if actor.session is None:
        return None
    values: dict[str, object] = {
        "project": project_id,
        "session": actor.session,
        "task": task_id,
        "worktree": workplace.worktree or "",
        "since": now - RECENT_DAYS * DAY_MS,
    }
    pads = f"SELECT 1 FROM context c WHERE c.session_id = :session AND c.{OF_LOOPS} AND c.type = {SCRATCHPAD} LIMIT 1"
    if transaction.one(pads, values) is not None:
        return None
    return (None if task_id is None else _of_task(transaction, values, now)) or _of_worktree(transaction, values, now)


def loop_of(transaction: Transaction, project_id: int, number: int) -> LoopScope:
    """Return the loop of a scratchpad, as its author sees it."""
    row = transaction.one(
        "SELECT run_id, task_id, loop_id, agent_id, session_id FROM context WHERE id = :id", {"id": number}
    )
    assert row is not None
    run, task, loop, author, session = row
    return LoopScope(project_id, run, task, loop, author, session, sessions_before(transaction, session))


def _of_task(transaction: Transaction, values: dict[str, object], now: int) -> int | None:
    rows = transaction.all(
        f"""
        SELECT c.id, c.session_id FROM context c
        WHERE c.project_id = :project AND c.task_id = :task AND c.type = {SCRATCHPAD} AND c.superseded_by IS NULL
            AND c.session_id <> :session AND c.created_at > :since
        ORDER BY c.created_at DESC, c.id DESC LIMIT {_LOOKED_AT}
        """,
        values,
    )
    if not rows:
        return None
    sessions = joining.load(transaction, f"s.id IN {set_of(session for _, session in rows)}", {})
    over = {one.state.id for one in sessions if joining.is_gone(one, now)}
    return next((number for number, session in rows if session in over), None)


def _of_worktree(transaction: Transaction, values: dict[str, object], now: int) -> int | None:
    where = (
        "s.project_id = :project AND s.worktree = :worktree AND s.id <> :session AND s.seen_at > :since AND EXISTS ("
        f"SELECT 1 FROM context c WHERE c.session_id = s.id AND c.{OF_LOOPS} AND c.type = {SCRATCHPAD})"
    )
    loaded = joining.load(transaction, where, values, _LOOKED_AT)
    over = next((one for one in loaded if joining.is_gone(one, now)), None)
    if over is None:
        return None
    row = transaction.one(
        f"""
        SELECT c.id FROM context c WHERE c.session_id = {over.state.id} AND c.{OF_LOOPS} AND c.type = {SCRATCHPAD}
            AND c.superseded_by IS NULL AND c.created_at > :since
        ORDER BY c.created_at DESC, c.id DESC LIMIT 1
        """,
        values,
    )
    return None if row is None else row[0]
