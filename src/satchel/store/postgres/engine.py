"""The engine on PostgreSQL: a schema holds the store, and a lock on a project's row admits one writer at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from copy import copy
from types import SimpleNamespace
from typing import TYPE_CHECKING

import psycopg

from satchel.base.clock import Clock, system_clock
from satchel.base.errors import Interrupted, ReadOnly
from satchel.store import forks
from satchel.store.engine import State
from satchel.store.migrations import empty_store
from satchel.store.postgres import Address, schema
from satchel.store.postgres.database import Database
from satchel.store.postgres.transaction import PostgresTransaction, Statement
from satchel.store.postgres.writers import Writers
from satchel.store.running import Tracked
from satchel.store.sqlite_transaction import SqliteTransaction
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from pathlib import Path

# a write to the store as a whole holds the row
_PROBE = "UPDATE store SET created_at = created_at WHERE id = (SELECT id FROM store FOR UPDATE SKIP LOCKED)"
_READ: Statement = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", None)


class PostgresEngine:
    """A store in a schema of a PostgreSQL database. Safe to share between threads; a forked child reconnects.

    Attributes:
        project: the project whose row a write locks, by name; None locks the whole store.
    """

    faults: type[Exception] = psycopg.Error
    has_automatic_backups = False
    folder: Path | None = None

    def __init__(
        self,
        address: Address,
        *,
        read_only: bool = False,
        migrates: bool | None = None,
        clock: Clock = system_clock,
        wait_ms: int = 10_000,
        durability: str = "full",
    ) -> None:
        self.database = Database(address, durability, clock)
        self.location = address.label
        self.read_only = read_only
        self.migrates = not read_only if migrates is None else migrates
        self.clock = clock
        self.wait_ms = wait_ms
        self.project: str | None = None

    def of_project(self, name: str) -> PostgresEngine:
        """Return the engine on the same connections whose writes lock one project only."""
        bound = copy(self)
        bound.project = name
        return bound

    @property
    def commits(self) -> int:
        """Number of committed transactions, of the engines of all projects."""
        return self.database.commits

    @property
    def upkeep(self) -> schema.PostgresUpkeep:
        return schema.PostgresUpkeep(self)

    def exists(self) -> bool:
        return self._make_ready(writes=False)

    def state(self) -> State:
        """Return a constant state: only reading shows whether the store is gone."""
        return State(self.location, 0)

    def probe(self, wait_ms: int) -> None:
        """Write and read without waiting for any project's writer."""
        self._make_ready(writes=True)
        database = self.database
        connection = database.borrow(wait_ms / 1_000)
        try:
            with database.explaining():
                connection.run_all(("BEGIN", None), database.settings(wait_ms), (_PROBE, None), ("COMMIT", None))
        finally:
            database.give_back(connection)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Open a read transaction on one snapshot."""
        database = self.database
        if not self._make_ready(writes=False):
            with closing(empty_store()) as nothing:
                yield SqliteTransaction(nothing)
            return
        forked = forks.generation
        connection = database.borrow(self.wait_ms / 1_000)
        transaction = PostgresTransaction(connection, (_READ, database.settings()))
        try:
            with database.explaining(transaction):
                with Tracked(database.running, transaction):
                    yield transaction
                if forked != forks.generation:
                    raise forks.refusal()
                transaction.send()
        finally:
            if forked == forks.generation:
                database.give_back(connection, is_broken=transaction.is_doubtful)

    def look(self) -> AbstractContextManager[Transaction]:
        return self.read()

    def write(self, wait_ms: int | None = None) -> AbstractContextManager[Transaction]:
        """Open a write transaction; see :meth:`satchel.store.engine.Engine.write`.

        Threads that wait for the same project write in one transaction, a savepoint each, with one commit.
        """
        if self.read_only:
            raise ReadOnly(f"{self.location} was opened for reading only", "Open it without --read-only to write")
        self._make_ready(writes=True)
        until = time.monotonic() + (self.wait_ms if wait_ms is None else wait_ms) / 1_000
        writers = self.database.writers.setdefault(self.project, Writers(self.database, self.project))
        return writers.write(until)

    @contextmanager
    def watch(self) -> Iterator[Callable[[], bool]]:
        last_sum: list[object] = []
        watching = SimpleNamespace(interrupted=False, cancel=lambda: None)  # no statement runs
        of_project = "" if self.project is None else "WHERE name = :name"

        def is_changed() -> bool:
            if watching.interrupted:
                raise Interrupted("the call was interrupted", "Nothing of it was written")
            row = None
            if self.exists():
                with self.read() as transaction:
                    row = transaction.one(f"SELECT sum(writes) FROM projects {of_project}", {"name": self.project})
            before, last_sum[:] = last_sum[:], [row]
            return before != last_sum

        with Tracked(self.database.running, watching):
            yield is_changed

    def interrupter(self) -> Callable[[], None]:
        return self.database.running.interrupter()

    def without_deadline(self) -> AbstractContextManager[None]:
        return self.database.running.without_deadline()

    @contextmanager
    def rolled_back(self) -> Iterator[PostgresEngine]:
        """Yield an engine whose writes are rolled back in the end; other writers of the project wait for that."""
        preview = copy(self)
        preview.read_only = False
        with suppress(_RolledBack), preview.write() as transaction:
            vars(preview)["write"] = lambda _=None: nullcontext(transaction)
            yield preview
            raise _RolledBack

    def check_files(self) -> None:
        """No-op: the store has no files on this machine."""

    def check_again(self) -> None:
        self.database.is_ready = False

    def close(self) -> None:
        self.database.close()

    def _make_ready(self, *, writes: bool) -> bool:
        # a missing store is looked for again
        database = self.database
        with database.lock:
            if not database.is_ready:
                database.is_ready = schema.make_ready(database, writes=writes, migrates=self.migrates)
            return database.is_ready


class _RolledBack(Exception):
    """Ends a preview."""
