"""The engine on PostgreSQL: a schema holds the store, a project's row lets one write at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from functools import wraps
from typing import TYPE_CHECKING

import psycopg

from satchel.base.clock import Clock, system_clock
from satchel.base.errors import Interrupted, NotKept, ReadOnly
from satchel.base.machine import caller_elsewhere
from satchel.store import forks
from satchel.store.engine import State
from satchel.store.postgres import migrations
from satchel.store.postgres.address import Address
from satchel.store.postgres.database import Database
from satchel.store.postgres.transaction import PostgresTransaction
from satchel.store.postgres.writing import Writer
from satchel.store.running import Tracked
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from pathlib import Path

    from satchel.store.engine import Answer, Given
    from satchel.store.postgres.upkeep import PostgresUpkeep

# a write to the store as a whole holds the row
_PROBE = "UPDATE store SET created_at = created_at WHERE id = (SELECT id FROM store FOR UPDATE SKIP LOCKED)"
_READ = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", None)


class _Watching:
    """What a thread that watches has open between its transactions: it can be interrupted there too."""

    interrupted = False
    left_out = 0

    def cancel(self) -> None:
        """Do nothing: no statement runs."""


class PostgresEngine:
    """A store in a schema of a PostgreSQL database. Safe to share between threads; a forked child connects anew.

    Args:
        address: where it is.
        read_only: refuse every write.
        migrates: whether a store of an older version is brought up to date; None is where it may be written.
        clock: what migrations are stamped with.
        wait_ms: how long to wait for others, in milliseconds.
        durability: ``full`` waits for the disk with every commit; ``relaxed`` may lose the last ones.

    Attributes:
        project: the project whose row a write locks, by name; None keeps everybody else out of the store.
    """

    faults: type[Exception] = psycopg.Error
    has_daily_backups = False
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
        self.location = address.shown
        self.read_only = read_only
        self.migrates = not read_only if migrates is None else migrates
        self.clock = clock
        self.wait_ms = wait_ms
        self.project: str | None = None
        self._of_projects: dict[str, PostgresEngine] = {}

    def of_project(self, name: str) -> PostgresEngine:
        """Return the engine on the same connections whose writes keep others out of one project alone."""
        with self.database.lock:
            if name not in self._of_projects:
                bound = copy(self)
                bound.project = name
                self._of_projects[name] = bound
            return self._of_projects[name]

    @property
    def commits(self) -> int:
        """How many transactions were kept, of the engines of all projects."""
        return self.database.commits

    @property
    def upkeep(self) -> PostgresUpkeep:
        """What keeps the store in order."""
        from satchel.store.postgres.upkeep import PostgresUpkeep  # for the few commands that need it

        return PostgresUpkeep(self)

    def exists(self) -> bool:
        """Whether there is a store to read."""
        self._make_ready(writes=False)
        return self.database.has_store

    def state(self) -> State:
        """Return what is the same for every store at the address: whether one is gone, the next reading says."""
        return State(self.location, 0)

    def probe(self, wait_ms: int) -> None:
        """Write and read in the store really, beside all projects, and wait for none.

        Raises:
            SatchelError: it does not work.
        """
        self._make_ready(writes=True)
        database = self.database
        connection = database.borrow(wait_ms / 1_000)
        try:
            connection.run_all(("BEGIN", None), database.settings(wait_ms), (_PROBE, None), ("COMMIT", None))
        except psycopg.Error as error:
            raise database.explained(error) from error
        finally:
            database.give_back(connection, is_broken=connection.broken)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Open a read transaction: everything read inside it belongs to one snapshot.

        Raises:
            StoreForeign, StoreNewer: what lies there cannot be read as a store.
            Unreachable, Busy, Refused: there is no connection.
        """
        database = self.database
        self._make_ready(writes=False)
        if not database.has_store:
            with migrations.nothing_yet() as nothing:
                yield nothing
            return
        forked = forks.generation
        connection = database.borrow(self.wait_ms / 1_000)
        transaction = PostgresTransaction(connection, (_READ, database.settings()))
        try:
            with Tracked(database.running, transaction):
                yield transaction
            if forked != forks.generation:
                raise forks.refusal()
            if transaction.has_begun:
                transaction.send()
        except psycopg.Error as error:
            self._raise(error, transaction)
        finally:
            if forked == forks.generation:
                database.give_back(connection, is_broken=transaction.is_doubtful)

    def look(self) -> AbstractContextManager[Transaction]:
        """Open a read transaction for who is about to write.

        Raises:
            As :meth:`read`.
        """
        return self.read()

    @contextmanager
    def write(self, wait_ms: int | None = None) -> Iterator[Transaction]:
        """Open a write transaction; it is durable once the block is left without an error, else rolled back.

        Threads that wait for the same project write in one transaction, a savepoint each, and its commit keeps what
        all of them wrote.

        Args:
            wait_ms: how long to wait for others, in milliseconds; None is the engine's own measure.

        Raises:
            Busy: others kept the project locked for longer than the wait.
            NotKept: the common commit failed; nothing was written, and the call may be made again.
            ReadOnly: the store cannot be written.
            StoreNewer: the store needs a newer program; it was left untouched.
            StoreFull, IoError: the disk is full or failed; nothing was written, unless the text says otherwise.
            TimedOut: a statement ran for too long; nothing was written.
            Unreachable: the server cannot be reached; nothing was written.
        """
        if self.read_only:
            raise ReadOnly(f"{self.location} was opened for reading only", "Open it without --read-only to write")
        self._make_ready(writes=True)
        forked = forks.generation
        until = time.monotonic() + (self.wait_ms if wait_ms is None else wait_ms) / 1_000
        writer = Writer(self.database, self.project)
        batch, transaction = writer.begin(until)
        try:
            with Tracked(self.database.running, transaction):
                yield transaction
                caller = caller_elsewhere()
                if caller is not None:
                    caller.before_commit(transaction)
            if forked != forks.generation:
                raise forks.refusal()
            if transaction.is_doubtful:
                raise Interrupted("the call was interrupted", "Nothing of it was written")
            is_sent = writer.finish(batch, transaction)
        except BaseException as error:
            if forked == forks.generation:
                writer.take_back(batch, transaction)
            if isinstance(error, psycopg.Error):
                self._raise(error, transaction)
            raise
        writer.keep(batch, transaction, is_sent=is_sent)
        self.database.commits += 1
        self.database.alone.kept += 1
        if caller is not None:
            caller.after_commit()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let the writes of the calling thread share their transactions with nobody."""
        self.database.alone.is_asked = True
        try:
            yield
        finally:
            self.database.alone.is_asked = False

    @contextmanager
    def watch(self) -> Iterator[Callable[[], bool]]:
        """Hand out a function that says whether anyone has committed since it was last called; at first it says so."""
        seen: list[object] = []
        watching = _Watching()
        of_project = "" if self.project is None else "WHERE name = :name"

        def is_changed() -> bool:
            if watching.interrupted:
                raise Interrupted("the call was interrupted", "Nothing of it was written")
            row = None
            if self.exists():
                with self.read() as transaction:
                    row = transaction.one(f"SELECT sum(writes) FROM projects {of_project}", {"name": self.project})
            before, seen[:] = seen[:], [row]
            return before != seen

        with Tracked(self.database.running, watching):
            yield is_changed

    def interrupter(self) -> Callable[[], None]:
        """Return a function that interrupts whatever transaction the calling thread has open when it is called."""
        return self.database.running.interrupter()

    def without_deadline(self) -> AbstractContextManager[None]:
        """Let the statements of the calling thread take as long as they need: for upkeep that reads or writes all."""
        return self.database.running.without_deadline()

    def retrying(self, work: Callable[Given, Answer]) -> Callable[Given, Answer]:
        """Return what does a piece of work, and once more alone where a commit that it shared with others has failed.

        It is done once more only where nothing of it was kept.
        """

        @wraps(work)
        def twice(*given: Given.args, **named: Given.kwargs) -> Answer:
            mine = self.database.alone
            before = mine.kept
            try:
                return work(*given, **named)
            except NotKept:
                if mine.kept != before:
                    raise
            with self.alone():
                return work(*given, **named)

        return twice

    def take_note(self) -> str | None:
        """Return None: no row is left out here."""
        return None

    def check_files(self) -> None:
        """Do nothing: the store lies in no file of this machine."""

    def check_again(self) -> None:
        """Look at the store again before the next transaction, as after it was restored."""
        self.database.is_ready = False

    def remove(self) -> None:
        """Drop the schema with all that it holds, as after a tour.

        Raises:
            SatchelError: it cannot be dropped.
        """
        database = self.database
        with database.connect() as connection:
            try:
                with connection.transaction():
                    connection.run_all(database.settings())
                    connection.execute(f'DROP SCHEMA IF EXISTS "{database.address.schema}" CASCADE')
            except psycopg.Error as error:
                raise database.explained(error) from error

    def close(self) -> None:
        """Close every connection. The engine may be used again: it connects anew."""
        self.database.close()

    def _make_ready(self, *, writes: bool) -> None:
        """Check what lies at the address, and make or migrate it before a write; where nothing was, look again."""
        database = self.database
        if database.is_ready and database.has_store:
            return
        with database.lock:
            if not (database.is_ready and database.has_store):
                migrations.make_ready(database, writes=writes, migrates=self.migrates)

    def _raise(self, error: psycopg.Error, transaction: PostgresTransaction) -> None:
        known = self.database.explained(error, interrupted=transaction.interrupted or transaction.is_ended)
        if known is error:
            raise error
        raise known from error
