"""Writers of a process to a store in PostgreSQL: a lock on a project's row admits one at a time, and those that wait
share the next transaction, a savepoint each: one commit, and so one fsync, keeps all their writes.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

import psycopg

from satchel.base.errors import Busy, Interrupted, SatchelError
from satchel.base.machine import caller_elsewhere
from satchel.store import forks
from satchel.store.failures import busy, newer
from satchel.store.postgres import schema
from satchel.store.postgres.database import Database, explain, one_line, unknown_outcome
from satchel.store.postgres.transaction import Counter, PostgresTransaction, Statement, StoreConnection
from satchel.store.running import Tracked
from satchel.store.schema import SCHEMA_VERSION
from satchel.store.transaction import Row

MOST_TOGETHER = 32
"""Most writes in one commit."""

LONGEST_SECONDS = 0.020
"""Age after which a shared transaction takes no more writes."""

_MARK_BYTES = 8
_MARKS_BYTES = 16 * _MARK_BYTES
"""How many bytes of marks of the last transactions are stored, the newest first."""

_LOST_SECONDS = 30.0
"""How long to ask for the outcome of a commit whose answer was lost: the server may be restarting."""

# a snapshot taken before the wait misses the claims of others in the meantime: REPEATABLE READ gave 161 claims for
# 40 paths
_WRITE: Statement = ("BEGIN ISOLATION LEVEL READ COMMITTED", None)
_MARK = f"SET writes = writes + 1, marks = substr(:mark || marks, 1, {_MARKS_BYTES})"
_MARK_PROJECT = f"""
    UPDATE projects {_MARK} WHERE name = :name
    RETURNING writes, (SELECT min_writer FROM store), id, seq, memo_version
