"""Writing in turns: the thread whose turn it is holds the project's row, and the last one commits for all."""

from __future__ import annotations

import time
from threading import get_ident

import psycopg

from satchel.base.errors import Busy, NotKept, SatchelError
from satchel.store.failures import newer
from satchel.store.postgres import failures
from satchel.store.postgres.connection import StoreConnection
from satchel.store.postgres.database import LOCK_STORE, MARKS_BYTES, WRITE, Database, Shared
from satchel.store.postgres.group import Batch
from satchel.store.postgres.transaction import Counter, PostgresTransaction
from satchel.store.schema import SCHEMA_VERSION
from satchel.store.transaction import Row

_SHARE_STORE = "pg_advisory_xact_lock_shared(:key)"
_MARK = f"SET writes = writes + 1, marks = substr(:mark || marks, 1, {MARKS_BYTES})"
_MARK_PROJECT = f"""
    UPDATE projects {_MARK} WHERE name = :name
    RETURNING id, seq, memo_version, writes, (SELECT min_writer FROM store)
"""
_MARK_STORE = f"UPDATE store {_MARK} RETURNING writes, min_writer"
_FORGET = "UPDATE projects SET memo_version = memo_version + 1 WHERE name = :name"
_FORGET_ALL = "UPDATE projects SET memo_version = memo_version + 1, writes = writes + 1"
_SAVEPOINT = "satchel_write"


