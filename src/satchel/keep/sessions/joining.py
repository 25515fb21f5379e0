"""Assignment of callers to sessions: by the uid in ``SATCHEL_SESSION``, the client's id, or the client's process.

If several sessions fit, the caller joins none, with a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from satchel.base import processes
from satchel.base.processes import Process
from satchel.base.records import NamedTuple
from satchel.keep.presence import is_abandoned, local_process
from satchel.keep.sessions.clients import OF_TOKENS, STATE, VARIABLE, State, host_id
from satchel.store.transaction import Asking, Row, Transaction, answering, set_of

if TYPE_CHECKING:
    from satchel.keep.sessions.caller import Caller

_MOST_BEFORE = 20
_BELONGS_TO_NONE = f"it belongs to none; {VARIABLE} names one"

_COLUMNS = f"{STATE}, machine, process, process_started, server, server_started, worktree"


class SessionRow(NamedTuple):
    """A session and its processes; None for processes of another machine."""

    state: State
    machine: str | None
    process: Process | None
    server: Process | None
    worktree: str


def _session(row: Row) -> SessionRow:
    width = len(State._fields)
    machine, process, process_started, server, server_started, worktree = row[width:]
    return SessionRow(
        State(*row[:width]),
        machine,
        local_process(machine, process, process_started),
        local_process(machine, server, server_started),
        worktree,
    )


def loading(
    transaction: Transaction, where: str, values: dict[str, object], most: int | None = None
) -> Asking[list[SessionRow]]:
    columns = ", ".join(f"s.{column.strip()}" for column in _COLUMNS.split(","))
    limit = "" if most is None else f"LIMIT {most}"
    rows = transaction.ask(
        f"SELECT {columns} FROM sessions s WHERE {where} ORDER BY s.seen_at DESC, s.id DESC {limit}", values
    )
    yield rows
    return [_session(row) for row in rows.all()]


load = answering(loading)


def is_gone(session: SessionRow, now: int) -> bool:
    return session.state.ended_at is not None or is_abandoned(session.process, session.state.seen_at, now)


def find(transaction: Transaction, project_id: int, caller: Caller) -> tuple[SessionRow | None, str | None]:
    if caller.is_remote:
        identity = caller.host_id
        same = [] if identity is None else by_host_id(transaction, project_id, OF_TOKENS, identity)
        return next(iter(same), None), None
    by_variable = _by_variable(transaction, project_id, caller)
    if caller.is_library:
        return by_variable, None
    if caller.is_server or caller.is_hook:
        return _of_conversation(transaction, project_id, caller, by_variable)
    return _of_command(transaction, project_id, caller, by_variable)


def is_up_to_date(session: SessionRow, caller: Caller) -> bool:
    """Return whether a session's recorded processes are current; a server that has just joined is never recorded."""
    if caller.is_server or caller.is_remote:
        return caller.is_remote
    return (not caller.is_hook and not caller.hosts) or (
        session.process is not None and processes.is_alive(session.process) is True
    )


def client_process(caller: Caller) -> Process | None:
    if caller.is_remote:
        return None
    client = caller.own_client
    return processes.find_client(() if client is None else client.prefixes)


def sessions_before(transaction: Transaction, session: int | None) -> tuple[int, ...]:
    """Return the numbers of a session's predecessors, latest first, at most 20."""
    if session is None:
        return ()
    rows = transaction.all(
        f"""
        WITH RECURSIVE line (id, place) AS (
            SELECT predecessor_id, 1 FROM sessions WHERE id = :session AND predecessor_id IS NOT NULL
            UNION ALL
            SELECT s.predecessor_id, l.place + 1 FROM line l JOIN sessions s ON s.id = l.id
            WHERE s.predecessor_id IS NOT NULL AND l.place < {_MOST_BEFORE}
        )
        SELECT id FROM line ORDER BY place
        """,
        {"session": session},
    )
    return tuple(row[0] for row in rows)


def _by_variable(transaction: Transaction, project_id: int, caller: Caller) -> SessionRow | None:
    try:
        uid = bytes.fromhex(caller.environ.get(VARIABLE, ""))
    except ValueError:
        return None
    where = "s.uid = :uid AND s.project_id = :project"
    return next(iter(load(transaction, where, {"uid": uid, "project": project_id})), None) if uid else None


def _of_conversation(
    transaction: Transaction, project_id: int, caller: Caller, by_variable: SessionRow | None
) -> tuple[SessionRow | None, str | None]:
    process = client_process(caller)
    if by_variable is not None and not _is_around(by_variable, caller, process):
        return by_variable, None
    same = _by_own_id(transaction, project_id, caller)
    existing = _in_process(same, process) or (_resumable(same) if caller.is_server else None)
    if existing is not None:
        return existing, None
    if same and caller.is_server:
        return None, f"another running client uses the session id {caller.host_id!r} too, so this is a new session"
    # a process may switch to another conversation with a new or earlier id, and stays in its session
    fitting = _of_client(transaction, project_id, caller, process)
    if caller.is_server:
        # a client's concurrent servers serve different conversations; a later one continues the first's session
        fitting = [session for session in fitting if session.server is None or not processes.is_alive(session.server)]
    elif caller.begins and caller.host_id is not None:
        # a new conversation gets its own session if the process already has one
        fitting = _unnamed(transaction, fitting)
    if len(fitting) == 1:
        return fitting[0], None
    return _resumable(same), _not_unique(fitting) if fitting else None


