"""Making and changing sessions, in the transaction of the call that they belong to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from satchel.base import processes
from satchel.base.clock import DAY_MS
from satchel.base.git_head import read_head
from satchel.base.processes import Process
from satchel.base.text import fold
from satchel.keep import events
from satchel.keep.names import check_agent, ensure_agent
from satchel.keep.projects import Workplace
from satchel.keep.sessions import joining
from satchel.keep.sessions.clients import OF_TOKENS, STATE, State, host_id
from satchel.keep.sessions.joining import Found
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.keep.sessions.caller import Caller

KEPT_DAYS = 90
"""A session is forgotten so long after it was last seen."""

# without the last look: a session that seems to be unseen for longer is touched once more
_REMEMBERED = frozenset(STATE.replace('"', "").split(", ")) - {"seen_at"}
_INHERITED_DAYS = 14
_LOOKED_AT = 20
_LEAST_DIGITS = 4


def start(transaction: Transaction, workplace: Workplace, project_id: int, caller: Caller, now: int) -> State:
    """Make the session of a caller, and let it go on from one that is over, where there is one."""
    client = joining.client_of(caller)
    identity = caller.host_id if client is caller.client else host_id(client, caller.environ)
    is_remote = caller.is_remote
    branch, commit = (None, None) if is_remote else read_head(workplace.files_root)
    name = check_agent(workplace, None)
    agent = None if name is None else ensure_agent(transaction, project_id, name, now, acts=False)[0]
    before = None
    if not is_remote:  # a client that goes on with a session names it again
        before = _predecessor(transaction, workplace, project_id, None if client is None else client.name, agent, now)
    uid = os.urandom(16)
    number = transaction.add(
        "sessions",
        {
            "uid": uid,
            "project_id": project_id,
            "client": None if client is None else client.name,
            "version": caller.version,
            "agent_id": agent,
            "is_chosen": int(agent is not None),
            "predecessor_id": None if before is None else before.state.id,
            "worktree": workplace.worktree or "",
            "branch": branch,
            "commit_id": commit,
            **({} if is_remote else _processes_of(caller)),
            "seen_at": now,
            "created_at": now,
        },
    )
    giver = OF_TOKENS if is_remote else None if client is None else client.name
    if giver is not None and identity is not None:
        add_host_id(transaction, number, giver, identity)
    state = State(
        id=number,
        uid=uid,
        client=None if client is None else client.name,
        agent=agent,
        is_chosen=agent is not None,
        unnamed=None,
        run=None,
        task_id=None,
        window=1,
        seen_at=now,
    )
    if before is not None:
        state = _inherit(transaction, project_id, state, before, now)
    events.record(transaction, project_id, events.SESSION_STARTED, now, session=number)
    _remove_old(transaction, project_id, now)
    return state


def touch(
    transaction: Transaction, workplace: Workplace, project_id: int, state: State, caller: Caller, now: int
) -> State:
    """Record that a session was seen, where it stands, and in which processes it runs; one that had ended goes on."""
    changes: dict[str, object] = {"seen_at": now}
    # one that was silent for long or was killed may be continued by another, and goes on all the same
    continued = "SELECT 1 FROM sessions WHERE predecessor_id = :id"
    if state.ended_at is not None or transaction.one(continued, {"id": state.id}) is not None:
        from satchel.keep.sessions.ending import take_back_claims

        notice = take_back_claims(transaction, project_id, state, now)
        if notice is not None and notice not in caller.notes:
            caller.notes.append(notice)
        changes["ended_at"] = None
        state = state._replace(ended_at=None)
    if (caller.is_server or caller.is_remote) and state.client is None and caller.client is not None:
        changes["client"] = caller.client.name
        state = state._replace(client=caller.client.name)
    if caller.is_remote:
        change(transaction, state.id, changes)
        return state._replace(seen_at=now)
    branch, commit = read_head(workplace.files_root)
    place: dict[str, object] = {"branch": branch, "commit_id": commit}
    if caller.is_server:
        changes |= {"worktree": workplace.worktree or "", **place, **_processes_of(caller)}
    else:
        session = joining.load(transaction, "s.id = :id", {"id": state.id})[0]
        if session.worktree == (workplace.worktree or ""):
            changes |= place
        is_elsewhere = session.machine not in {None, processes.machine()}  # a sandbox does not see its client
        if not is_elsewhere and not joining.is_up_to_date(session, caller):
            # its client was started again, and only commands have been heard of since
            changes |= _processes_of(caller)
    if (caller.is_server or caller.is_hook) and caller.client is not None and caller.host_id is not None:
        add_host_id(transaction, state.id, caller.client.name, caller.host_id)
    change(transaction, state.id, changes)
    return state._replace(seen_at=now)


def change(transaction: Transaction, session: int, columns: dict[str, object]) -> None:
    """Change columns of a session."""
    assigned = ", ".join(f'"{name}" = :{name}' for name in columns)
    transaction.run(f"UPDATE sessions SET {assigned} WHERE id = :id", {**columns, "id": session})
    if columns.keys() & _REMEMBERED:
        transaction.forget()


def add_host_id(transaction: Transaction, session: int, client: str, identity: str) -> None:
    """Record what a client calls a session; a session may have several such ids."""
    transaction.run(
        """
        INSERT INTO session_hosts (host_id, session_id, client) VALUES (:identity, :session, :client)
        ON CONFLICT DO NOTHING
        """,
        {"identity": identity, "session": session, "client": client},
    )


def name_unnamed(transaction: Transaction, project_id: int, state: State, now: int) -> tuple[State, int, str]:
    """Return who calls in a session without a name: the agent that was chosen for it, else one named after it."""
    known = state.find_speaker(transaction)
    if known is not None:
        return state, *known
    for digits in range(_LEAST_DIGITS, 2 * len(state.uid) + 1):
        name = state.name(digits)
        taken = transaction.one(
            "SELECT 1 FROM agents WHERE project_id = :project AND folded = :name", {"project": project_id, "name": name}
        )
        if taken is None:
            break
    number, name = ensure_agent(transaction, project_id, name, now)
    _take_mail_of_client(transaction, project_id, state.client, number)
    changes: dict[str, object] = {"unnamed_id": number}
    if state.agent is None:
        changes["agent_id"] = number
    change(transaction, state.id, changes)
    return state._replace(unnamed=number, agent=state.agent or number), number, name


def _take_mail_of_client(transaction: Transaction, project_id: int, client: str | None, agent: int) -> None:
    """Give an agent what was sent to its client by that name, to which no agent answers."""
    if client is not None:
        transaction.run(
            """
            UPDATE agent_messages SET to_agent_id = :agent
            WHERE project_id = :project AND to_agent_id = (
                SELECT id FROM agents WHERE project_id = :project AND folded = :client AND has_acted = 0)
            """,
            {"project": project_id, "agent": agent, "client": fold(client)},
        )


def _processes_of(caller: Caller) -> dict[str, object]:
    """Return the columns with the processes of a caller of this machine."""
    server = processes.own() if caller.is_server else None
    return _processes(joining.client_process(caller), server)


def _processes(process: Process | None, server: Process | None) -> dict[str, object]:
    return {
        "machine": processes.machine(),
        "process": None if process is None else process.pid,
        "process_started": None if process is None else process.started,
        "server": None if server is None else server.pid,
        "server_started": None if server is None else server.started,
    }


def _predecessor(
    transaction: Transaction, workplace: Workplace, project_id: int, client: str | None, agent: int | None, now: int
) -> Found | None:
    """Return the last session that is over, was of the same client in the same worktree, and has no successor yet.

    One for which an agent was chosen goes on only as that agent.
    """
    where = """
        s.project_id = :project AND s.worktree = :worktree AND s.client IS NOT DISTINCT FROM :client
        AND s.seen_at > :since AND NOT EXISTS (SELECT 1 FROM sessions n WHERE n.predecessor_id = s.id)
        AND NOT EXISTS (SELECT 1 FROM session_hosts h WHERE h.session_id = s.id AND h.client = :of_tokens)
    """
    values: dict[str, object] = {
        "project": project_id,
        "worktree": workplace.worktree or "",
        "client": client,
        "since": now - _INHERITED_DAYS * DAY_MS,
        "of_tokens": OF_TOKENS,
    }
    for one in joining.load(transaction, where, values, _LOOKED_AT):
        # whose agent was not chosen has that of its unnamed calls, or who spoke first
        fits = one.state.agent == agent if agent is not None else not one.state.is_chosen
        if fits and joining.is_gone(one, now):
            return one
    return None


def _inherit(transaction: Transaction, project_id: int, state: State, before: Found, now: int) -> State:
    """Let a session take over the claims, and the unread messages to those who named nobody, of the one before it."""
    values = {"new": state.id, "old": before.state.id, "now": now}
    transaction.run("UPDATE file_claims SET session_id = :new WHERE session_id = :old", values)
    if before.state.unnamed is None:
        return state
    unread = f"""
        to_agent_id = {before.state.unnamed} AND expires_at > :now AND NOT EXISTS (
            SELECT 1 FROM message_reads r WHERE r.agent_id = {before.state.unnamed} AND r.message_id = agent_messages.id
        )
    """
    found = transaction.one(
        f"SELECT 1 FROM agent_messages WHERE project_id = {project_id} AND {unread} LIMIT 1", values
    )
    if found is not None:
        state, heir, _ = name_unnamed(transaction, project_id, state, now)
        transaction.run(
            f"""
            UPDATE agent_messages SET to_agent_id = {heir}, first_to_id = COALESCE(first_to_id, to_agent_id)
            WHERE project_id = {project_id} AND {unread}
            """,
            values,
        )
    return state


def _remove_old(transaction: Transaction, project_id: int, now: int) -> None:
    """Forget sessions of a project that were not seen for :data:`KEPT_DAYS`, with what was delivered in them."""
    values = {"project": project_id, "before": now - KEPT_DAYS * DAY_MS}
    old = "project_id = :project AND seen_at < :before"
    transaction.run(f"DELETE FROM windows WHERE session_id IN (SELECT id FROM sessions WHERE {old})", values)
    if transaction.execute(f"DELETE FROM sessions WHERE {old}", values):
        transaction.forget()
