"""The embedded engine: one SQLite file, one writer behind a lock, readers beside it."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import apsw

from satchel.base.clock import Clock, system_clock
from satchel.base.errors import Busy, Interrupted, ReadOnly, SatchelError
from satchel.store import migrations, opening
from satchel.store.failures import explain
from satchel.store.opening import Access
from satchel.store.turnstile import Turnstile

Row = tuple[Any, ...]
Parameters = Mapping[str, Any]

_LONGEST_TURN_SECONDS = 2.0
_IDLE_READERS = 4


class Transaction:
    """The statements of one transaction, with ``:name`` parameters. Rows are tuples."""

    __slots__ = ("connection", "interrupted")

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.interrupted = False

    def execute(self, sql: str, parameters: Parameters | None = None) -> int:
        """Run one statement and return how many rows it changed."""
        self._check()
        self.connection.execute(sql, parameters)
        return self.connection.changes()

    def many(self, sql: str, rows: Iterable[Parameters]) -> None:
        """Run one statement once for every row of parameters."""
        self._check()
        self.connection.executemany(sql, rows)

    def one(self, sql: str, parameters: Parameters | None = None) -> Row | None:
        """Run one statement and return its first row, or None."""
        self._check()
        cursor = self.connection.execute(sql, parameters)
        row: Row | None = cursor.fetchone()
        cursor.close()
        return row

    def all(self, sql: str, parameters: Parameters | None = None) -> list[Row]:
        """Run one statement and return all of its rows."""
        self._check()
        return list(self.connection.execute(sql, parameters))

    def _check(self) -> None:
        if self.interrupted:
            raise Interrupted("the call was interrupted", "Nothing of it was written")


class SqliteEngine:
    """A store in one SQLite file.

    Nothing is opened or made before the first transaction, and reading never makes a file. Safe to share between
    threads; after a fork the child opens connections of its own.

    Args:
        access: the file and how to open it.
        read_only: refuse every write, even where the file could be written.
        clock: what migrations are stamped with.
        backups_keep: how many automatic backups are kept.
    """

    def __init__(
        self,
        access: Access,
        *,
        read_only: bool = False,
        clock: Clock = system_clock,
        backups_keep: int = 10,
    ) -> None:
        self.access = access
        self.read_only = read_only
        self.clock = clock
        self.backups_keep = backups_keep
        self._writer: apsw.Connection | None
        self._readers: list[apsw.Connection]
        self._running: dict[int, Transaction]
        self._identity: tuple[int, int] | None
        self._start_afresh()
        _ENGINES.add(self)

    @property
    def file(self) -> Path:
        """The database file."""
        return self.access.file

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Open a read transaction: everything read inside it belongs to one snapshot.

        Raises:
            StoreForeign, StoreDamaged, StoreNewer: the file cannot be read as a store.
        """
        try:
            connection, generation = self._borrow_reader()
            try:
                connection.execute("BEGIN")
                with self._tracked(connection) as transaction:
                    yield transaction
                connection.execute("COMMIT")
            finally:
                self._return_reader(connection, generation)
        except apsw.Error as error:
            self._raise_explained(error)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Open a write transaction; it is durable once the block is left without an error, else rolled back.

        Raises:
            Busy: the store stayed locked for longer than the wait.
            ReadOnly: the store cannot be written.
            StoreNewer: the store needs a newer program; it was left untouched.
            StoreFull: the disk is full; nothing was written.
        """
        deadline = time.monotonic() + self.access.wait_ms / 1_000
        if not self._write_lock.acquire(timeout=self.access.wait_ms / 1_000):
            raise Busy(
                f"other threads kept {self.file} busy for longer than the wait",
                "Nothing was written; try again, or raise store.lock_wait_ms",
            )
        try:
            connection = self._ready_writer()
            self._turnstile.enter(min(_LONGEST_TURN_SECONDS, (deadline - time.monotonic()) / 2))
            try:
                connection.set_busy_timeout(max(1, round((deadline - time.monotonic()) * 1_000)))
                connection.execute("BEGIN IMMEDIATE")
                try:
                    migrations.check_writable(connection, self.file)
                    with self._tracked(connection) as transaction:
                        yield transaction
                    connection.execute("COMMIT")
                except BaseException:
                    opening.roll_back(connection)
                    raise
            finally:
                self._turnstile.leave()
        except apsw.Error as error:
            self._raise_explained(error)
        finally:
            self._write_lock.release()

    @contextmanager
    def exclusive(self) -> Iterator[apsw.Connection]:
        """Hand out the write connection outside any transaction, for upkeep such as VACUUM and backup.

        Other threads wait; other processes are kept out by SQLite alone.
        """
        try:
            with self._write_lock:
                yield self._ready_writer()
        except apsw.Error as error:
            self._raise_explained(error)

    def interrupter(self) -> Callable[[], None]:
        """Return a function that interrupts whatever transaction the calling thread has open when it is called."""
        thread = threading.get_ident()

        def interrupt() -> None:
            with self._tracking_lock:
                transaction = self._running.get(thread)
                if transaction is not None:
                    transaction.interrupted = True
                    transaction.connection.interrupt()

        return interrupt

    def check_again(self) -> None:
        """Look at the file anew before the next transaction, as after it was replaced by another state."""
        self._identity = None

    def close(self) -> None:
        """Close every connection. The engine may be used again: it opens what it needs."""
        with self._write_lock:
            writer, self._writer = self._writer, None
            self._turnstile.close()
            while self._readers:
                self._readers.pop().close()
            if writer is not None:
                writer.close()

    def _start_afresh(self) -> None:
        self._writer = None
        self._readers = []
        self._running = {}
        self._identity = None
        self._generation = 1
        self._turnstile = Turnstile(self.file)
        self._write_lock = threading.Lock()
        self._tracking_lock = threading.Lock()

    def _raise_explained(self, error: apsw.Error) -> NoReturn:
        known = explain(error, self.file)
        if known is None:
            raise error
        raise known from error

    def _tracked(self, connection: apsw.Connection) -> _Tracked:
        return _Tracked(self, Transaction(connection))

    def _borrow_reader(self) -> tuple[apsw.Connection, int]:
        identity = _identity(self.file)
        if identity is None:
            return migrations.empty_store(), 0
        if identity != self._identity:
            self._make_ready(identity)
        with suppress(IndexError):
            return self._readers.pop(), self._generation
        return opening.open_reader(self.access, writable=opening.is_writable(self.file)), self._generation

    def _return_reader(self, connection: apsw.Connection, generation: int) -> None:
        if (
            generation == self._generation
            and len(self._readers) < _IDLE_READERS
            and not connection.in_transaction
            and opening.is_reusable(connection)
        ):
            self._readers.append(connection)
        else:
            opening.roll_back(connection)
            connection.close()

    def _ready_writer(self) -> apsw.Connection:
        if self.read_only:
            raise ReadOnly(f"{self.file} was opened for reading only", "Open it without --read-only to write")
        identity = _identity(self.file)
        if self._writer is None or identity != self._identity:
            if identity is None:
                opening.prepare_file(self.access)
                identity = _identity(self.file)
            elif not opening.is_writable(self.file):
                raise ReadOnly(
                    f"{self.file} cannot be written here",
                    "Reading works; check the permissions of the file and its folder, and how the disk is mounted",
                )
            self._make_ready(identity, locked=True)
            if self._writer is None:
                self._writer = opening.open_writable(self.access)
        return self._writer

    def _make_ready(self, identity: tuple[int, int] | None, *, locked: bool = False) -> None:
        """Drop the connections to a file that was replaced, check the one that is there, and migrate it."""
        if not locked:
            with self._write_lock:
                return self._make_ready(identity, locked=True)
        if identity == self._identity:
            return None
        stale = [*self._readers, *([self._writer] if self._writer is not None else [])]
        self._readers, self._writer, self._identity = [], None, None
        self._generation += 1
        for connection in stale:
            connection.close()
        opening.check_header(self.file)
        reader = migrations.bring_up_to_date(
            self.access,
            self._turnstile,
            writable=not self.read_only and opening.is_writable(self.file),
            clock=self.clock,
            backups_keep=self.backups_keep,
        )
        self._identity = identity
        self._return_reader(reader, self._generation)
        return None


class _Tracked:
    """Lets a thread's transaction be interrupted while it is open. A class, since this is on the path of every call."""

    __slots__ = ("engine", "outer", "thread", "transaction")

    def __init__(self, engine: SqliteEngine, transaction: Transaction) -> None:
        self.engine = engine
        self.transaction = transaction

    def __enter__(self) -> Transaction:
        running = self.engine._running  # noqa: SLF001 -- the engine's own part
        self.thread = threading.get_ident()
        self.outer = running.get(self.thread)
        running[self.thread] = self.transaction
        return self.transaction

    def __exit__(self, *_: object) -> None:
        with self.engine._tracking_lock:  # noqa: SLF001 -- the engine's own part
            if self.outer is None:
                del self.engine._running[self.thread]  # noqa: SLF001
            else:
                self.engine._running[self.thread] = self.outer  # noqa: SLF001


_ENGINES: weakref.WeakSet[SqliteEngine] = weakref.WeakSet()
_LEFT_TO_THE_PARENT: list[apsw.Connection] = []


def _forget_in_forked_child() -> None:
    """Drop what the parent opened: its connections are leaked on purpose, its lock files closed.

    A connection carried across a fork corrupts the file, and closing it here could delete the WAL under the parent; an
    open lock file would keep the parent's lock after the parent was killed.
    """
    import ctypes

    for engine in _ENGINES:
        inherited = [*engine._readers, *(tx.connection for tx in engine._running.values())]  # noqa: SLF001
        if engine._writer is not None:  # noqa: SLF001
            inherited.append(engine._writer)  # noqa: SLF001
        for connection in inherited:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
        _LEFT_TO_THE_PARENT.extend(inherited)
        engine._turnstile.close()  # noqa: SLF001
        engine._start_afresh()  # noqa: SLF001


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_forked_child)


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(file)  # noqa: PTH116 -- twice as fast as Path.stat, and on the path of every call
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SatchelError(f"{file} cannot be looked at: {error.strerror}", "Check the path") from error
    return status.st_dev, status.st_ino
