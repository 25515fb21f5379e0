"""Writing in turns: threads that wait for a project share a transaction, and one commit keeps all their writes.

A project has one writer at a time, which an fsync delays; the writers that wait share the next transaction, a
savepoint each.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from threading import get_ident
from typing import Any

import psycopg

from satchel.base.errors import Busy, NotKept, SatchelError
from satchel.store.failures import newer
from satchel.store.postgres.connection import Statement, StoreConnection
from satchel.store.postgres.database import Database, unknown_outcome
from satchel.store.postgres.transaction import Counter, PostgresTransaction
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
        project: by name; None works in the store as a whole.
        mark: marks the transaction in the row of the project, or of the store, to find out whether it was kept.
        number: number of transactions including it.
        memo_version: the version of the memo when it began; None if it works in the store as a whole.
        forgot: whether any of it has changed what others may have in their memo.
        counter: that of the project's changes; None if it works in the store as a whole.
        members: how many threads have written in it.
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
        self.failed: SatchelError | None = None
        self._ended = threading.Event()

    def end(self, failed: SatchelError | None = None) -> None:
        """Publish the outcome of the commit to all members."""
        self.failed = failed
        self._ended.set()

    def outcome(self) -> SatchelError | None:
        """Wait for the commit; return its error, or None if it was kept."""
        self._ended.wait()
        return self.failed


class _Waiting:
    __slots__ = ("batch", "granted", "is_granted")

    def __init__(self) -> None:
        self.granted = threading.Event()
        self.is_granted = False
        self.batch: Batch | None = None


class Turns:
    """Queue of writers, in the order of arrival.

    Attributes:
        memo: lookups of write transactions; belongs to the thread whose turn it is.
        memo_version: its version; None if unknown.
    """

    def __init__(self) -> None:
        self.memo: dict[Hashable, Any] = {}
        self.memo_version: int | None = None
        self._lock = threading.Lock()
        self._is_taken = False
        self._waiting: deque[_Waiting] = deque()

    def take(self, seconds: float, leave: Callable[[Batch | None], None]) -> Batch | None:
        """Wait for a turn; return the transaction of the writers before, to write in and to commit or pass on, if any.

        `leave` ends a turn that is granted to a thread whose wait is interrupted.

        Raises:
            TimeoutError: no turn was granted in time.
        """
        one = _Waiting()
        try:
            with self._lock:
                if self._is_taken:
                    self._waiting.append(one)
                else:
                    self._is_taken = one.is_granted = True
            if not one.is_granted:
                one.granted.wait(seconds)
        except BaseException:
            if not self._is_given_up(one):
                leave(one.batch)
            raise
        if self._is_given_up(one):
            raise TimeoutError
        return one.batch

    @property
    def awaited(self) -> int:
        """Number of threads that wait for a turn."""
        return len(self._waiting)

    def _is_given_up(self, one: _Waiting) -> bool:
        """Stop waiting, unless the turn was granted."""
        with self._lock:
            if one in self._waiting:
                self._waiting.remove(one)
            return not one.is_granted

    def pass_on(self, batch: Batch | None) -> bool:
        """End a turn, and pass an uncommitted transaction to the next writer.

        Returns False if the transaction must be committed first: nobody waits, or it is full.
        """
        with self._lock:
            may_share = batch is None or (
                batch.members < MOST_TOGETHER and time.monotonic() - batch.began < LONGEST_SECONDS
            )
            if batch is not None and not (self._waiting and may_share):
                return False
            if self._waiting:
                following = self._waiting.popleft()
                following.batch, following.is_granted = batch, True
                following.granted.set()
            else:
                self._is_taken = False
            return True


class Writer:
    """Writes to one project of a store, given by name, or to the store as a whole."""

    def __init__(self, database: Database, project: str | None) -> None:
        self._database = database
        self._project = project
        self._turns = database.turns.setdefault(project, Turns())

    def begin(self, until: float) -> tuple[Batch, PostgresTransaction]:
        """Wait for a turn and for the lock; return the shared transaction, and the caller's own part of it."""
        batch = self._take_turn(until)
        transaction = PostgresTransaction(
            batch.connection, (), self._turns.memo, self._database.sequences, batch.counter
        )
        if batch.members:
            transaction.is_shared = True
            transaction.later(f"SAVEPOINT {_SAVEPOINT}")
        return batch, transaction

    def finish(self, batch: Batch, transaction: PostgresTransaction) -> bool:
        """Send the caller's part if others depend on it; return whether everything was sent.

        Errors belong to the caller alone.
        """
        if batch.members:
            transaction.send((f"RELEASE SAVEPOINT {_SAVEPOINT}", None))
        elif self._turns.awaited:
            transaction.send()
        else:
            return False
        return True

    def keep(self, batch: Batch, transaction: PostgresTransaction, *, is_sent: bool) -> None:
        """Return once the caller's writes are committed.

        Raises:
            SatchelError, psycopg.Error: they are not.
        """
        batch.forgot = batch.forgot or transaction.forgot
        batch.members += 1
        if is_sent and not self._is_alone and self._turns.pass_on(batch):
            together = batch.outcome()
            if together is not None:
                # each thread raises a separate error: a traceback belongs to one
                raise type(together)(together.problem, together.remedy) from together
        else:
            failed = self._commit(batch, transaction)
            if failed is not None:
                raise failed

    @property
    def _is_alone(self) -> bool:
        """Whether the calling thread shares no transaction: as requested, or because it takes long."""
        return self._database.alone.is_requested or self._database.running.has_no_deadline(get_ident())

    def _take_turn(self, until: float) -> Batch:
        """Return a transaction that holds the project's lock: the previous writer's, or a new one."""
        try:
            batch = self._turns.take(until - time.monotonic(), self._leave)
        except TimeoutError:
            raise Busy(
                f"other threads kept {self._database.location} busy for longer than the wait",
                "Nothing was written; try again, or raise store.lock_wait_ms",
            ) from None
        if batch is not None and self._is_alone:
            self._commit(batch, None, keeps_turn=True)
            batch = None
        if batch is not None:
            return batch
        try:
            batch = self._begin(until)
        except BaseException:
            self._turns.pass_on(None)
            raise
        if batch.memo_version is None or batch.memo_version != self._turns.memo_version:
            self._turns.memo.clear()
        self._turns.memo_version = None  # until the commit
        return batch

    def _leave(self, batch: Batch | None) -> None:
        """End a turn without writes, and make sure that the others' writes are committed."""
        if not self._turns.pass_on(batch):
            assert batch is not None
            self._commit(batch, None)

    def _begin(self, until: float) -> Batch:
        """Begin a transaction that holds the lock; retry once after a lost connection."""
        for is_last in (False, True):
            connection = self._database.borrow(max(0.1, until - time.monotonic()))
            try:
                return self._locked(connection, until)
            except psycopg.Error as error:
                is_lost = connection.closed or connection.broken
                self._database.give_back(connection, is_broken=is_lost)
                if is_last or not is_lost:
                    raise self._database.explained(error) from error
            except BaseException:
                self._database.give_back(connection)
                raise
        raise AssertionError

    def _locked(self, connection: StoreConnection, until: float) -> Batch:
        """Begin a transaction on a connection, in one round trip if the project has a row."""
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

    def take_back(self, batch: Batch, transaction: PostgresTransaction) -> None:
        """Roll back the caller's writes, and make sure that the others' writes are committed."""
        self._turns.memo.clear()
        if batch.members:
            try:
                transaction.roll_back_to(_SAVEPOINT)
            except psycopg.Error as error:
                self._end(batch, self._not_kept(error))
            except BaseException:
                batch.connection.close()
                self._end(batch, self._not_kept("it was interrupted"))
                raise
            else:
                self._leave(batch)
            return
        connection = batch.connection
        is_broken = transaction.is_doubtful or connection.closed or connection.broken
        self._database.give_back(connection, is_broken=is_broken)
        self._turns.pass_on(None)

    def _commit(
        self, batch: Batch, transaction: PostgresTransaction | None, *, keeps_turn: bool = False
    ) -> BaseException | None:
        """Commit, tell the others the outcome, and end the turn; return the error to raise, None if all was kept.

        `transaction` has the caller's unsent statements, None if it wrote nothing; `keeps_turn` does not end the turn.
        """
        sender = transaction or PostgresTransaction(batch.connection)
        is_whole = batch.memo_version is None
        if is_whole:
            sender.later(_FORGET_ALL)
        elif batch.forgot:
            sender.later(_FORGET, {"name": self._project})
        failed: BaseException | None = None
        try:
            if sender.send(("COMMIT", None)) != "COMMIT":
                failed = self._not_kept("a statement of it has failed before")
        except psycopg.Error as error:
            failed = self._failed_commit(batch, error)
        except BaseException:
            batch.connection.close()
            failed = unknown_outcome(self._database.location)
            try:
                failed = self._find_outcome(batch, "it was interrupted")
            finally:
                self._end(batch, failed)
            raise
        if failed is None and batch.memo_version is not None:
            self._turns.memo_version = batch.memo_version + int(batch.forgot)
        else:
            self._turns.memo.clear()
        self._end(batch, failed, keeps_turn=keeps_turn)
        return failed

    def _failed_commit(self, batch: Batch, error: psycopg.Error) -> BaseException | None:
        """Return the error for a failed commit; None if it was kept all the same."""
        connection = batch.connection
        if not (connection.closed or connection.broken):
            return self._not_kept(error) if batch.members > 1 else self._database.explained(error)
        return self._find_outcome(batch, error)

    def _find_outcome(self, batch: Batch, error: psycopg.Error | str) -> SatchelError | None:
        """Find out how a commit ended; return its error, None if it was kept."""
        is_kept = self._was_kept(batch)
        if is_kept is None:
            return unknown_outcome(self._database.location)
        return None if is_kept else self._not_kept(error)

    def _was_kept(self, batch: Batch) -> bool | None:
        """Return whether a commit was kept whose answer was lost; None if that cannot be found out.

        It asks the locked row, not pg_xact_status: a crash gives the number of a lost transaction to the next one, and
        a commit that still runs keeps the lock. The outcome is unknown if no server responds, or too much was written
        since.
        """
        until = time.monotonic() + _LOST_SECONDS
        pause = threading.Event()
        while (seconds := until - time.monotonic()) > 0:
            try:
                with self._database.connect() as connection:
                    begin = (_WRITE, self._database.settings(round(seconds * 1_000)))
                    if batch.project is None:
                        lock = (_LOCK_STORE, {"key": self._database.lock_key})
                        *_, result = connection.run_all(*begin, lock, (_MARKS_OF_STORE, None))
                    else:
                        *_, result = connection.run_all(*begin, (_MARKS_OF_PROJECT, {"name": batch.project}))
            except (psycopg.Error, SatchelError):
                pause.wait(0.1)
                continue
            if not result.rows:
                return None
            ((number, marks),) = result.rows
            if batch.mark in (marks[start : start + _MARK_BYTES] for start in range(0, len(marks), _MARK_BYTES)):
                return True
            # those that came since have pushed no mark out
            return False if number - batch.number < _MARKS_BYTES // _MARK_BYTES else None
        return None

    def _not_kept(self, error: psycopg.Error | str) -> NotKept:
        cause = error if isinstance(error, str) else self._database.explained(error)
        return NotKept(f"the commit has failed: {cause}", "Nothing was written; try again")

    def _end(self, batch: Batch, failed: BaseException | None, *, keeps_turn: bool = False) -> None:
        connection = batch.connection
        self._database.give_back(connection, is_broken=connection.closed or connection.broken)
        batch.end(failed if isinstance(failed, SatchelError) else None)
        if not keeps_turn:
            self._turns.pass_on(None)