def find_named(transaction: Transaction, project_id: int, caller: Caller) -> State | None:
    # an unknown id names no session, whatever runs in the client's process
    if caller.host_id is None:
        session = _by_variable(transaction, project_id, caller)
    else:
        same = _by_own_id(transaction, project_id, caller)
        session = _in_process(same, client_process(caller)) or _resumable(same)
    return None if session is None else session.state


def _by_own_id(transaction: Transaction, project_id: int, caller: Caller) -> list[SessionRow]:
    if caller.host_id is None or caller.client is None:
        return []
    return by_host_id(transaction, project_id, caller.client.name, caller.host_id)


def _in_process(same: Sequence[SessionRow], process: Process | None) -> SessionRow | None:
    # the session in the client's process, or in an unknown one
    return next((session for session in same if session.process is None or session.process == process), None)


def _resumable(same: Sequence[SessionRow]) -> SessionRow | None:
    # the session whose client has ended
    return next(
        (session for session in same if session.process is not None and not processes.is_alive(session.process)), None
    )


def _of_client(transaction: Transaction, project_id: int, caller: Caller, process: Process | None) -> list[SessionRow]:
    # the sessions of the client's process that the caller may belong to
    living = [] if process is None else _by_processes(transaction, project_id, [process])
    living = [session for session in living if _may_be_of(session, caller)]
    has_many = caller.client is not None and caller.client.has_many
    return _unnamed(transaction, living) if has_many and caller.host_id is not None else living


def _unnamed(transaction: Transaction, sessions: Sequence[SessionRow]) -> list[SessionRow]:
    # the sessions without an id from their client
    if not sessions:
        return []
    numbers = set_of(session.state.id for session in sessions)
    rows = transaction.all(f"SELECT session_id FROM session_hosts WHERE session_id IN {numbers}")
    return [session for session in sessions if (session.state.id,) not in rows]


def _may_be_of(session: SessionRow, caller: Caller) -> bool:
    # a process may host several clients
    return caller.client is None or session.state.client in {None, caller.client.name}


def _is_around(session: SessionRow, caller: Caller, process: Process | None) -> bool:
    # whether the client was started inside the session, and only inherited its variable
    if not _may_be_of(session, caller):
        return True
    if session.process is None or process is None or session.process == process:
        return False
    return any(above == session.process for above, _ in processes.ancestors())


def _of_command(
    transaction: Transaction, project_id: int, caller: Caller, by_variable: SessionRow | None
) -> tuple[SessionRow | None, str | None]:
    around = [host.client for host in caller.hosts]
    if not around:
        return by_variable, None
    above = processes.ancestors()
    places = {process: place for place, (process, _) in enumerate(above)}
    programs = [(place, one) for place, (_, name) in enumerate(above) for one in around if name in one.prefixes]

    def is_around(session: SessionRow) -> bool:
        # whether another client, started inside the session, runs between
        place = -1 if session.process is None else places.get(session.process, -1)
        return any(between < place and one.name != session.state.client for between, one in programs)

    names = {None, *(one.name for one in around)}
    living = [one for one in _by_processes(transaction, project_id, list(places)) if one.state.client in names]
    fitting = [one for one in living if not is_around(one)]
    nearest = min((places[one.process] for one in fitting if one.process is not None), default=len(above))
    if by_variable is not None and not is_around(by_variable):
        place = None if by_variable.process is None else places.get(by_variable.process)
        if place is None or place <= nearest:
            return by_variable, None
    fitting = [one for one in fitting if one.process == above[nearest][0]]
    hosts = [programs[0][1]] if programs else around
    ids = {host.name: host_id(host, caller.environ) for host in hosts}
    identities = {name: identity for name, identity in ids.items() if identity is not None}
    with_id = [
        one for name, identity in identities.items() for one in by_host_id(transaction, project_id, name, identity)
    ]
    with_id = [one for one in with_id if one.state.ended_at is None] or with_id
    numbers = {one.state.id for one in with_id}
    has_many = any(host.has_many for host in hosts if host.name in identities)
    if has_many:
        fitting = [one for one in fitting if one.state.id in numbers] or with_id or _unnamed(transaction, fitting)
    elif len(fitting) > 1:
        fitting = [one for one in fitting if one.state.id in numbers] or fitting
    elif not fitting:
        fitting = with_id
    if len(identities) > 1 and len(fitting) < 2 and (not fitting or fitting is with_id):
        return None, f"this command runs in several clients ({', '.join(identities)}): {_BELONGS_TO_NONE}"
    if len(fitting) > 1:
        return None, _not_unique(fitting)
    return (fitting[0] if fitting else None), None


def by_host_id(transaction: Transaction, project_id: int, client: str, identity: str) -> list[SessionRow]:
    where = (
        "s.project_id = :project "
        "AND s.id IN (SELECT session_id FROM session_hosts WHERE host_id = :identity AND client = :client)"
    )
    return load(transaction, where, {"project": project_id, "identity": identity, "client": client})


def _by_processes(transaction: Transaction, project_id: int, clients: Sequence[Process]) -> list[SessionRow]:
    # the sessions of these processes on this machine that have not ended
    machine = processes.machine()
    if machine is None or not clients:
        return []
    where = (
        "s.project_id = :project AND s.machine = :machine AND s.ended_at IS NULL "
        f"AND s.process IN {set_of(process.pid for process in clients)}"
    )
    loaded = load(transaction, where, {"project": project_id, "machine": machine})
    return [session for session in loaded if session.process in clients]


def _not_unique(fitting: Iterable[SessionRow]) -> str:
    uids = ", ".join(session.state.uid.hex()[:8] for session in fitting)
    return f"this call could belong to several sessions ({uids}): {_BELONGS_TO_NONE}"
