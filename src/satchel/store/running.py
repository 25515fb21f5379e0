"""The transactions that are open: how another thread interrupts one, and how long a statement may take."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from satchel.base.errors import TimedOut
from satchel.store.sqlite_transaction import SqliteTransaction

DEADLINE_SECONDS = 30.0
"""How long a statement may run, but for migrations, rebuilding, checks, backups, compacting and imports."""

# about 2 ms of work between two looks; measured, searching and writing take as long as without
_STEPS_BETWEEN_LOOKS = 100_000


class Running:
    """The open transaction of each thread of one engine.

    Args:
        file: of the store, for messages.

    Attributes:
        transactions: by the number of their thread.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.transactions: dict[int, SqliteTransaction]
        self._left_out: dict[int, int]
        self._unhurried: dict[int, int]
        self.start_afresh()

    def start_afresh(self) -> None:
        """Forget all, as in a forked child: another thread of the parent may have held the lock."""
        self.transactions = {}
        self._left_out = {}
        self._unhurried = {}
        self._lock = threading.Lock()

    def connections(self) -> list[apsw.Connection]:
        """Return the connections of all open transactions."""
        return [transaction.connection for transaction in self.transactions.values()]

    def watched(self, connection: apsw.Connection) -> apsw.Connection:
        """Return a connection whose statements end when they are overdue."""
        connection.set_progress_handler(self._is_overdue, _STEPS_BETWEEN_LOOKS)
        return connection

    def interrupter(self) -> Callable[[], None]:
        """Return a function that interrupts whatever transaction the calling thread has open when it is called."""
        thread = threading.get_ident()

        def interrupt() -> None:
            with self._lock:
                transaction = self.transactions.get(thread)
                if transaction is not None:
                    transaction.interrupted = True
                    transaction.connection.interrupt()

        return interrupt

    @contextmanager
    def without_deadline(self) -> Iterator[None]:
        """Let the statements of the calling thread take as long as they need: for upkeep that reads or writes all."""
        thread = threading.get_ident()
        self._unhurried[thread] = self._unhurried.get(thread, 0) + 1
        try:
            yield
        finally:
            self._unhurried[thread] -= 1

    def _is_overdue(self) -> bool:
        """Called by SQLite now and then while a statement runs: whether to end it."""
        thread = threading.get_ident()
        transaction = self.transactions.get(thread)
        if transaction is None or self._unhurried.get(thread):
            return False
        if transaction.is_out_of_time is not None and transaction.is_out_of_time():
            return True
        now = time.monotonic()
        if not transaction.started:
            transaction.started = now
        transaction.is_overdue = now - transaction.started > DEADLINE_SECONDS
        return transaction.is_overdue

    def take_note(self) -> str | None:
        """Say how many rows were left out in this thread since it was last asked, or None."""
        rows = self._left_out.pop(threading.get_ident(), 0)
        if not rows:
            return None
        return f"{rows} rows were left out: text of theirs is not UTF-8; `satchel doctor` names them"

    def leave(self, thread: int, transaction: SqliteTransaction, outer: SqliteTransaction | None) -> None:
        """Make the transaction around it the thread's again."""
        if transaction.left_out:
            self._left_out[thread] = self._left_out.get(thread, 0) + transaction.left_out
        with self._lock:
            if outer is None:
                self.transactions.pop(thread, None)  # gone already in a forked child
            else:
                # what came too late for this one is meant for the call as a whole
                outer.interrupted = outer.interrupted or transaction.interrupted
                self.transactions[thread] = outer


class Tracked:
    """Lets a thread's transaction be interrupted while it is open. A class, since this is on the path of every call."""

    __slots__ = ("outer", "running", "thread", "transaction")

    def __init__(self, running: Running, transaction: SqliteTransaction) -> None:
        self.running = running
        self.transaction = transaction

    def __enter__(self) -> SqliteTransaction:
        transactions = self.running.transactions
        self.thread = threading.get_ident()
        self.outer = transactions.get(self.thread)
        transactions[self.thread] = self.transaction
        return self.transaction

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.running.leave(self.thread, self.transaction, self.outer)
        if self.transaction.is_overdue and isinstance(error, apsw.InterruptError):
            raise TimedOut(
                f"a statement on {self.running.file} ran for longer than {DEADLINE_SECONDS:g} seconds",
                "Nothing was written; ask for less at once, or look at the store with `satchel doctor`",
            ) from error
