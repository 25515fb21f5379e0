"""Handover from a session without a scratchpad: its changes, commits and commands, by its events."""

from __future__ import annotations

import json

from satchel.base.clock import DAY_MS, span_in_words
from satchel.base.text import quoted_line, shortened
from satchel.brief.fields import joined, name_text
from satchel.brief.loop_history import RECENT_DAYS
from satchel.find.kind import Kind
from satchel.keep import events
from satchel.keep.entries.records import SCRATCHPAD
from satchel.keep.loop_scope import OF_LOOPS, LoopScope
from satchel.keep.projects import Workplace
from satchel.keep.sessions import joining
from satchel.keep.sessions.joining import sessions_before
from satchel.keep.sessions.records import Actor
from satchel.store.transaction import Asking, Row, Transaction, set_of

# How many sessions are read, those seen last first.
_LOOKED_AT = 10

# How many changes and events of the session are read, the latest first.
_MOST_CHANGES, _MOST_EVENTS = 500, 50

# How many files, and how many commits and commands, a line names.
_MOST_FILES, _MOST_NAMED = 5, 3

_NAME_CHARS, _ERROR_CHARS = 120, 80


def lines(transaction: Transaction, workplace: Workplace, project_id: int, actor: Actor, now: int) -> Asking[list[str]]:
    """Return up to four lines on what the last session of the same worktree changed, committed and mended.

    There are none if it is at work, did nothing or left a scratchpad, or if another session has begun since its end
    and so has got them.
    """
    values: dict[str, object] = {
        "project": project_id,
        "session": actor.session,
        "worktree": workplace.worktree or "",
        "since": now - RECENT_DAYS * DAY_MS,
    }
    begun = transaction.ask(
        f"""
        SELECT s.id, s.created_at, s.branch, a.name, (SELECT branch FROM sessions WHERE id = :session)
        FROM sessions s LEFT JOIN agents a ON a.id = COALESCE(s.agent_id, s.unnamed_id)
        WHERE s.project_id = :project AND s.worktree = :worktree AND s.id <> :session AND s.seen_at > :since
        ORDER BY s.seen_at DESC, s.id DESC LIMIT {_LOOKED_AT}
        """,
        values,
    )
    others = yield from joining.loading(
        transaction,
        "s.project_id = :project AND s.worktree = :worktree AND s.id <> :session AND s.seen_at > :since",
        values,
        _LOOKED_AT,
    )
    last = next((one for one in others if joining.is_gone(one, now)), None)
    rows = {row[0]: row for row in begun.all()}
    if last is None:
        return []
    ended = last.state.ended_at or last.state.seen_at
    if any(created > ended for number, created, *_ in rows.values() if number != last.state.id):
        return []
    of_session = {"session": last.state.id}
    pads = transaction.ask(
        f"""
        SELECT 1 FROM context c WHERE c.session_id = :session AND c.type = {SCRATCHPAD} AND c.superseded_by IS NULL
            AND c.content NOT LIKE '%"approved_plan":%' LIMIT 1
        """,
        of_session,
    )
    changes = transaction.ask(
        f"""
        SELECT f.path, c.created_at FROM (
            SELECT file_id, created_at, id FROM file_changes WHERE session_id = :session
            ORDER BY created_at DESC LIMIT {_MOST_CHANGES}
        ) AS c JOIN files f ON f.id = c.file_id ORDER BY c.created_at DESC, c.id DESC
        """,
        of_session,
    )
    event_rows = transaction.ask(
        f"""
        SELECT kind, details, created_at FROM events WHERE session_id = :session
            AND kind IN ({events.PROGRESS}, {events.RECOVERY}) ORDER BY created_at DESC, seq DESC LIMIT {_MOST_EVENTS}
        """,
        of_session,
    )
    failed = transaction.ask(
        """
        SELECT p.id, p.error_type, f.created_at FROM failed_commands f JOIN error_patterns p ON p.id = f.pattern_id
        WHERE f.session_id = :session ORDER BY f.created_at DESC LIMIT 1
        """,
        of_session,
    )
    yield failed
    if pads.one() is not None:
        return []
    done = [(kind, json.loads(details or "{}"), created) for kind, details, created in event_rows.all()]
    return _lines_of(rows[last.state.id], changes.all(), done, failed.one(), now - ended)


def _lines_of(
    session: Row,
    changes: list[Row],
    done: list[tuple[int, dict[str, str], int]],
    failed: Row | None,
    ago: int,
) -> list[str]:
    _, _, branch, agent, own_branch = session
    files = [_name_of(path) for path in dict.fromkeys(path for path, _ in changes)]
    commits = [(details, at) for kind, details, at in done if details.get("what") == "commit"]
    mended = [details["command"] for kind, details, _ in done if kind == events.RECOVERY and "command" in details]
    if not (files or commits or mended):
        return []
    result = []
    if files:
        result.append(f"changed {_listed(files, _MOST_FILES)}")
    if commits:
        subjects = [quoted_line(details["subject"]) for details, _ in commits if "subject" in details]
        result.append(f"committed {_listed(subjects, _MOST_NAMED) if subjects else ''}".rstrip())
    if mended:
        result.append(
            f"failed, then passed: {_listed([quoted_line(one) for one in dict.fromkeys(mended)], _MOST_NAMED)}"
        )
    last = _last(changes, done, failed)
    if len(result) > 1 or last != f"edited {files[0]}":
        result.append(f"last: {last}")
    on_branch = f"on branch {shortened(branch, _NAME_CHARS)}" if branch and branch != own_branch else None
    where = joined(f"{span_in_words(ago)} ago", on_branch)
    who = name_text(agent) or "an unnamed agent"
    return [f"{who} left off ({where}) without a scratchpad: {result[0]}", *result[1:]]


def _last(changes: list[Row], done: list[tuple[int, dict[str, str], int]], failed: Row | None) -> str:
    steps = [(at, f"edited {_name_of(path)}") for path, at in changes[:1]]
    for kind, details, at in done[:1]:
        what = quoted_line(details.get("command", "")) if kind == events.RECOVERY else details.get("what", "")
        steps.append((at, {"commit": "a commit", "tests": "tests passed"}.get(what, f"{what} passed")))
    if failed is not None:
        number, error_type, at = failed
        ref = Kind.ERROR_PATTERN.ref(number)
        steps.append((at, f"a command failed, {ref} {shortened(error_type, _ERROR_CHARS)}"))
    return max(steps)[1]


def _name_of(path: str) -> str:
    line = " ".join(path.split())
    return line if len(line) <= _NAME_CHARS else f"…{line[1 - _NAME_CHARS :]}"


def _listed(some: list[str], most: int) -> str:
    more = len(some) - most
    return ", ".join(some[:most]) + (f" and {more} more" if more > 0 else "")


# How many sessions are read, those seen last first.
_MOST_SESSIONS = 10


def find_left_off(
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
        ORDER BY c.created_at DESC, c.id DESC LIMIT {_MOST_SESSIONS}
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
    loaded = joining.load(transaction, where, values, _MOST_SESSIONS)
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
