"""Writing in turns: threads that wait for a project share a transaction, and one commit keeps all their writes."""

# A project has one writer at a time, which an fsync delays; the writers that wait share the next transaction, a
# savepoint each.

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from threading import get_ident
from typing import Any

import psycopg

from satchel.base.errors import Busy, Interrupted, SatchelError
from satchel.base.machine import caller_elsewhere
from satchel.store import forks
from satchel.store.failures import busy, newer
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

# a snapshot taken before the wait misses the claims of others in the meantime: REPEATABLE READ gave 161 claims for
# 40 paths
_WRITE: Statement = ("BEGIN ISOLATION LEVEL READ COMMITTED", None)
_LOCK_STORE = "SELECT pg_advisory_xact_lock(:key)"
_MARKS_OF_STORE = "SELECT writes, marks FROM store"
_MARKS_OF_PROJECT = "SELECT writes, marks FROM projects WHERE name = :name FOR UPDATE"
_LOST_SECONDS = 30.0
"""How long to ask for the outcome of a commit whose answer was lost: the server may be restarting."""

_SHARE_STORE = "pg_advisory_xact_lock_shared(:key)"
_MARK = f"SET writes = writes + 1, marks = substr(:mark || marks, 1, {_MARKS_BYTES})"
_MARK_PROJECT = f"""
    UPDATE projects {_MARK} WHERE name = :name
    RETURNING id, seq, memo_version, writes, (SELECT min_writer FROM store)
"""
_MARK_STORE = f"UPDATE store {_MARK} RETURNING writes, min_writer"
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

    def __init__(self, connection: StoreConnection, project: str | None) -> None:
        self.connection = connection
        self.project = project
        self.mark = os.urandom(_MARK_BYTES)
        self.number = 0
        self.memo_version: int | None = None
        self.forgot = False
        self.counter: Counter | None = None
        self.members = 0
        self.began = time.monotonic()
        self.ended = threading.Event()
        self.failed: SatchelError | None = None


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
        # what the first one writes in, and commits or passes on
        self._open: Batch | None = None

    @property
    def awaited(self) -> int:
        """Number of threads that wait for a turn."""
        return max(0, len(self._queue) - 1)

    @contextmanager
    def write(self, until: float) -> Iterator[PostgresTransaction]:
        """Wait for a turn and for the lock, and open the caller's part of a transaction; see the engine's write."""
        forked = forks.generation
        batch = self._take_turn(until)
        transaction = PostgresTransaction(batch.connection, (), self._memo, self._database.sequences, batch.counter)
        if batch.members:
            transaction.is_shared = True
            transaction.later(f"SAVEPOINT {_SAVEPOINT}")
        try:
            with self._database.explaining(transaction):
                with Tracked(self._database.running, transaction):
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
        self._keep(batch, transaction)
        self._database.commits += 1
        if caller is not None:
            caller.after_commit()

    def _take_turn(self, until: float) -> Batch:
        turn = threading.Event()
        try:
            with self._lock:
                self._queue.append(turn)
                if self._queue[0] is turn:
                    turn.set()
            turn.wait(until - time.monotonic())
        except BaseException:
            if self._has_come(turn):
                self._leave(self._open)
            raise
        if not self._has_come(turn):
            raise busy(self._database.location)
        batch, self._open = self._open, None
        try:
            if batch is not None and self._is_alone:
                self._commit(batch)
                batch = None
            return batch or self._begin(until)
        except BaseException:
            self._pass_on()
            raise

    def _has_come(self, turn: threading.Event) -> bool:
        with self._lock:
            if turn.is_set():
                return True
            with suppress(ValueError):
                self._queue.remove(turn)
            if self._queue:
                self._queue[0].set()
            return False

    def _pass_on(self, batch: Batch | None = None) -> bool:
        # returns False if the transaction must be committed first: nobody waits, or it is full
        with self._lock:
            if batch is not None and not (
                self.awaited and batch.members < MOST_TOGETHER and time.monotonic() - batch.began < LONGEST_SECONDS
            ):
                return False
            self._open = batch
            self._queue.popleft()
            if self._queue:
                self._queue[0].set()
            return True

    def _leave(self, batch: Batch | None) -> None:
        if not self._pass_on(batch):
            assert batch is not None
            self._commit_and_pass_on(batch)

    @property
    def _is_alone(self) -> bool:
        # who takes long shares no transaction
        return self._database.running.has_no_deadline(get_ident())

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
        batch = Batch(connection, self._project)
        key = {"key": self._database.lock_key}
        wait_ms = max(1, round((until - time.monotonic()) * 1_000))
        settings, values = self._database.settings(wait_ms, connection.version)
        rows: list[Row] = []
        if self._project is not None:
            ready = (f"{settings}, {_SHARE_STORE}", {**values, **key})
            mark = (_MARK_PROJECT, {"name": self._project, "mark": batch.mark})
            rows = connection.run_all(_WRITE, ready, mark)[-1].rows
        if rows:
            ((project_id, seq, batch.memo_version, batch.number, needed),) = rows
            batch.counter = Counter(project_id, seq)
        else:
            # a new project has no row to lock: only the store itself can be locked
            batch.project = None
            if self._project is not None:
                connection.rollback()
            mark = (_MARK_STORE, {"mark": batch.mark})
            *_, marked = connection.run_all(_WRITE, (settings, values), (_LOCK_STORE, key), mark)
            ((batch.number, needed),) = marked.rows
        if needed > SCHEMA_VERSION:
            raise newer(self._database.location, needed, "written")
        return batch

    def _keep(self, batch: Batch, transaction: PostgresTransaction) -> None:
        batch.forgot = batch.forgot or transaction.forgot
        batch.members += 1
        if transaction.is_sent and not self._is_alone and self._pass_on(batch):
            batch.ended.wait()
            if batch.failed is not None:
                # each thread raises a separate error: a traceback belongs to one
                raise type(batch.failed)(batch.failed.problem, batch.failed.remedy) from batch.failed
        elif (failed := self._commit_and_pass_on(batch, transaction)) is not None:
            raise failed

    def _take_back(self, batch: Batch, transaction: PostgresTransaction) -> None:
        self._memo.clear()
        if not batch.members:
            self._database.give_back(batch.connection, is_broken=transaction.is_doubtful)
            self._pass_on()
            return
        try:
            transaction.roll_back_to(_SAVEPOINT)
        except BaseException as error:
            batch.connection.close()
            self._end(batch, self._not_kept(error))
            self._pass_on()
            if not isinstance(error, psycopg.Error):
                raise
        else:
            self._leave(batch)

    def _commit_and_pass_on(self, batch: Batch, transaction: PostgresTransaction | None = None) -> BaseException | None:
        try:
            return self._commit(batch, transaction)
        finally:
            self._pass_on()

    def _commit(self, batch: Batch, transaction: PostgresTransaction | None = None) -> BaseException | None:
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
        except BaseException as error:
            if isinstance(error, psycopg.Error) and not batch.connection.closed:
                # that of a writer alone is about its own statements
                explained = explain(error, self._database.location) or error
                failed = explained if batch.members < 2 else self._not_kept(explained)
            else:
                batch.connection.close()
                failed = self._find_outcome(batch, error)
            if not isinstance(error, psycopg.Error):
                raise
        finally:
            self._end(batch, failed)
        return failed

    def _find_outcome(self, batch: Batch, error: BaseException) -> SatchelError | None:
        # it asks the locked row, not pg_xact_status: a crash gives the number of a lost transaction to the
        # next one, and a commit that still runs keeps the lock. The outcome is unknown if no server responds,
        # or too much was written since
        asking: list[Statement] = [(_MARKS_OF_PROJECT, {"name": batch.project})]
        if batch.project is None:
            asking = [(_LOCK_STORE, {"key": self._database.lock_key}), (_MARKS_OF_STORE, None)]
        until = time.monotonic() + _LOST_SECONDS
        pause = threading.Event()
        rows: list[Row] = []
        while (seconds := until - time.monotonic()) > 0:
            try:
                with self._database.connect() as connection:
                    settings = self._database.settings(round(seconds * 1_000))
                    rows = connection.run_all(_WRITE, settings, *asking)[-1].rows
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
        # a bug, which its writer raises as it is, is no commit to the others
        batch.failed = failed if failed is None or isinstance(failed, SatchelError) else self._not_kept(failed)
        batch.ended.set()
