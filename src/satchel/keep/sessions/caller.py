"""Who calls through an opened store: its session is found, made on its first write, and remembered."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from satchel.keep.sessions.clients import Client, client_named, clients_around, host_id
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.keep.projects import Workplace

VARIABLE = "SATCHEL_SESSION"
"""The variable with the uid of a session, in hexadecimal."""

SERVER, COMMAND, LIBRARY = "server", "command", "library"
"""What calls: a server of one client, a command, or a program of its own."""

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
    predecessor: int | None
    window: int
    seen_at: int
    created_at: int


STATE = "id, uid, client, agent_id, is_chosen, unnamed_id, run_id, task_id, predecessor_id, window, seen_at, created_at"


class Caller:
    """One connection of a client, one command, or one program.

    Args:
        kind: :data:`SERVER`, :data:`COMMAND` or :data:`LIBRARY`.
        environ: its environment.
    """

    def __init__(self, kind: str, environ: Mapping[str, str]) -> None:
        self.kind = kind
        self.environ = environ
        self.client: Client | None = None
        self.version: str | None = None
        self.notes: list[str] = []
        self._lock = threading.Lock()
        self._uid: bytes | None = None
        self._seen_at: int | None = None
        self._looked = False

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Caller | None:
        """Return the caller of a program: one in the session that its environment names, else None."""
        return cls(LIBRARY, environ) if environ.get(VARIABLE) else None

    def meet(self, name: str | None, version: str | None) -> None:
        """Take in how the client of a server names itself; what it said first stays."""
        if self.client is None:
            self.client, self.version = client_named(name), version

    @property
    def host_id(self) -> str | None:
        """The id that the client of a server gave its session."""
        return host_id(self.client, self.environ)

    @property
    def is_in_client(self) -> bool:
        """Whether a command was started by a client that is known."""
        return bool(clients_around(self.environ))

    def is_due(self, now: int) -> bool:
        """Whether its session is to be seen again; that it was tried counts.

        Args:
            now: milliseconds UTC.
        """
        is_due = self.may_make() and (self._seen_at is None or not 0 <= now - self._seen_at < SEEN_MS)
        self._seen_at = now if is_due else self._seen_at
        return is_due

    def may_make(self) -> bool:
        """Whether a session is made for it where none is found: a plain terminal and a program have none."""
        return self.kind == SERVER or (self.kind == COMMAND and self.is_in_client)

    def find(self, transaction: Transaction, project_id: int) -> State | None:
        """Return the session of the caller; None where it has none, or it is not made yet."""
        if self._uid is not None:
            remembered: State | None = transaction.memo.get(("session", project_id, self._uid))
            if remembered is not None:
                return remembered
            row = transaction.one(
                f"SELECT {STATE} FROM sessions WHERE uid = :uid AND project_id = :project",
                {"uid": self._uid, "project": project_id},
            )
            return None if row is None else State(*row)
        return self._look(transaction, project_id)

    def _look(self, transaction: Transaction, project_id: int, *, again: bool = False) -> State | None:
        with self._lock:
            if self._looked and not again:
                return None
            from satchel.keep.sessions import joining

            found, note = joining.find(transaction, project_id, self)
            self._looked = True
            if note is not None and note not in self.notes:
                self.notes.append(note)
            if found is not None:
                self._uid = found.uid
            return found

    def ensure(self, transaction: Transaction, workplace: Workplace, project_id: int, now: int) -> State | None:
        """Return the session of the caller as :meth:`find` does, made where it is to have one, and seen now."""
        key = ("session", project_id, self._uid)
        state: State | None = transaction.memo.get(key) if self._uid is not None else None
        if state is None:
            state = self.find(transaction, project_id) or self._look(transaction, project_id, again=True)
        if state is not None and 0 <= now - state.seen_at < SEEN_MS:
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
