"""Who calls through an opened store: its session is found, made on its first write, and remembered."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from satchel.base.records import NamedTuple
from satchel.keep.sessions.clients import Client, check_host_id, client_named, clients_around, host_id
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.keep.projects import Workplace

VARIABLE = "SATCHEL_SESSION"
"""The variable with the uid of a session, in hexadecimal."""

SERVER, COMMAND, LIBRARY, HOOK, REMOTE = "server", "command", "library", "hook", "remote"
"""What calls: a server of one client, a command, a program of its own, a hook of a client, or a request over HTTP."""

OF_TOKENS = "@token"
"""Stands for the client with the ids that requests give their sessions; no client can be named so."""

HOOK_WAIT_MS = 250
"""How long a hook waits for a lock."""

_VERSION_CHARS = 100

SEEN_MS = 60_000
"""When a session was last seen is recorded at most once in so long."""


class State(NamedTuple):
    """A session, as a call needs it: the numbers of what it refers to.

    Attributes:
        agent: whose it is, and ``unnamed`` who calls in it that name nobody, or None until that is known.
        is_chosen: whether its agent was chosen for all its calls.
        run: the run that it is bound to.
    """

    id: int
    uid: bytes
    client: str | None
    agent: int | None
    is_chosen: bool
    unnamed: int | None
    run: int | None
    task_id: str | None
    window: int
    seen_at: int

    @property
    def speaker(self) -> int | None:
        """Who calls in it and names nobody: the agent that was chosen, else the one named after the session."""
        return self.agent if self.is_chosen else self.unnamed


STATE = 'id, uid, client, agent_id, is_chosen, unnamed_id, run_id, task_id, "window", seen_at'


class Caller:
    """One connection of a client, one command, or one program.

    Args:
        kind: :data:`SERVER`, :data:`COMMAND`, :data:`LIBRARY`, :data:`HOOK` or :data:`REMOTE`.
        environ: its environment.

    Attributes:
        begins: whether a hook says that a conversation begins, which no session can have been in before.
        is_of_person: whether a token says that a person calls; None where none does.
    """

    def __init__(self, kind: str, environ: Mapping[str, str]) -> None:
        self.kind = kind
        self.environ = environ
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
            self._told_id = identity
            self._is_settled = False

    @property
    def host_id(self) -> str | None:
        """The id that the client of a server gave its session."""
        return self._told_id or host_id(self.client, self.environ)

    @property
    def is_in_client(self) -> bool:
        """Whether a command was started by a client that is known."""
        return bool(clients_around(self.environ))

    @property
    def is_person(self) -> bool:
        """Whether it is a person: without a session at a terminal, not inside a client; or by its token."""
        if self.kind == REMOTE:
            return self.is_of_person is True
        is_at_terminal = self.kind == COMMAND and not self.is_in_client and not self.notes
        return is_at_terminal and self.is_of_person is not False

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
        return self.kind in {SERVER, HOOK} or (self.kind == COMMAND and self.is_in_client and not self.notes)

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
        remembered: State | None = transaction.memo.get(("session", project_id, self._uid))
        if remembered is not None:
            return remembered
        row = transaction.one(
            f"SELECT {STATE} FROM sessions WHERE uid = :uid AND project_id = :project",
            {"uid": self._uid, "project": project_id},
        )
        return None if row is None else State(*row)

    def _look(self, transaction: Transaction, project_id: int) -> State | None:
        if self.is_told_anew:
            return None
        if transaction.one("SELECT 1 FROM sessions WHERE project_id = :project", {"project": project_id}) is None:
            return None
        from satchel.keep.sessions import joining

        found, note = joining.find(transaction, project_id, self)
        with self._lock:
            self._looked = True
            if note is not None and note not in self.notes:
                self.notes.append(note)
            if found is None:
                return None
            self._uid = found.state.uid
            self._is_settled = joining.is_up_to_date(found, self)
        return found.state

    def ensure(self, transaction: Transaction, workplace: Workplace, project_id: int, now: int) -> State | None:
        """Return the session of the caller as :meth:`find` does, made where it is to have one, and seen now."""
        state = self._known(transaction, project_id) or self._look(transaction, project_id)
        if state is not None and self._is_settled and 0 <= now - state.seen_at < SEEN_MS:
            self.remember(transaction, project_id, state)
            return state
        if state is None and not self.may_make():
            return None
        from satchel.keep.sessions import updates

        if state is None:
            state = updates.start(transaction, workplace, project_id, self, now)
            self._uid = state.uid
        else:
            state = updates.touch(transaction, workplace, state, self, now)
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
