"""Who calls through an opened store: its session is found, made on its first write, and remembered."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.base.errors import Refused
from satchel.keep.sessions.clients import (
    STATE,
    VARIABLE,
    Client,
    Host,
    State,
    check_host_id,
    client_named,
    host_id,
    hosts_of,
)
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.keep.projects import Workplace

SERVER, COMMAND, LIBRARY, HOOK, REMOTE = "server", "command", "library", "hook", "remote"
"""What calls: a server of one client, a command, a program of its own, a hook of a client, or a request over HTTP."""

HOOK_WAIT_MS = 250
"""How long a hook waits for a lock."""

_VERSION_CHARS = 100

SEEN_MS = 60_000
"""When a session was last seen is recorded at most once in so long."""


class Caller:
    """One connection of a client, one command, or one program.

    Args:
        kind: :data:`SERVER`, :data:`COMMAND`, :data:`LIBRARY`, :data:`HOOK` or :data:`REMOTE`.
        environ: its environment.
        programs: the names of the programs that started it, the nearest first; None looks them up when they matter.

    Attributes:
        begins: whether a hook says that a conversation begins, which no session can have been in before.
        is_of_person: whether a token says that a person calls; None where none does.
    """

    def __init__(self, kind: str, environ: Mapping[str, str], programs: Sequence[str] | None = None) -> None:
        self.kind = kind
        self.environ = environ
        self._programs = programs
        self._hosts: tuple[Host, ...] | None = None
        self.client: Client | None = None
        self.version: str | None = None
        self.begins = False
        self.is_of_person: bool | None = None
        self.notes: list[str] = []
        self._lock = threading.Lock()
        self._told_id: str | None = None
        self._uid: bytes | None = None
        self._seen_at: int | None = None
        self._looked = False
        self._is_settled = False
        self._is_ambiguous = False
        self._told = 0

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Caller | None:
        """Return the caller of a program: one in the session that its environment names, else None."""
        return cls(LIBRARY, environ) if environ.get(VARIABLE) else None

    @classmethod
    def of_hook(cls, environ: Mapping[str, str], client: str, identity: str | None, *, begins: bool) -> Caller:
        """Return the caller of a hook.

        Args:
            client: the client that runs it, by a name of :data:`satchel.keep.sessions.clients.CLIENTS`.
            identity: the id that the client gave its session in the event, or None.
            begins: whether the event says that a conversation begins.
        """
        caller = cls(HOOK, environ)
        caller.client = client_named(client)
        caller.begins = begins
        caller._told_id = check_host_id(identity)
        return caller

    @classmethod
    def of_request(cls, token: str, session: str | None, *, is_of_person: bool = False) -> Caller:
        """Return the caller of a request over HTTP, of which this machine sees neither process nor disk.

        Args:
            token: the public id of its token: two tokens never share a session.
            session: what the client calls its session; None for none.
            is_of_person: whether the token is that of a person.
        """
        caller = cls(REMOTE, {})
        caller.is_of_person = is_of_person
        caller._told_id = None if session is None else check_host_id(f"{token}:{session}")
        return caller

    def meet(self, name: str | None, version: str | None) -> None:
        """Take in how the client of a server names itself; what it said first stays."""
        if self.client is None:
            self.client = client_named(name)
            self.version = None if version is None else "".join(filter(str.isprintable, version))[:_VERSION_CHARS]

    def hear(self, meta: Mapping[str, object]) -> None:
        """Take in the id of its session that the client of a server sends with a call, if it is one that does.

        Args:
            meta: the ``_meta`` of the call.
        """
        if self.kind == REMOTE:
            return
        key = None if self.client is None else self.client.id_in_calls
        told = None if key is None else meta.get(key)
        self.hear_id(told)

    def hear_id(self, told: object) -> None:
        """Take in the id that the client of a server gave its session; what is none is passed over."""
        identity = check_host_id(told) if isinstance(told, str) else None
        if identity is not None and identity != self._told_id:
            with self._lock:
                if self._told_id is not None:
                    self._uid = None  # one server may serve several conversations of its client
                self._told_id = identity
                self._is_settled = False

    @property
    def is_server(self) -> bool:
        return self.kind == SERVER

    @property
    def is_hook(self) -> bool:
        return self.kind == HOOK

    @property
    def is_library(self) -> bool:
        return self.kind == LIBRARY

    @property
    def is_remote(self) -> bool:
        return self.kind == REMOTE

    @property
    def host_id(self) -> str | None:
        """The id that the client of a server gave its session."""
        return self._told_id or host_id(self.client, self.environ)

    @property
    def programs(self) -> Sequence[str]:
        """The names of the programs that started it, the nearest first."""
        if self._programs is None:
            from satchel.base import processes

            self._programs = tuple(name for _, name in processes.ancestors())
        return self._programs

    @property
    def hosts(self) -> tuple[Host, ...]:
        """The clients that a command runs in."""
        if self._hosts is None:
            self._hosts = hosts_of(self.environ, self.programs)
        return self._hosts

    @property
    def is_person(self) -> bool:
        """Whether it is a person: at a terminal outside any client and any session; or by its token."""
        if self.kind == REMOTE:
            return self.is_of_person is True
        return self.kind == COMMAND and self.is_of_person is not False and self._agent_evidence() is None

    def refuse_agent(self, problem: str, remedy: str) -> Refused:
        """Return the refusal of what only a person may do, with why a command counts as an agent's.

        Args:
            remedy: what an agent does instead.
        """
        evidence = self._agent_evidence() if self.kind == COMMAND else None
        if evidence is None:
            return Refused(problem, remedy)
        why, way_out = evidence
        return Refused(
            f"{problem}, and this command counts as an agent's: {why}", f"{remedy}. If you are a person, {way_out}"
        )

    def _agent_evidence(self) -> tuple[str, str] | None:
        """Return why a command counts as an agent's, and what a person does then; None for a person's."""
        if self.environ.get(VARIABLE):
            return f"{VARIABLE} is set", f"run `unset {VARIABLE}` first"
        if self.hosts:
            host = self.hosts[0]
            return (
                f"it runs in {host.client.name} ({host.evidence})",
                "run it in a terminal that was not started by a client",
            )
        return None

    @property
    def is_told_anew(self) -> bool:
        """Whether nothing is remembered of what it was told, since a request without a session has no window."""
        return self.kind == REMOTE and self._told_id is None

    def is_due(self, now: int) -> bool:
        """Whether its session is to be seen again; that it was tried counts.

        Args:
            now: milliseconds UTC.
        """
        is_due = self.may_make() and (self._seen_at is None or not 0 <= now - self._seen_at < SEEN_MS)
        self._seen_at = now if is_due else self._seen_at
        return is_due

    def was_not_seen(self) -> None:
        """Take in that seeing its session came to nothing, so that it is due again."""
        self._seen_at = None

    def may_make(self) -> bool:
        """Whether a session is made for it where none is found.

        A plain terminal and a program have none, and neither has a command that could belong to several.
        """
        if self.kind == REMOTE:
            return self._told_id is not None
        return self.kind in {SERVER, HOOK} or (self.kind == COMMAND and bool(self.hosts) and not self._is_ambiguous)

    def take_note(self) -> str | None:
        """Return what is to be said of its session and was not said yet."""
        with self._lock:
            notes, self._told = self.notes[self._told :], len(self.notes)
        return "; ".join(notes) or None

    def find(self, transaction: Transaction, project_id: int) -> State | None:
        """Return the session of the caller; None where it has none, or it is not made yet."""
        known = self._known(transaction, project_id)
        # a command is short, but beside a server a hook or command may have made the session since
        if known is None and (self.kind in {SERVER, REMOTE} or not self._looked):
            known = self._look(transaction, project_id)
        return known

    def _known(self, transaction: Transaction, project_id: int) -> State | None:
        """Return the session that was found or made before, if it was kept."""
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
            self._seen_at = None  # the next call revives it, however soon that is
        return state

    def _look(self, transaction: Transaction, project_id: int) -> State | None:
        if self.is_told_anew:
            return None
        if transaction.one("SELECT 1 FROM sessions WHERE project_id = :project", {"project": project_id}) is None:
            return None
        from satchel.keep.sessions import joining

        found, note = joining.find(transaction, project_id, self)
        with self._lock:
            self._looked = True
            self._is_ambiguous = note is not None
            if note is not None and note not in self.notes and self.kind != HOOK:
                self.notes.append(note)
            if found is None:
                return None
            self._uid = found.state.uid
            self._is_settled = joining.is_up_to_date(found, self)
        return found.state

    def ensure(self, transaction: Transaction, workplace: Workplace, project_id: int, now: int) -> State | None:
        """Return the session of the caller as :meth:`find` does, made where it is to have one, and seen now."""
        state = self._known(transaction, project_id) or self._look(transaction, project_id)
        is_fresh = state is not None and state.ended_at is None and 0 <= now - state.seen_at < SEEN_MS
        if state is not None and is_fresh and self._is_settled:
            self.remember(transaction, project_id, state)
            return state
        if state is None and not self.may_make():
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
        """Let the session of the caller, if it has one, work in a run from now on; None is none of its own.

        Args:
            run: the run's number.
        """
        state = self.ensure(transaction, workplace, project_id, now)
        if state is not None:
            from satchel.keep.sessions import updates

            updates.change(transaction, state.id, {"run_id": run})
            self.remember(transaction, project_id, state._replace(run=run))

    def remember(self, transaction: Transaction, project_id: int, state: State) -> None:
        """Keep a session in mind for the next writes, as it is now."""
        self._seen_at = state.seen_at
        transaction.memo["session", project_id, state.uid] = state
