"""The engine on PostgreSQL: a schema holds the store, and a lock on a project's row admits one writer at a time.

Writers of a process that wait for the same project share the next transaction, a savepoint each: one commit, and so one
fsync, keeps all their writes.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from copy import copy
from types import SimpleNamespace
from typing import Any

import psycopg

from satchel.base.clock import Clock, system_clock
from satchel.base.errors import Busy, ReadOnly, SatchelError
from satchel.base.machine import caller_elsewhere
from satchel.store import forks
from satchel.store.engine import State, changes
from satchel.store.failures import busy, newer, one_line
from satchel.store.migrations import empty_store
from satchel.store.postgres import Address, schema
from satchel.store.postgres.database import Database, explain, unknown_outcome
from satchel.store.postgres.transaction import PostgresTransaction, Statement, StoreConnection
from satchel.store.running import Tracked, interruption
from satchel.store.schema import SCHEMA_VERSION
from satchel.store.sqlite_transaction import SqliteTransaction
from satchel.store.transaction import Row, Transaction

# most writes in one commit
MOST_TOGETHER = 32
# age after which a shared transaction takes no more writes
LONGEST_SECONDS = 0.020
# how many marks of the last transactions are stored, the newest first
_MARK_BYTES, _MARKS = 8, 16
# how long to ask for the outcome of a commit whose answer was lost: the server may be restarting
_LOST_SECONDS = 30.0

_READ: Statement = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", None)
# a snapshot taken before the wait misses the claims of others in the meantime: REPEATABLE READ gave 161 claims for
# 40 paths
_WRITE: Statement = ("BEGIN ISOLATION LEVEL READ COMMITTED", None)
# a write to the store as a whole holds the row
_PROBE = "UPDATE store SET created_at = created_at WHERE id = (SELECT id FROM store FOR UPDATE SKIP LOCKED)"
_MARK = f"SET writes = writes + 1, marks = substr(:mark || marks, 1, {_MARK_BYTES * _MARKS})"
_MARK_PROJECT = f"""
    UPDATE projects {_MARK} WHERE name = :name
    RETURNING writes, (SELECT min_writer FROM store), memo_version, id, seq
"""
_MARK_STORE = f"UPDATE store {_MARK} RETURNING writes, min_writer, NULL, 0, 0"
_FORGET = "UPDATE projects SET memo_version = memo_version + 1 WHERE name = :name"
_FORGET_ALL = "UPDATE projects SET memo_version = memo_version + 1, writes = writes + 1"


class PostgresEngine:
    """A store in a schema of a PostgreSQL database. Safe to share between threads; a forked child reconnects.

    Attributes:
        project: the project whose row a write locks, by name; None locks the whole store.
    """

    faults: type[Exception] = psycopg.Error
    has_automatic_backups = False
    folder = None

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
        self.database = Database(address, durability)
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
        with self.database.connection(wait_ms / 1_000) as connection:
            connection.run_all(("BEGIN", None), self.database.settings(wait_ms), (_PROBE, None), ("COMMIT", None))

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Open a read transaction on one snapshot."""
        database = self.database
        if not self._make_ready(writes=False):
            with closing(empty_store()) as nothing:
                yield SqliteTransaction(nothing)
            return
        with database.connection(self.wait_ms / 1_000) as connection:
            transaction = PostgresTransaction(connection, _READ, database.settings())
            with Tracked(database.running, transaction):
                yield transaction
            transaction.send()

    def look(self) -> AbstractContextManager[Transaction]:
        return self.read()

    def write(self, wait_ms: int | None = None) -> AbstractContextManager[Transaction]:
        """Open a write transaction; see :meth:`satchel.store.engine.Engine.write`."""
        if self.read_only:
            raise ReadOnly(f"{self.location} was opened for reading only", "Open it without --read-only to write")
        self._make_ready(writes=True)
        until = time.monotonic() + (self.wait_ms if wait_ms is None else wait_ms) / 1_000
        writers = self.database.writers.setdefault(self.project, Writers(self.database, self.project))
        return writers.write(until)

    @contextmanager
    def watch(self) -> Iterator[Callable[[], bool]]:
        watching = SimpleNamespace(interrupted=False, cancel=lambda: None)  # no statement runs
        of_project = "" if self.project is None else "WHERE name = :name"

        def sum_of_writes() -> Row | None:
            if watching.interrupted:
                raise interruption()
            if not self.exists():
                return None
            with self.read() as transaction:
                return transaction.one(f"SELECT sum(writes) FROM projects {of_project}", {"name": self.project})

        with Tracked(self.database.running, watching):
            yield changes(sum_of_writes)

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
        with self.database.lock:
            if not self.database.is_ready:
                self.database.is_ready = schema.make_ready(self, self.database, writes=writes)
            return self.database.is_ready