class Writer:
    """Writes to one project of a store, given by name, or to the store as a whole."""

    def __init__(self, database: Database, project: str | None) -> None:
        self._database = database
        self._project = project
        self._turns = database.turns(project)

    def begin(self, until: float) -> tuple[Batch[Shared], PostgresTransaction]:
        """Wait for a turn and for the lock; return the shared transaction, and the caller's own part of it."""
        batch = self._take_turn(until)
        shared = batch.work
        transaction = PostgresTransaction(
            shared.connection, (), self._turns.memo, self._database.sequences, shared.counter
        )
        if batch.members:
            transaction.is_shared = True
            transaction.later(f"SAVEPOINT {_SAVEPOINT}")
        return batch, transaction

    def finish(self, batch: Batch[Shared], transaction: PostgresTransaction) -> bool:
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

    def keep(self, batch: Batch[Shared], transaction: PostgresTransaction, *, is_sent: bool) -> None:
        """Return once the caller's writes are committed.

        Raises:
            SatchelError, psycopg.Error: they are not.
        """
        batch.work.forgot = batch.work.forgot or transaction.forgot
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

    def _take_turn(self, until: float) -> Batch[Shared]:
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
            shared = self._begin(until)
        except BaseException:
            self._turns.pass_on(None)
            raise
        if shared.memo_version is None or shared.memo_version != self._turns.memo_version:
            self._turns.memo.clear()
        self._turns.memo_version = None  # until the commit
        return Batch(shared)

    def _leave(self, batch: Batch[Shared] | None) -> None:
        """End a turn without writes, and make sure that the others' writes are committed."""
        if not self._turns.pass_on(batch):
            assert batch is not None
            self._commit(batch, None)

    def _begin(self, until: float) -> Shared:
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

    def _locked(self, connection: StoreConnection, until: float) -> Shared:
        """Begin a transaction on a connection, in one round trip if the project has a row."""
        shared = Shared(connection, self._project)
        key = {"key": self._database.lock_key}
        wait_ms = max(1, round((until - time.monotonic()) * 1_000))
        settings, values = self._database.settings(wait_ms, connection.version)
        rows: list[Row] = []
        if self._project is not None:
            ready = (f"{settings}, {_SHARE_STORE}", {**values, **key})
            mark = (_MARK_PROJECT, {"name": self._project, "mark": shared.mark})
            rows = connection.run_all(WRITE, ready, mark)[-1].rows
        if rows:
            ((project_id, seq, shared.memo_version, shared.number, needed),) = rows
            shared.counter = Counter(project_id, seq)
        else:
            # a new project has no row to lock: only the store itself can be locked
            shared.project = None
            if self._project is not None:
                connection.rollback()
            mark = (_MARK_STORE, {"mark": shared.mark})
            *_, marked = connection.run_all(WRITE, (settings, values), (LOCK_STORE, key), mark)
            ((shared.number, needed),) = marked.rows
        if needed > SCHEMA_VERSION:
            raise newer(self._database.location, needed, "written")
        return shared

    def take_back(self, batch: Batch[Shared], transaction: PostgresTransaction) -> None:
        """Roll back the caller's writes, and make sure that the others' writes are committed."""
        self._turns.memo.clear()
        if batch.members:
            try:
                transaction.roll_back_to(_SAVEPOINT)
            except psycopg.Error as error:
                self._end(batch, self._not_kept(error))
            except BaseException:
                batch.work.connection.close()
                self._end(batch, self._not_kept("it was interrupted"))
                raise
            else:
                self._leave(batch)
            return
        connection = batch.work.connection
        is_broken = transaction.is_doubtful or connection.closed or connection.broken
        self._database.give_back(connection, is_broken=is_broken)
        self._turns.pass_on(None)

    def _commit(
        self, batch: Batch[Shared], transaction: PostgresTransaction | None, *, keeps_turn: bool = False
    ) -> BaseException | None:
        """Commit, tell the others the outcome, and end the turn; return the error to raise, None if all was kept.

        `transaction` has the caller's unsent statements, None if it wrote nothing; `keeps_turn` does not end the turn.
        """
        shared = batch.work
        sender = transaction or PostgresTransaction(shared.connection)
        is_whole = shared.memo_version is None
        if is_whole:
            sender.later(_FORGET_ALL)
        elif shared.forgot:
            sender.later(_FORGET, {"name": self._project})
        failed: BaseException | None = None
        try:
            if sender.send(("COMMIT", None)) != "COMMIT":
                failed = self._not_kept("a statement of it has failed before")
        except psycopg.Error as error:
            failed = self._failed_commit(batch, error)
        except BaseException:
            shared.connection.close()
            failed = failures.unknown_outcome(self._database.location)
            try:
                failed = self._find_outcome(batch, "it was interrupted")
            finally:
                self._end(batch, failed)
            raise
        if failed is None and shared.memo_version is not None:
            self._turns.memo_version = shared.memo_version + int(shared.forgot)
        else:
            self._turns.memo.clear()
        self._end(batch, failed, keeps_turn=keeps_turn)
        return failed

    def _failed_commit(self, batch: Batch[Shared], error: psycopg.Error) -> BaseException | None:
        """Return the error for a failed commit; None if it was kept all the same."""
        connection = batch.work.connection
        if not (connection.closed or connection.broken):
            return self._not_kept(error) if batch.members > 1 else self._database.explained(error)
        return self._find_outcome(batch, error)

    def _find_outcome(self, batch: Batch[Shared], error: psycopg.Error | str) -> SatchelError | None:
        """Find out how a commit ended; return its error, None if it was kept."""
        is_kept = self._database.was_kept(batch.work)
        if is_kept is None:
            return failures.unknown_outcome(self._database.location)
        return None if is_kept else self._not_kept(error)

    def _not_kept(self, error: psycopg.Error | str) -> NotKept:
        cause = error if isinstance(error, str) else self._database.explained(error)
        return NotKept(f"the commit has failed: {cause}", "Nothing was written; try again")

    def _end(self, batch: Batch[Shared], failed: BaseException | None, *, keeps_turn: bool = False) -> None:
        connection = batch.work.connection
        self._database.give_back(connection, is_broken=connection.closed or connection.broken)
        batch.end(failed if isinstance(failed, SatchelError) else None)
        if not keeps_turn:
            self._turns.pass_on(None)
