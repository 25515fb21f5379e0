"""Which session a caller belongs to.

A server, hooks and commands of one conversation meet by its uid in ``SATCHEL_SESSION``, by the id that the client gave
it, or by the client's process. Where more than one session fits they stay apart, and that is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from satchel.base import processes
from satchel.base.processes import Process
from satchel.base.records import NamedTuple
from satchel.keep.sessions.clients import (
    OF_TOKENS,
    STATE,
    VARIABLE,
    Client,
    State,
    client_of_command,
    host_id,
)
from satchel.keep.sessions.presence import here, is_left
from satchel.store.asking import Asking, answering
from satchel.store.transaction import Row, Transaction, set_of

if TYPE_CHECKING:
    from satchel.keep.sessions.caller import Caller

_MOST_BEFORE = 20
_BELONGS_TO_NONE = f"it belongs to none; {VARIABLE} names one"

_COLUMNS = f"{STATE}, machine, process, process_started, server, server_started, worktree"


class Found(NamedTuple):
    """A session, and the processes of this machine that it runs in; None for those of another."""

    state: State
    machine: str | None
    process: Process | None
    server: Process | None
    worktree: str


def _found(row: Row) -> Found:
    """Return the session of a row of :data:`_COLUMNS`."""
    width = len(State._fields)
    machine, process, process_started, server, server_started, worktree = row[width:]
    return Found(
        State(*row[:width]),
        machine,
        here(machine, process, process_started),
        here(machine, server, server_started),
        worktree,
    )


def loading(
    transaction: Transaction, where: str, values: dict[str, object], most: int | None = None
) -> Asking[list[Found]]:
    """Return sessions, those seen last first.

    Args:
        where: a condition in SQL on the sessions ``s``.
        most: how many at most; None is all.
    """
    columns = ", ".join(f"s.{column.strip()}" for column in _COLUMNS.split(","))
    limit = "" if most is None else f"LIMIT {most}"
    rows = transaction.ask(
        f"SELECT {columns} FROM sessions s WHERE {where} ORDER BY s.seen_at DESC, s.id DESC {limit}", values
    )
    yield rows
    return [_found(row) for row in rows.all()]


load = answering(loading)


def is_gone(session: Found, now: int) -> bool:
    """Whether a session is over: its client said so, its process is gone, or nobody has heard of it for long."""
    return session.state.ended_at is not None or is_left(session.process, session.state.seen_at, now)


def find(transaction: Transaction, project_id: int, caller: Caller) -> tuple[Found | None, str | None]:
    """Return the session of a caller, or None; and what the caller should know of it."""
    if caller.is_remote:
        return _of_request(transaction, project_id, caller), None
    variable = caller.environ.get(VARIABLE)
    given = _by_uid(transaction, project_id, variable) if variable else None
    if caller.is_library:
        return given, None
    if caller.is_server:
        return _of_server(transaction, project_id, caller, given)
    if caller.is_hook:
        return _of_hook(transaction, project_id, caller, given)
    return _of_command(transaction, project_id, caller, given)


def is_up_to_date(session: Found, caller: Caller) -> bool:
    """Whether the processes of a session are still as it says; of a server that only just joined they never are."""
    if caller.is_server or caller.is_remote:
        return caller.is_remote
    return (not caller.is_hook and not caller.hosts) or (
        session.process is not None and processes.is_alive(session.process)
    )


def client_of(caller: Caller) -> Client | None:
    """Return the client that a caller serves, or runs in."""
    if caller.is_server or caller.is_hook or caller.is_remote:
        return caller.client
    return client_of_command(caller.hosts, caller.environ, caller.programs)


def client_process(caller: Caller) -> Process | None:
    """Return the process of the client that a caller serves, or runs in; None for one on another machine."""
    if caller.is_remote:
        return None
    client = client_of(caller)
    return processes.find_client(() if client is None else client.prefixes)


def sessions_before(transaction: Transaction, session: int | None) -> tuple[int, ...]:
    """Return the numbers of the sessions that one goes on from, the last one first, at most 20."""
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


def _by_uid(transaction: Transaction, project_id: int, uid: str) -> Found | None:
    try:
        number = bytes.fromhex(uid)
    except ValueError:
        return None
    return next(
        iter(load(transaction, "s.uid = :uid AND s.project_id = :project", {"uid": number, "project": project_id})),
        None,
    )


def _of_request(transaction: Transaction, project_id: int, caller: Caller) -> Found | None:
    """Return the session that a request names."""
    if caller.host_id is None:
        return None
    return next(iter(by_host_id(transaction, project_id, OF_TOKENS, caller.host_id)), None)


def _of_server(
    transaction: Transaction, project_id: int, caller: Caller, given: Found | None
) -> tuple[Found | None, str | None]:
    process = client_process(caller)
    if given is not None and not _is_around(given, caller, process):
        return given, None
    same = _by_own_id(transaction, project_id, caller)
    known = _here(same, process) or _over(same)
    if known is not None:
        return known, None
    if same:
        return None, f"another running client has the session {caller.host_id!r} too: this is a session of its own"
    # two servers of one client at once serve two conversations, a later one goes on with the first
    fitting = [
        one
        for one in _of_client(transaction, project_id, caller, process)
        if one.server is None or not processes.is_alive(one.server)
    ]
    if len(fitting) > 1:
        return None, _not_unique(fitting)
    return (fitting[0] if fitting else None), None


def _of_hook(
    transaction: Transaction, project_id: int, caller: Caller, given: Found | None
) -> tuple[Found | None, str | None]:
    """Return the session of a hook: that with the id of its event, else the one of its client's process.

    Within one process a client may go on to another conversation, whose id is new or that of an earlier session: both
    stay one session here. What begins there has one of its own where the process has another already, and so has every
    id of a client that holds several conversations at a time.
    """
    process = client_process(caller)
    if given is not None and not _is_around(given, caller, process):
        return given, None
    same = _by_own_id(transaction, project_id, caller)
    known = _here(same, process)
    if known is not None:
        return known, None
    fitting = _of_client(transaction, project_id, caller, process)
    if caller.begins and caller.host_id is not None:
        fitting = _unnamed(transaction, fitting)
    if len(fitting) == 1:
        return fitting[0], None
    return _over(same), _not_unique(fitting) if fitting else None


def named(transaction: Transaction, project_id: int, caller: Caller) -> State | None:
    """Return the session that a hook's event names: by the id of its client, or without one by its variable.

    An id that is not known names none, whatever else runs in the process of the client.
    """
    if caller.host_id is None:
        variable = caller.environ.get(VARIABLE)
        found = _by_uid(transaction, project_id, variable) if variable else None
    else:
        same = _by_own_id(transaction, project_id, caller)
        found = _here(same, client_process(caller)) or _over(same)
    return None if found is None else found.state


def _by_own_id(transaction: Transaction, project_id: int, caller: Caller) -> list[Found]:
    """Return the sessions that have the id of a caller, those seen last first."""
    if caller.host_id is None or caller.client is None:
        return []
    return by_host_id(transaction, project_id, caller.client.name, caller.host_id)


def _here(same: Sequence[Found], process: Process | None) -> Found | None:
    """Return the session of an id that runs in a client's process, or in one that cannot be told."""
    return next((one for one in same if one.process is None or one.process == process), None)


