"""How many are at work, how many of them are stuck, and how many messages wait: what a prompt shows."""

from __future__ import annotations

from satchel.base.records import dataclass
from satchel.keep.messages import presence as messages
from satchel.keep.sessions.presence import live_sessions

TYPE_CHECKING = False  # importing typing takes 4 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from satchel.store.glance import Rows
    from satchel.store.transaction import Row, Transaction


@dataclass(frozen=True, slots=True)
class AtWork:
    """What goes on in a project.

    Attributes:
        sessions: how many are at work.
        stuck: in how many of them the loop of the last scratchpad is stuck, as their briefing says it.
        unread: how many messages the reader has not read.
    """

    sessions: int
    stuck: int
    unread: int


def count(
    rows: Rows, project_id: int, agent: str | None, session: str | None, now: int, person: Callable[[], str]
) -> AtWork:
    """Count what goes on in a project; nothing is loaded for what is not there.

    Args:
        agent: whose messages are counted; None is the agent of the session, and without one a person.
        session: the uid of the reader's session, in hexadecimal; None without one.
        now: milliseconds UTC.
        person: returns what the person who works here is stored as; called only where a message may be theirs.
    """
    live = live_sessions(rows, project_id, now)
    unread = 0
    if messages.is_any_alive(rows, project_id, now):
        _, own, to_all = messages.counts(rows, project_id, _reader(rows, project_id, agent, session, person), now)
        unread = own + to_all
    return AtWork(len(live), len(stuck(rows, project_id, live, now)) if live else 0, unread)


def _reader(rows: Rows, project_id: int, agent: str | None, session: str | None, person: Callable[[], str]) -> int:
    """Return the number of who reads; -1 for a name that no agent has."""
    if agent is None and session is not None:
        try:
            values = {"uid": bytes.fromhex(session), "project": project_id}
        except ValueError:
            values = {"uid": None, "project": project_id}
        found = rows.one(
            "SELECT COALESCE(agent_id, unnamed_id, -1) FROM sessions WHERE uid = :uid AND project_id = :project", values
        )
        if found is not None:
            return int(found[0])
    from satchel.base.text import fold
    from satchel.base.vocabulary import HUMAN

    # a person that nothing is recorded of reads what is to all persons
    for name in (person(), HUMAN) if agent is None else (agent,):
        values = {"project": project_id, "folded": fold(name)}
        found = rows.one("SELECT id FROM agents WHERE project_id = :project AND folded = :folded", values)
        if found is not None:
            return int(found[0])
    return -1


def stuck(rows: Rows, project_id: int, sessions: Sequence[int], now: int) -> dict[int, int]:
    """Return the sessions in which the loop of the last scratchpad is stuck, and since when, in milliseconds UTC.

    Args:
        sessions: the numbers of those that are looked at.
        now: milliseconds UTC.
    """
    from satchel.keep.loop_scope import OF_ATTEMPTS

    found = rows.all(
        f"""
        SELECT c.run_id, c.task_id, c.loop_id, c.agent_id, s.id, s.predecessor_id
        FROM sessions s JOIN context c ON c.id = (
            SELECT n.id FROM context n WHERE n.session_id = s.id AND {OF_ATTEMPTS.format("n.")}
            ORDER BY n.created_at DESC, n.id DESC LIMIT 1
        )
        WHERE s.id IN ({", ".join(map(str, sessions))})
        """
    )
    since = {row[4]: _stuck_since(rows, project_id, row, now) for row in found}
    return {session: at for session, at in since.items() if at is not None}


def _stuck_since(rows: Rows, project_id: int, place: Row, now: int) -> int | None:
    """Return when the loop of a session made the attempt from which on it is stuck; None where it is not.

    Args:
        place: run, task, loop and agent of its last scratchpad, the session, and the one that it goes on from.
    """
    from satchel.keep.loop_scope import ATTEMPTS, OF_ATTEMPTS, LoopScope

    run, task, loop_id, agent, session, predecessor = place
    before: tuple[int, ...] = ()
    if predecessor is not None:
        from satchel.keep.sessions.joining import sessions_before

        before = sessions_before(_transaction(rows), session)
    loop = LoopScope(project_id, run, task, loop_id, agent, session, before)
    # from the newest on, where those of its last task are: of an agent with 500 entries that takes 17 us, else 87
    some = f"""
        SELECT 1 FROM context c WHERE {loop.holds("context", "c")} AND {OF_ATTEMPTS.format("c.")}
        ORDER BY c.created_at DESC LIMIT {ATTEMPTS}
    """
    if len(rows.all(some, loop.values)) < ATTEMPTS:
        return None
    from satchel.brief import loop_history
    from satchel.keep.entries.records import REVIEW_VERDICT, SCRATCHPAD

    history = loop_history.load(_transaction(rows), loop, now, (SCRATCHPAD, REVIEW_VERDICT))
    standing = loop_history.standing(history)
    return history.attempts[max(0, standing.iterations - ATTEMPTS)].created_at if standing.is_stuck else None


def _transaction(rows: Rows) -> Transaction:
    from satchel.store.glance import Glance

    return rows.transaction() if isinstance(rows, Glance) else rows