"""
_MARK_STORE = f"UPDATE store {_MARK} RETURNING writes, min_writer"
_MARKS_OF_STORE = "SELECT writes, marks FROM store FOR UPDATE"
_MARKS_OF_PROJECT = "SELECT writes, marks FROM projects WHERE name = :name FOR UPDATE"
_FORGET = "UPDATE projects SET memo_version = memo_version + 1 WHERE name = :name"
_FORGET_ALL = "UPDATE projects SET memo_version = memo_version + 1, writes = writes + 1"
_SAVEPOINT = "satchel_write"


class Batch:
    """A write transaction with its connection, shared by threads, one after the other, until it is committed.

    Attributes:
        mark: marks the transaction in the row of the project, or of the store, to find out whether it was kept.
        number: number of transactions including it.
        memo_version: the version of the memo when it began; None if it works in the store as a whole.
        forgot: whether any of it has changed what others may have in their memo.
        counter: that of the project's changes; None if it works in the store as a whole.
    """

    def __init__(self, connection: StoreConnection) -> None:
        self.connection = connection
        self.mark = os.urandom(_MARK_BYTES)
        self.number = 0
        self.memo_version: int | None = None
        self.forgot = False
        self.counter: Counter | None = None
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
        self._memo: dict[Hashable, Any] = {}
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
            transaction = PostgresTransaction(batch.connection, (), self._memo, database.sequences, batch.counter)
            if batch.members:
                transaction.is_shared = True
                transaction.later(f"SAVEPOINT {_SAVEPOINT}")
            try:
                with database.explaining(transaction):
                    with Tracked(database.running, transaction):
                        yield transaction
                        caller = caller_elsewhere()
                        if caller is not None:
                            caller.before_commit(transaction)
                    if forked != forks.generation:
                        raise forks.refusal()
                    if transaction.is_doubtful:
                        raise Interrupted("the call was interrupted", "Nothing of it was written")
                    # an error of the caller's statements must not reach the others
                    if batch.members:
                        transaction.send((f"RELEASE SAVEPOINT {_SAVEPOINT}", None))
                    elif self.awaited:
                        transaction.send()
            except BaseException:
                if forked == forks.generation:
                    self._take_back(batch, transaction)
                raise
            batch.forgot = batch.forgot or transaction.forgot
            batch.members += 1
            if transaction.is_sent and self._may_grow(batch):
                self._open = batch
            else:
                self._commit(batch, transaction)
        batch.ended.wait()
        if batch.failed is not None:
            # each thread raises a separate error: a traceback belongs to one
            if isinstance(batch.failed, SatchelError):
                raise type(batch.failed)(batch.failed.problem, batch.failed.remedy) from batch.failed
            raise batch.failed
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
            if forked == forks.generation and not self._leave(turn):
                # nobody waits who could write in it too
                try:
                    batch, self._open = self._open, None
                    if batch is not None:
                        self._commit(batch)
                finally:
                    self._leave(turn)

    def _leave(self, turn: threading.Event) -> bool:
        # returns False if the open transaction must be committed first
        with self._lock:
            if self._queue and self._queue[0] is turn:
                if self._open is not None and not self._may_grow(self._open):
                    return False
                self._queue.popleft()
                if self._queue:
                    self._queue[0].set()
            elif turn in self._queue:
                self._queue.remove(turn)
            return True

    def _may_grow(self, batch: Batch) -> bool:
        is_young = batch.members < MOST_TOGETHER and time.monotonic() - batch.began < LONGEST_SECONDS
        return is_young and self.awaited > 0 and not self._is_alone

    @property
    def _is_alone(self) -> bool:
        # who takes long shares no transaction
        return self._database.running.has_no_deadline(get_ident())

    def _join(self, until: float) -> Batch:
        batch, self._open = self._open, None
        if batch is not None and self._is_alone:
            self._commit(batch)
            batch = None
        return batch or self._begin(until)

    def _begin(self, until: float) -> Batch:
        connection = self._database.borrow(until - time.monotonic())
        try:
            with self._database.explaining():
                batch = self._locked(connection, until)
        except BaseException:
            self._database.give_back(connection)
            raise
        if batch.memo_version is None or batch.memo_version != self._memo_version:
            self._memo.clear()
        self._memo_version = None  # until the commit
        return batch

    def _locked(self, connection: StoreConnection, until: float) -> Batch:
        batch = Batch(connection)
        settings = self._database.settings(round((until - time.monotonic()) * 1_000))
        mark = {"mark": batch.mark}
        rows: list[Row] = []
        if self._project is not None:
            of_project = (_MARK_PROJECT, {**mark, "name": self._project})
            rows = connection.run_all(_WRITE, settings, of_project)[-1].rows
            if not rows:
                # a new project has no row to lock: only the store itself can be locked
                connection.rollback()
        if rows:
            ((batch.number, needed, project_id, seq, batch.memo_version),) = rows
            batch.counter = Counter(project_id, seq)
        else:
            marked = connection.run_all(_WRITE, settings, (schema.LOCK_STORE, None), (_MARK_STORE, mark))
            ((batch.number, needed),) = marked[-1].rows
        if needed > SCHEMA_VERSION:
            raise newer(self._database.location, needed, "written")
        return batch

    def _take_back(self, batch: Batch, transaction: PostgresTransaction) -> None:
        self._memo.clear()
        if not batch.members:
            self._database.give_back(batch.connection, is_broken=transaction.is_doubtful)
            return
        try:
            transaction.roll_back_to(_SAVEPOINT)
        except BaseException as error:
            batch.connection.close()
            self._end(batch, self._not_kept(error))
            if not isinstance(error, psycopg.Error):
                raise
        else:
            self._open = batch

    def _commit(self, batch: Batch, transaction: PostgresTransaction | None = None) -> None:
        # `transaction` has the caller's unsent statements, None if it wrote nothing
        sender = transaction or PostgresTransaction(batch.connection)
        if batch.memo_version is None:
            sender.later(_FORGET_ALL)
        elif batch.forgot:
            sender.later(_FORGET, {"name": self._project})
        failed: BaseException | None = unknown_outcome(self._database.location)
        try:
            is_kept = sender.send(("COMMIT", None)) == "COMMIT"
            failed = None if is_kept else self._not_kept("a statement of it has failed before")
        except psycopg.Error as error:
            if batch.connection.closed:
                failed = self._find_outcome(batch, error)
            else:
                # that of a writer alone is about its own statements; a bug among them is no commit to the others
                explained = explain(error, self._database.location) or error
                is_own = transaction is not None and batch.members < 2
                failed = explained if is_own else self._not_kept(explained)
        except BaseException:
            batch.connection.close()
            raise
        finally:
            self._end(batch, failed)

    def _find_outcome(self, batch: Batch, error: BaseException) -> SatchelError | None:
        # it asks the locked row, not pg_xact_status: a crash gives the number of a lost transaction to the
        # next one, and a commit that still runs keeps the lock. The outcome is unknown if no server responds,
        # or too much was written since
        marks_of: Statement = (_MARKS_OF_PROJECT, {"name": self._project}) if batch.counter else (_MARKS_OF_STORE, None)
        until = time.monotonic() + _LOST_SECONDS
        pause = threading.Event()
        rows: list[Row] = []
        while (seconds := until - time.monotonic()) > 0:
            try:
                with self._database.connect() as connection:
                    settings = self._database.settings(round(seconds * 1_000))
                    rows = connection.run_all(_WRITE, settings, marks_of)[-1].rows
                    break
            except (psycopg.Error, SatchelError):
                pause.wait(0.1)
        for number, marks in rows:
            if batch.mark in marks:
                return None
            if number - batch.number < _MARKS_BYTES // _MARK_BYTES:  # those that came since have pushed no mark out
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
