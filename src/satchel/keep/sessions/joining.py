"""Which session a caller belongs to.

A server, hooks and commands of one conversation meet by its uid in ``SATCHEL_SESSION``, by the id that the client gave
it, or by the client's process. Where more than one session fits they stay apart, and that is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from satchel.base import processes
from satchel.base.processes import Process
from satchel.keep.sessions.caller import SERVER, STATE, VARIABLE, Caller, State
from satchel.keep.sessions.clients import clients_around, host_id
from satchel.store.transaction import Row, Transaction

GONE_MS = 30 * 60_000
"""A session whose process cannot be seen from here counts as gone when it was not seen for so long."""

_COLUMNS = f"{STATE}, machine, process, process_started, server, server_started, ended_at"


class Found(NamedTuple):
    """A session, and the processes that it runs in."""

    state: State
    machine: str | None
    process: Process | None
    server: Process | None
    ended_at: int | None


def found(row: Row) -> Found:
    """Return the session of a row of :data:`_COLUMNS`."""
    width = len(State._fields)
    machine, process, process_started, server, server_started, ended_at = row[width:]
    return Found(
        State(*row[:width]),
        machine,
        None if process is None else Process(process, process_started),
        None if server is None else Process(server, server_started),
        ended_at,
    )


def load(transaction: Transaction, where: str, values: dict[str, object]) -> list[Found]:
    """Return sessions, those seen last first.

    Args:
        where: a condition in SQL on the sessions ``s``.
    """
    columns = ", ".join(f"s.{column.strip()}" for column in _COLUMNS.split(","))
    rows = transaction.all(f"SELECT {columns} FROM sessions s WHERE {where} ORDER BY s.seen_at DESC, s.id DESC", values)
    return [found(row) for row in rows]


def is_gone(session: Found, now: int) -> bool:
    """Whether a session is over: its client said so, its process is gone, or nobody has heard of it for long."""
    if session.ended_at is not None:
        return True
    if session.process is not None and session.machine is not None and session.machine == processes.machine():
        return not processes.is_alive(session.process)
    return now - session.state.seen_at > GONE_MS


def find(transaction: Transaction, project_id: int, caller: Caller) -> tuple[State | None, str | None]:
    """Return the session of a caller, or None; and what the caller should know of it."""
    given = caller.environ.get(VARIABLE)
    if given:
        session = _by_uid(transaction, project_id, given)
        # a client that was started within the session of another has the variable from there
        if session is not None and (caller.client is None or session.client in {None, caller.client.name}):
            return session, None
    if transaction.one("SELECT 1 FROM sessions WHERE project_id = :project LIMIT 1", {"project": project_id}) is None:
        return None, None
    if caller.kind == SERVER:
        return _of_server(transaction, project_id, caller)
    return _of_command(transaction, project_id, caller)


def _by_uid(transaction: Transaction, project_id: int, uid: str) -> State | None:
    try:
        number = bytes.fromhex(uid)
    except ValueError:
        return None
    row = transaction.one(
        f"SELECT {STATE} FROM sessions WHERE uid = :uid AND project_id = :project",
        {"uid": number, "project": project_id},
    )
    return None if row is None else State(*row)


def _of_server(transaction: Transaction, project_id: int, caller: Caller) -> tuple[State | None, str | None]:
    process, identity = processes.find_client(), caller.host_id
    if identity is not None and caller.client is not None:
        same = by_host_id(transaction, project_id, caller.client.name, identity)
        here = next((one for one in same if one.process is None or one.process == process), None)
        if here is not None:
            return here.state, None
        # the same id in a later client is the same session resumed, in another live one another session
        over = next((one for one in same if one.process is not None and not processes.is_alive(one.process)), None)
        if over is not None:
            return over.state, None
        if same:
            return None, f"another running client has the session {identity!r} too: this is a session of its own"
    fitting = [] if process is None else _by_processes(transaction, project_id, [process])
    # two servers of one client at once serve two conversations, a later one goes on with the first
    fitting = [one for one in fitting if one.server is None or not processes.is_alive(one.server)]
    if len(fitting) > 1:
        return None, _not_unique(fitting)
    return (fitting[0].state, None) if fitting else (None, None)


def _of_command(transaction: Transaction, project_id: int, caller: Caller) -> tuple[State | None, str | None]:
    above = [process for process, _ in processes.ancestors()]
    fitting = _by_processes(transaction, project_id, above)
    nearest = next((process for process in above if any(one.process == process for one in fitting)), None)
    fitting = [one for one in fitting if one.process == nearest]
    named: list[Found] = []
    for client in clients_around(caller.environ):
        identity = host_id(client, caller.environ)
        if identity is not None:
            named += by_host_id(transaction, project_id, client.name, identity)
    if len(fitting) > 1:
        numbers = {one.state.id for one in named}
        fitting = [one for one in fitting if one.state.id in numbers] or fitting
    fitting = fitting or [one for one in named if one.ended_at is None]
    if len(fitting) > 1:
        return None, _not_unique(fitting)
    return (fitting[0].state, None) if fitting else (None, None)


def by_host_id(transaction: Transaction, project_id: int, client: str, identity: str) -> list[Found]:
    """Return the sessions to which a client gave an id, those seen last first."""
    where = (
        "s.project_id = :project "
        "AND s.id IN (SELECT session_id FROM session_hosts WHERE host_id = :identity AND client = :client)"
    )
    return load(transaction, where, {"project": project_id, "identity": identity, "client": client})


def _by_processes(transaction: Transaction, project_id: int, clients: Sequence[Process]) -> list[Found]:
    """Return the sessions of client processes of this machine that are not over."""
    machine = processes.machine()
    if machine is None or not clients:
        return []
    where = (
        "s.project_id = :project AND s.machine = :machine AND s.ended_at IS NULL "
        f"AND s.process IN ({', '.join(str(process.pid) for process in clients)})"
    )
    loaded = load(transaction, where, {"project": project_id, "machine": machine})
    return [one for one in loaded if one.process in clients]


def _not_unique(fitting: Iterable[Found]) -> str:
    uids = ", ".join(one.state.uid.hex()[:8] for one in fitting)
    return f"this call could belong to several sessions ({uids}): it belongs to none; {VARIABLE} names one"
