"""Counts of sessions at work, stuck agents and unread messages, as a prompt shows them."""

from __future__ import annotations

from satchel.base.records import dataclass
from satchel.keep import presence

TYPE_CHECKING = False  # importing typing takes 4 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from satchel.store.glance import Rows
    from satchel.store.transaction import Row, Transaction


@dataclass(frozen=True, slots=True)
class AtWork:
    """Activity in a project.

    Attributes:
        sessions: the number of sessions at work.
        stuck: how many of them are stuck, by the rule that briefings use.
        unread: messages that the reader has not read.
    """

    sessions: int
    stuck: int
    unread: int


def count(
    rows: Rows, project_id: int, agent: str | None, session: str | None, now: int, person: Callable[[], str]
) -> AtWork:
    """Count the activity in a project.

    ``agent`` None is the session's agent, without a session a person. ``session`` is its uid in hexadecimal. ``person``
    is called only where a message may be theirs.
    """
    live = presence.live_sessions(rows, project_id, now)
    unread = 0
    if presence.is_any_message(rows, project_id, now):
        reader = _reader_id(rows, project_id, agent, session, person)
        _, own, to_all = presence.count_messages(rows, project_id, reader, now)
        unread = own + to_all
    return AtWork(len(live), len(stuck(rows, project_id, live, now)) if live else 0, unread)


def _reader_id(rows: Rows, project_id: int, agent: str | None, session: str | None, person: Callable[[], str]) -> int:
    if agent is None and session is not None:
        try:
            values = {"uid": bytes.fromhex(session), "project": project_id}
        except ValueError:
            values = {"uid": None, "project": project_id}
        row = rows.one(
            "SELECT COALESCE(agent_id, unnamed_id, -1) FROM sessions WHERE uid = :uid AND project_id = :project", values
        )
        if row is not None:
            return int(row[0])
    from satchel.base.vocabulary import HUMAN

    # a person without a record reads the messages to all persons
    for name in (person(), HUMAN) if agent is None else (agent,):
        row = presence.find_agent_row(rows, project_id, name)
        if row is not None:
            return int(row[0])
    return -1


def stuck(rows: Rows, project_id: int, sessions: Sequence[int], now: int) -> dict[int, int]:
    """Return since when (milliseconds UTC) sessions are stuck in the loop of their last scratchpad."""
    from satchel.keep.loop_scope import OF_ATTEMPTS

    places = rows.all(
        f"""
        SELECT c.run_id, c.task_id, c.loop_id, c.agent_id, s.id, s.predecessor_id
        FROM sessions s JOIN context c ON c.id = (
            SELECT n.id FROM context n WHERE n.session_id = s.id AND {OF_ATTEMPTS.format("n.")}
            ORDER BY n.created_at DESC, n.id DESC LIMIT 1
        )
        WHERE s.id IN ({", ".join(map(str, sessions))})
        """
    )
    since = {row[4]: stuck_since(rows, project_id, row, now) for row in places}
    return {session: at for session, at in since.items() if at is not None}


def stuck_since(rows: Rows, project_id: int, place: Row, now: int) -> int | None:
    """Return since when the loop of a run, task, loop, agent, session and predecessor is stuck, or None."""
    from satchel.keep.loop_scope import ATTEMPTS, OF_ATTEMPTS, LoopScope

    run, task, loop_id, agent, session, predecessor = place
    before: tuple[int, ...] = ()
    if predecessor is not None:
        from satchel.keep.sessions.joining import sessions_before

        before = sessions_before(_transaction(rows), session)
    loop = LoopScope(project_id, run, task, loop_id, agent, session, before)
    # newest first: the attempts of its last task are found without reading the others
    some = f"""
        SELECT c.content FROM context c WHERE {loop.holds("context", "c")} AND {OF_ATTEMPTS.format("c.")}
        ORDER BY c.created_at DESC LIMIT {ATTEMPTS}
    """
    contents = [content for (content,) in rows.all(some, loop.values)]
    # one scratchpad may list all of them, each in quotes
    if len(contents) < ATTEMPTS and not any(content.count('"') > 2 * ATTEMPTS for content in contents):
        return None
    from satchel.brief import loop_history
    from satchel.keep.entries.records import REVIEW_VERDICT, SCRATCHPAD

    history = loop_history.load(_transaction(rows), loop, now, (SCRATCHPAD, REVIEW_VERDICT))
    status = loop_history.judge(history)
    return history.attempts[max(0, status.iterations - ATTEMPTS)].created_at if status.is_stuck else None


def _transaction(rows: Rows) -> Transaction:
    from satchel.store.glance import Glance

    return rows.transaction() if isinstance(rows, Glance) else rows