def _over(same: Sequence[Found]) -> Found | None:
    """Return the session of an id whose client is gone: under a later one it is resumed."""
    return next((one for one in same if one.process is not None and not processes.is_alive(one.process)), None)


def _of_client(transaction: Transaction, project_id: int, caller: Caller, process: Process | None) -> list[Found]:
    """Return the sessions of the process of a caller's client that the caller may belong to."""
    living = [] if process is None else _by_processes(transaction, project_id, [process])
    living = [one for one in living if _may_be_of(one, caller)]
    has_many = caller.client is not None and caller.client.has_many
    return _unnamed(transaction, living) if has_many and caller.host_id is not None else living


def _unnamed(transaction: Transaction, sessions: Sequence[Found]) -> list[Found]:
    """Return the sessions for which their client has not told an id, as hooks do."""
    if not sessions:
        return []
    numbers = set_of(one.state.id for one in sessions)
    rows = transaction.all(f"SELECT session_id FROM session_hosts WHERE session_id IN {numbers}")
    return [one for one in sessions if (one.state.id,) not in rows]


def _may_be_of(session: Found, caller: Caller) -> bool:
    """Whether a session is of the client of a server, as far as both are known: one process may host several."""
    return caller.client is None or session.state.client in {None, caller.client.name}


def _is_around(session: Found, caller: Caller, process: Process | None) -> bool:
    """Whether the client of a server was started within a session, and has only its variable from there."""
    if not _may_be_of(session, caller):
        return True
    if session.process is None or process is None or session.process == process:
        return False
    return any(above == session.process for above, _ in processes.ancestors())


def _of_command(
    transaction: Transaction, project_id: int, caller: Caller, given: Found | None
) -> tuple[Found | None, str | None]:
    around = [host.client for host in caller.hosts]
    if not around:
        return given, None
    above = processes.ancestors()
    places = {process: place for place, (process, _) in enumerate(above)}
    programs = [(place, one) for place, (_, name) in enumerate(above) for one in around if name in one.prefixes]

    def is_around(session: Found) -> bool:
        """Whether the program of another client stands between, which was started within the session."""
        place = -1 if session.process is None else places.get(session.process, -1)
        return any(between < place and one.name != session.state.client for between, one in programs)

    names = {None, *(one.name for one in around)}
    living = [one for one in _by_processes(transaction, project_id, list(places)) if one.state.client in names]
    fitting = [one for one in living if not is_around(one)]
    nearest = min((places[one.process] for one in fitting if one.process is not None), default=len(above))
    if given is not None and not is_around(given):
        place = None if given.process is None else places.get(given.process)
        if place is None or place <= nearest:
            return given, None
    fitting = [one for one in fitting if one.process == above[nearest][0]]
    hosts = [programs[0][1]] if programs else around
    ids = {one.name: host_id(one, caller.environ) for one in hosts}
    identities = {name: identity for name, identity in ids.items() if identity is not None}
    named = [
        one for name, identity in identities.items() for one in by_host_id(transaction, project_id, name, identity)
    ]
    named = [one for one in named if one.state.ended_at is None] or named
    numbers = {one.state.id for one in named}
    has_many = any(one.has_many for one in hosts if one.name in identities)
    if has_many:
        fitting = [one for one in fitting if one.state.id in numbers] or named or _unnamed(transaction, fitting)
    elif len(fitting) > 1:
        fitting = [one for one in fitting if one.state.id in numbers] or fitting
    elif not fitting:
        fitting = named
    if len(identities) > 1 and len(fitting) < 2 and (not fitting or fitting is named):
        return None, f"this command runs in several clients ({', '.join(identities)}): {_BELONGS_TO_NONE}"
    if len(fitting) > 1:
        return None, _not_unique(fitting)
    return (fitting[0] if fitting else None), None


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
        f"AND s.process IN {set_of(process.pid for process in clients)}"
    )
    loaded = load(transaction, where, {"project": project_id, "machine": machine})
    return [one for one in loaded if one.process in clients]


def _not_unique(fitting: Iterable[Found]) -> str:
    uids = ", ".join(one.state.uid.hex()[:8] for one in fitting)
    return f"this call could belong to several sessions ({uids}): {_BELONGS_TO_NONE}"
