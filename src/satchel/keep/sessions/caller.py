"""The caller of an opened store, and its session: found, created on its first write, and cached."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.keep.sessions import standing
from satchel.keep.sessions.clients import (
    STATE,
    VARIABLE,
    Client,
    Host,
    State,
    check_host_id,
    client_named,
    client_of_command,
    host_id,
    hosts_of,
)
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.keep.projects import Workplace

# The kinds of callers: a client's MCP server, a command, a program using the library, a client's hook, or HTTP.
SERVER, COMMAND, LIBRARY, HOOK, REMOTE = "server", "command", "library", "hook", "remote"

_VERSION_CHARS = 100

# Minimum time between two records that a session is at work.
SEEN_MS = 60_000


class Caller:
    """A client's connection, a command or a program.

    Attributes:
        begins: whether a hook reports a new conversation, which has no session yet.
        is_of_person: whether a token belongs to a person; None without a token.
        without_news: the state of the store and its session in which there was no news for it.
    """

    def __init__(self, kind: str, environ: Mapping[str, str], programs: Sequence[str] | None = None) -> None:
        self.kind = kind
        self.is_server, self.is_hook = kind == SERVER, kind == HOOK
        self.is_library, self.is_remote = kind == LIBRARY, kind == REMOTE
        self.environ = environ
        self._programs = programs
        self._hosts: tuple[Host, ...] | None = None
        self.client: Client | None = None
        self.version: str | None = None
        self.begins = False
        self.is_of_person: bool | None = None
        self.notes: list[str] = []
        self.without_news: tuple[object, ...] = ()
        self._lock = threading.Lock()
        self._client_session_id: str | None = None
        self._uid: bytes | None = None
        self._seen_at: int | None = None
        self._has_searched = self._is_settled = self._is_ambiguous = False
        self._warnings_shown = 0

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Caller | None:
        """Return the caller for a program whose environment names a session or a person, or None."""
        return cls(LIBRARY, environ) if environ.get(VARIABLE) or environ.get(standing.PERSON_VARIABLE) else None

    @classmethod
    def of_hook(cls, environ: Mapping[str, str], client: str, identity: str | None, *, begins: bool) -> Caller:
        caller = cls(HOOK, environ)
        caller.client = client_named(client)
        caller.begins = begins
        caller._client_session_id = check_host_id(identity)
        return caller

    @classmethod
    def of_request(cls, token: str, session: str | None, *, is_of_person: bool = False) -> Caller:
        # tokens never share a session, so the token's public id is part of the session's
        caller = cls(REMOTE, {})
        caller.is_of_person = is_of_person
        caller._client_session_id = None if session is None else check_host_id(f"{token}:{session}")
        return caller

    def set_client(self, name: str | None, version: str | None) -> None:
        """Record the client's name and version; the first call wins."""
        if self.client is None:
            self.client = client_named(name)
            self.version = None if version is None else "".join(filter(str.isprintable, version))[:_VERSION_CHARS]

    def read_meta(self, meta: Mapping[str, object]) -> None:
        """Record the session id that some clients send in the ``_meta`` of a call."""
        if self.kind == REMOTE:
            return
        key = None if self.client is None else self.client.id_in_calls
        self.set_session_id(None if key is None else meta.get(key))

    def set_session_id(self, value: object) -> None:
        """Record the client's id for the session; ignore anything else than an id."""
        identity = check_host_id(value) if isinstance(value, str) else None
        if identity is not None and identity != self._client_session_id:
            with self._lock:
                if self._client_session_id is not None:
                    self._uid = None  # one server may serve several conversations of its client
                self._client_session_id = identity
                self._is_settled = False

    @property
    def host_id(self) -> str | None:
        return self._client_session_id or host_id(self.client, self.environ)

    @property
    def programs(self) -> Sequence[str]:
        # nearest first
        if self._programs is None:
            from satchel.base import processes

            self._programs = tuple(name for _, name in processes.ancestors())
        return self._programs

    @property
    def hosts(self) -> tuple[Host, ...]:
        if self._hosts is None:
            self._hosts = hosts_of(self.environ, self.programs)
        return self._hosts

    @property
    def own_client(self) -> Client | None:
        if self.is_server or self.is_hook or self.is_remote:
            return self.client
        return client_of_command(self.hosts, self.environ, self.programs)

    @property
    def is_person(self) -> bool:
        return standing.standing_of(self).is_person

    @property
    def replays_briefing(self) -> bool:
        """Return whether deliveries are not tracked: requests without a session have no window."""
        return self.kind == REMOTE and self._client_session_id is None

    def heartbeat_due(self, now: int) -> bool:
        """Return whether it is time to record that its session is at work, and count this as the attempt."""
        is_due = self.can_start_session() and (self._seen_at is None or not 0 <= now - self._seen_at < SEEN_MS)
        self._seen_at = now if is_due else self._seen_at
        return is_due

    def can_start_session(self) -> bool:
        # terminals, programs, and commands that could belong to several sessions get none
        if self.kind == REMOTE:
            return self._client_session_id is not None
        return self.kind in {SERVER, HOOK} or (self.kind == COMMAND and bool(self.hosts) and not self._is_ambiguous)

    def pop_warning(self) -> str | None:
        """Return the warnings about its session not shown yet, or None."""
        with self._lock:
            notes, self._warnings_shown = self.notes[self._warnings_shown :], len(self.notes)
        return "; ".join(notes) or None

    def find(self, transaction: Transaction, project_id: int) -> State | None:
        state = self._cached(transaction, project_id)
        # servers search again: a hook or command may have created the session since
        if state is None and (self.kind in {SERVER, REMOTE} or not self._has_searched):
            state = self._search(transaction, project_id)
        return state

    def _cached(self, transaction: Transaction, project_id: int) -> State | None:
        if self._uid is None:
            return None
        state: State | None = transaction.memo.get(("session", project_id, self._uid))
        if state is None:
            row = transaction.one(
                f"SELECT {STATE} FROM sessions WHERE uid = :uid AND project_id = :project",
                {"uid": self._uid, "project": project_id},
            )
            state = None if row is None else State(*row)
        if state is not None and state.ended_at is not None:
            self._seen_at = None  # so that the next call revives it at once
        return state

    def _search(self, transaction: Transaction, project_id: int) -> State | None:
        if self.replays_briefing:
            return None
        if transaction.one("SELECT 1 FROM sessions WHERE project_id = :project", {"project": project_id}) is None:
            return None
        from satchel.keep.sessions import joining

        session, note = joining.find(transaction, project_id, self)
        with self._lock:
            self._has_searched = True
            self._is_ambiguous = note is not None
            if note is not None and note not in self.notes and self.kind != HOOK:
                self.notes.append(note)
            if session is None:
                return None
            self._uid = session.state.uid
            self._is_settled = joining.is_up_to_date(session, self)
        return session.state

    def ensure(self, transaction: Transaction, workplace: Workplace, project_id: int, now: int) -> State | None:
        """Return the caller's session, created if it should have one, and record that it is at work."""
        state = self._cached(transaction, project_id) or self._search(transaction, project_id)
        is_awake = state is not None and state.ended_at is None and not state.is_idle
        is_fresh = is_awake and state is not None and 0 <= now - state.seen_at < SEEN_MS
        if state is not None and is_fresh and self._is_settled:
            self.remember(transaction, project_id, state)
            return state
        if state is None and not self.can_start_session():
            return None
        from satchel.keep.sessions import updates

        if state is None:
            state = updates.start(transaction, workplace, project_id, self, now)
            self._uid = state.uid
        else:
            state = updates.touch(transaction, workplace, project_id, state, self, now)
        self._is_settled = True
        self.remember(transaction, project_id, state)
        return state

    def bind(self, transaction: Transaction, workplace: Workplace, project_id: int, run: int | None, now: int) -> None:
        state = self.ensure(transaction, workplace, project_id, now)
        if state is not None:
            from satchel.keep.sessions import updates

            updates.change(transaction, state.id, {"run_id": run})
            self.remember(transaction, project_id, state._replace(run=run))

    def remember(self, transaction: Transaction, project_id: int, state: State) -> None:
        self._seen_at = state.seen_at
        transaction.memo["session", project_id, state.uid] = state