class _RolledBack(Exception):
    """Ends a preview."""


class Batch(PostgresTransaction):
    """A write transaction, shared by threads, one after the other, until its commit.

    Attributes:
        mark: marks the transaction in the row of the project, or of the store, to find out whether it was kept.
        number: number of transactions including it.
        memo_version: the version of the memo when it began; None if it works in the store as a whole.
    """

    def __init__(self, connection: StoreConnection, mark: bytes, row: Row) -> None:
        super().__init__(connection)
        self.mark = mark
        self.number, _, self.memo_version, self.project_id, self.seq = row
        self.members = 0
        self.began = time.monotonic()
        self.ended = threading.Event()
        self.failed: BaseException | None = None


class Writers:
    """The threads of this process that write to one project, given by name, or to the store as a whole."""

    def __init__(self, database: Database, project: str | None) -> None:
        self._database = database
        self._project = project
        # lookups of write transactions, and their version, None if unknown: of the thread whose turn it is
        self._memo: dict[tuple[Hashable, ...], Any] = {}
        self._memo_version: int | None = None
        self._lock = threading.Lock()
        # in the order of arrival; the first one's turn has come
        self._queue: deque[threading.Event] = deque()
        # what the next one may write in
        self._open: Batch | None = None

    @property
    def awaited(self) -> int:
        """Number of threads that wait for a turn."""
        return max(0, len(self._queue) - 1)

    @contextmanager
    def write(self, until: float) -> Iterator[PostgresTransaction]:
        """Wait for a turn and for the lock, and open the caller's part of a transaction; see the engine's write."""
        database, forked = self._database, forks.generation
        with self._turn(until):
            batch = self._join(until)
            try:
                with database.explaining():
                    part = batch.part() if batch.members else nullcontext()
                    with Tracked(database.running, batch), part:
                        yield batch
                        caller = caller_elsewhere()
                        if caller is not None:
                            caller.before_commit(batch)
                    batch.check_connection()
                    # an error of the caller's statements must not reach the others
                    if self.awaited and not batch.members:
                        batch.send()
            except BaseException as error:
                if forked == forks.generation:
                    self._take_back(batch, error)
                raise
            batch.members += 1
            self._open = batch
        batch.ended.wait()
        if batch.failed is not None:
            raise copy(batch.failed) from batch.failed  # each thread raises its own: a traceback belongs to one
        database.commits += 1
        if caller is not None:
            caller.after_commit()

    @contextmanager
    def _turn(self, until: float) -> Iterator[None]:
        turn, forked = threading.Event(), forks.generation
        try:
            with self._lock:
                self._queue.append(turn)
                if self._queue[0] is turn:
                    turn.set()
            if not turn.wait(until - time.monotonic()):
                raise busy(self._database.location)
            yield
        finally:
            if forked == forks.generation:
                self._leave(turn)

    def _leave(self, turn: threading.Event) -> None:
        with self._lock:
            has_turn = bool(self._queue) and self._queue[0] is turn
            if not has_turn or self._open is None or self._may_grow(self._open):
                with suppress(ValueError):
                    self._queue.remove(turn)
                if self._queue and has_turn:
                    self._queue[0].set()
                return
        try:
            self._commit_open()
        finally:
            self._leave(turn)

    def _may_grow(self, batch: Batch) -> bool:
        is_young = batch.members < MOST_TOGETHER and time.monotonic() - batch.began < LONGEST_SECONDS
        is_sent = batch.is_sent or batch.members > 1
        return is_sent and is_young and self.awaited > 0 and not self._is_alone

    @property
    def _is_alone(self) -> bool:
        # who takes long shares no transaction
        return self._database.running.has_no_deadline(threading.get_ident())

    def _join(self, until: float) -> Batch:
        if self._open is not None and self._is_alone:
            self._commit_open()
        batch, self._open = self._open or self._begin(until), None
        batch.begin_part(is_shared=batch.members > 0)
        return batch

    def _begin(self, until: float) -> Batch:
        database, mark = self._database, {"mark": os.urandom(_MARK_BYTES)}
        connection = database.borrow(until - time.monotonic())
        try:
            with database.explaining():
                settings = database.settings(round((until - time.monotonic()) * 1_000))
                rows: list[Row] = []
                if self._project is not None:
                    of_project = (_MARK_PROJECT, {**mark, "name": self._project})
                    rows = connection.run_all(_WRITE, settings, of_project)[-1].rows
                if not rows:
                    # a new project has no row to lock: only the store itself can be locked
                    connection.rollback()
                    statements = (_WRITE, settings, (schema.LOCK_STORE, None), (_MARK_STORE, mark))
                    rows = connection.run_all(*statements)[-1].rows
            batch = Batch(connection, mark["mark"], rows[0])
            if rows[0][1] > SCHEMA_VERSION:
                raise newer(database.location, rows[0][1], "written")
        except BaseException:
            database.give_back(connection)
            raise
        if batch.memo_version is None or batch.memo_version != self._memo_version:
            self._memo.clear()
        self._memo_version = None  # until the commit
        batch.memo, batch.sequences = self._memo, database.sequences
        return batch

    def _take_back(self, batch: Batch, error: BaseException) -> None:
        self._memo.clear()
        if not batch.members:
            self._database.give_back(batch.connection)
        elif batch.is_ended:
            batch.connection.close()
            self._end(batch, self._not_kept(error))
        else:
            self._open = batch

    def _commit_open(self) -> None:
        batch, self._open = self._open, None
        assert batch is not None
        # unsent statements are of this thread, which wrote alone
        is_own = batch.members < 2 and not batch.is_sent
        if batch.memo_version is None:
            batch.later(_FORGET_ALL)
        elif batch.forgot:
            batch.later(_FORGET, {"name": self._project})
        failed: BaseException | None = unknown_outcome(self._database.location)
        try:
            is_saved = batch.send(("COMMIT", None)) == "COMMIT"
            failed = None if is_saved else self._not_kept("a statement of it has failed before")
        except psycopg.Error as error:
            if batch.connection.closed:
                failed = self._find_outcome(batch, error)
            else:
                # a bug in a statement surfaces as it is, but to the thread that sent it alone
                failed = explain(error, self._database.location) or (error if is_own else self._not_kept(error))
        except BaseException:
            batch.connection.close()
            raise
        finally:
            self._end(batch, failed)

    def _find_outcome(self, batch: Batch, error: BaseException) -> SatchelError | None:
        # it asks the locked row, not pg_xact_status: a crash gives the number of a lost transaction to the
        # next one, and a commit that still runs keeps the lock. The outcome is unknown if no server responds,
        # or too much was written since
        row = "store" if batch.memo_version is None else "projects WHERE name = :name"
        marks: Statement = (f"SELECT writes, marks FROM {row} FOR UPDATE", {"name": self._project})
        until = time.monotonic() + _LOST_SECONDS
        rows: list[Row] = []
        while (seconds := until - time.monotonic()) > 0:
            try:
                with self._database.connect() as connection:
                    rows = connection.run_all(_WRITE, self._database.settings(round(seconds * 1_000)), marks)[-1].rows
                    break
            except (psycopg.Error, SatchelError):
                time.sleep(0.1)
        for number, kept in rows:
            if batch.mark in kept:
                return None
            if number - batch.number < _MARKS:  # those that came since have pushed no mark out
                return self._not_kept(error)
        return unknown_outcome(self._database.location)

    def _not_kept(self, error: object) -> Busy:
        return Busy(f"the commit has failed: {one_line(error)}", "Nothing was written; try again")

    def _end(self, batch: Batch, failed: BaseException | None) -> None:
        if failed is None and batch.memo_version is not None:
            self._memo_version = batch.memo_version + int(batch.forgot)
        else:
            self._memo.clear()
        self._database.give_back(batch.connection)
        batch.failed = failed
        batch.ended.set()
