"""SQLite engine: one file, one writer behind a lock, and concurrent readers."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

import apsw

from satchel.base.clock import Clock, iso, system_clock
from satchel.base.errors import IoError, ReadOnly
from satchel.base.machine import caller_elsewhere
from satchel.base.paths import refuse_network_filesystem
from satchel.store import forks, migrations, opening
from satchel.store.engine import State, changes
from satchel.store.failures import busy, explain, missing, unknown_outcome
from satchel.store.opening import Access
from satchel.store.side_files import SideFiles, SideFilesGoneError, identity_of, modified_at, status_of
from satchel.store.sqlite_transaction import SqliteRunning, SqliteTracked, SqliteTransaction
from satchel.store.trust import Trust
from satchel.store.turnstile import Turnstile

if TYPE_CHECKING:
    from satchel.store.sqlite_upkeep import SqliteUpkeep

_LONGEST_TURN_SECONDS, _CLOSING_SECONDS = 2.0, 1.0
_IDLE_READERS = 4
# changes nothing and still writes a page: an update to the same value would not
_OVERWRITE = """
    BEGIN IMMEDIATE;
    UPDATE store SET created_at = created_at + 1;
    UPDATE store SET created_at = created_at - 1;
    COMMIT
"""
_SYNC_ERRORS = frozenset({apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC})


class SqliteEngine:
    """A store in one SQLite file; a forked child opens new connections."""

    faults: type[Exception] = apsw.Error

    def __init__(
        self,
        access: Access,
        *,
        read_only: bool = False,
        migrates: bool | None = None,
        clock: Clock = system_clock,
        backups_keep: int = 10,
        trust: Trust | None = None,
    ) -> None:
        self.access = access
        self.file = access.file
        self.location = str(access.file)
        self.folder = access.file.parent
        self.read_only = read_only
        self.migrates = migrates
        self.clock = clock
        self.backups_keep = backups_keep
        self.trust = trust
        self._seen_store = False
        self.commits = 0
        self._ready_at: int | None = None
        self._running = SqliteRunning(self.location)
        self._reset()
        forks.register(self)

    def _reset(self) -> None:
        self._writer: apsw.Connection | None = None
        self._readers: list[apsw.Connection] = []
        self._running.reset()
        self._identity: tuple[int, int] | None = None
        self._side_files = SideFiles(self.file)
        self._generation = 1
        self._memo: dict[tuple[Hashable, ...], Any] = {}
        self._memo_version: int | None = None
        self._still_open: list[tuple[SqliteEngine, apsw.Connection]] = []
        self._turnstile = Turnstile(self.file)
        self._write_lock = threading.Lock()

    @property
    def upkeep(self) -> SqliteUpkeep:
        from satchel.store.sqlite_upkeep import SqliteUpkeep  # few commands need it

        return SqliteUpkeep(self)

    @property
    def has_automatic_backups(self) -> bool:
        return self.trust is not None and not self.read_only and self.trust.backup_folder is not None

    def exists(self) -> bool:
        return self.file.exists()

    def state(self) -> State:
        try:
            status = os.stat(self.file)  # noqa: PTH116 -- as in status_of
        except OSError:
            return State(None, 0)
        return State((status.st_dev, status.st_ino) if status.st_size else None, status.st_mtime_ns)

    def probe(self, wait_ms: int) -> None:
        with self.write(wait_ms) as transaction:  # the same value would write no page
            transaction.run("UPDATE store SET created_at = created_at + 1")
            transaction.run("UPDATE store SET created_at = created_at - 1")
        with self.read() as transaction:
            transaction.one("SELECT created_at FROM store")

    def of_project(self, _name: str) -> SqliteEngine:
        return self  # a file has one writer for all projects

    @contextmanager
    def read(self) -> Iterator[SqliteTransaction]:
        try:
            forked = forks.generation
            connection, generation = self._borrow_reader()
            try:
                connection.execute("BEGIN")
                reading = SqliteTransaction(connection, only_reads=True)
                with SqliteTracked(self._running, reading) as transaction:
                    yield transaction
                if forked != forks.generation:
                    raise forks.refusal()
                connection.execute("COMMIT")
            except apsw.Error as error:
                self._raise_explained(error, connection)  # before the connection is closed, which knows more
            finally:
                if forked == forks.generation:
                    self._return_reader(connection, generation)
                else:
                    forks.leave_to_the_parent(connection)
        except apsw.Error as error:
            self._raise_explained(error)

    @contextmanager
    def look(self) -> Iterator[SqliteTransaction]:
        """Open a read for a caller that is about to write, on the writer's connection if that is idle.

        It still holds the pages that it wrote last. A thread that begins to write waits for it.
        """
        write_lock = self._write_lock
        connection = self._take_idle_writer(write_lock)
        if connection is None:
            with self.read() as transaction:
                yield transaction
            return
        try:
            memo = self._memo if connection.data_version() == self._memo_version else None
            with SqliteTracked(self._running, SqliteTransaction(connection, memo)) as transaction:
                yield transaction
        except apsw.Error as error:
            self._raise_explained(error, self._writer)
        finally:
            write_lock.release()

    @contextmanager
    def write(self, wait_ms: int | None = None) -> Iterator[SqliteTransaction]:
        wait_ms = self.access.wait_ms if wait_ms is None else wait_ms
        deadline = time.monotonic() + wait_ms / 1_000
        forked, write_lock, turnstile = forks.generation, self._write_lock, self._turnstile
        if not write_lock.acquire(timeout=wait_ms / 1_000):
            raise busy(self.location)
        try:
            connection, written_at = self._ready_writer(), self._ready_at
            try:
                turnstile.enter(min(_LONGEST_TURN_SECONDS, (deadline - time.monotonic()) / 2))
                connection.set_busy_timeout(max(1, round((deadline - time.monotonic()) * 1_000)))
                connection.execute("BEGIN IMMEDIATE")
                try:
                    if connection.data_version() != self._memo_version:
                        self._memo.clear()
                        migrations.check_writable(connection, self.file)
                    with SqliteTracked(self._running, SqliteTransaction(connection, self._memo)) as transaction:
                        yield transaction
                        caller = caller_elsewhere()
                        if caller is not None:
                            caller.before_commit(transaction)
                    if forked != forks.generation:
                        raise forks.refusal()
                    self._side_files.check()
                    self._side_files.written_at = written_at
                    self._commit(connection)
                    if caller is not None:
                        caller.after_commit()
                except BaseException:
                    self._memo_version = None
                    if forked == forks.generation:
                        self._give_up(connection)
                    raise
            finally:
                turnstile.leave()
        except SideFilesGoneError:
            self._leave_side_files()
            raise
        except apsw.Error as error:
            self._raise_explained(error, self._writer)
        finally:
            write_lock.release()

    def _take_idle_writer(self, write_lock: threading.Lock) -> apsw.Connection | None:
        writer = self._writer
        if writer is None or not write_lock.acquire(blocking=False):
            return None
        is_current = False
        try:
            is_current = writer is self._writer and identity_of(status_of(self.file)) == self._identity
        finally:
            if not is_current:
                write_lock.release()
        return writer if is_current else None

    def _commit(self, connection: apsw.Connection) -> None:
        try:
            connection.execute("COMMIT")
        except apsw.IOError as error:
            if getattr(error, "extendedresult", 0) not in _SYNC_ERRORS:
                raise
            # the frames are in the WAL: a crash now would bring back the refused commit. Another commit, to the same
            # place, overwrites them
            try:
                self._give_up(connection)
                connection.execute(_OVERWRITE)
            except apsw.Error:
                raise unknown_outcome(self.file) from error
            raise
        self.commits += 1
        try:
            self._memo_version = connection.data_version()
        except apsw.Error:
            self._memo_version = None

    def in_use(self) -> list[apsw.Connection]:
        return self._running.connections()

    def _give_up(self, connection: apsw.Connection) -> None:
        try:
            opening.roll_back(connection)
        except apsw.Error:
            self._writer = None
            with suppress(apsw.Error):
                connection.close()

    @contextmanager
    def exclusive(self) -> Iterator[apsw.Connection]:
        """Yield the write connection outside any transaction: SQLite alone keeps other processes out."""
        try:
            with self._write_lock:
                self._memo_version = None
                yield self._ready_writer()
        except apsw.Error as error:
            self._raise_explained(error)

    @contextmanager
    def watch(self) -> Iterator[Callable[[], bool]]:
        # no transaction is held between the calls, and the thread can be interrupted there as in one
        connection, generation = self._borrow_reader()
        try:
            with SqliteTracked(self._running, SqliteTransaction(connection)) as transaction:
                yield changes(lambda: transaction.one("PRAGMA data_version"))
        except apsw.Error as error:
            self._raise_explained(error, connection)
        finally:
            self._return_reader(connection, generation)

    def interrupter(self) -> Callable[[], None]:
        return self._running.interrupter()

    def without_deadline(self) -> AbstractContextManager[None]:
        return self._running.without_deadline()

    def check_files(self) -> None:
        if self.trust is not None:
            self.trust.check_files()

    def want_new(self) -> None:
        """Allow the next write to create a store if an old one's file is missing or empty."""
        self._seen_store = False
        if self.trust is not None:
            self.trust.new_wanted = True

    def check_again(self) -> None:
        self._identity = None

    def close(self) -> None:
        """Close every connection; the writer's is left to a thread that still uses it."""
        if not self._write_lock.acquire(timeout=_CLOSING_SECONDS):
            return
        try:
            self._turnstile.close()
            self._drop_connections()
        finally:
            self._write_lock.release()

    def _drop_connections(self) -> None:
        if not self._side_files.may_checkpoint():  # SQLite checkpoints when the last connection closes
            for connection in filter(None, (self._writer, *self._readers)):
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._side_files.forget()
        self._identity = None
        self._memo_version = None
        self._generation += 1
        idle, self._readers = self._readers, []
        while idle:
            with suppress(IndexError):  # another thread may be taking from the same list
                idle.pop().close()
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def _leave_side_files(self) -> None:
        if self._writer is not None and self._side_files.may_checkpoint():
            with suppress(apsw.Error):
                self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
        others = [one for one in forks.owners() if isinstance(one, SqliteEngine) and one.file == self.file]
        for other in others:
            if other is not self:
                other.close()
        self._drop_connections()
        self._still_open = [(one, connection) for one in others for connection in one.in_use()]

    def reset_after_fork(self) -> None:
        """Give up the parent's connections in a forked child; see :mod:`satchel.store.forks`."""
        is_writing = self._write_lock.locked()
        running = self._running.connections()
        idle = [*self._readers]
        if self._writer is not None:
            (running if is_writing else idle).append(self._writer)
        if running or is_writing:
            forks.HELD_BY_THE_PARENT.add(self._identity)
        for connection in running:
            forks.leave_to_the_parent(connection)
        for connection in idle:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.close()
        self._turnstile.close()
        self._reset()

    def _raise_explained(self, error: apsw.Error, connection: apsw.Connection | None = None) -> NoReturn:
        translated = explain(error, self.file, connection)
        if translated is None:
            raise error
        if isinstance(translated, IoError) and connection is not None and connection is self._writer:
            # a later error of this connection would look like this one
            self._writer = None
            connection.close()
        raise translated from error

    def _borrow_reader(self) -> tuple[apsw.Connection, int]:
        identity = identity_of(status_of(self.file))
        if identity is None:
            self.check_files()
            self._check_missing()
            return migrations.empty_store(), 0
        if identity != self._identity:
            with self._write_lock:
                self._make_ready(identity)
        generation = self._generation  # before the reader: were the file replaced in between, it must not be kept
        with suppress(IndexError):
            return self._readers.pop(), generation
        return self._running.with_deadline(
            opening.open_reader(self.access, writable=opening.is_writable(self.file))
        ), generation

    def _return_reader(self, connection: apsw.Connection, generation: int) -> None:
        opening.roll_back(connection)  # closed after an error, the only one would take the -wal with it
        if (
            generation == self._generation
            and len(self._readers) < _IDLE_READERS
            and not connection.in_transaction
            and opening.is_reusable(connection)
        ):
            self._readers.append(connection)
        else:
            if generation != self._generation:
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.close()

    def _ready_writer(self) -> apsw.Connection:
        if self.read_only:
            raise ReadOnly(f"{self.file} was opened for reading only", "Open it without --read-only to write")
        status = status_of(self.file)
        identity, self._ready_at = identity_of(status), modified_at(status)
        if self._writer is None or identity != self._identity:
            if identity is None:
                self.check_files()
                self._check_missing()
                self._drop_connections()
                opening.prepare_file(self.access)
                identity = identity_of(status_of(self.file), even_empty=True)
            elif not opening.is_writable(self.file):
                raise ReadOnly(
                    f"{self.file} cannot be written here",
                    "Reading works; check the permissions of the file and its folder, and how the disk is mounted",
                )
            self._make_ready(identity)
            self._still_open = [(one, connection) for one, connection in self._still_open if connection in one.in_use()]
            if self._still_open:
                raise IoError(f"a reader still has deleted files of {self.file} open; nothing was written", "Try again")
            if self._writer is None:
                self._writer = self._running.with_deadline(opening.open_writable(self.access))
        return self._writer

    def _make_ready(self, identity: tuple[int, int] | None) -> None:
        if identity == self._identity:
            return
        if identity in forks.HELD_BY_THE_PARENT:
            raise forks.refusal()
        self._drop_connections()
        self.check_files()
        if self.trust is not None and identity is not None:
            self.trust.check_known(identity)
        writable = opening.is_writable(self.file)
        if writable:
            refuse_network_filesystem(self.file.parent)
        opening.check_header(self.file)
        reader = migrations.bring_up_to_date(
            self.access,
            self._turnstile,
            self.trust,
            writable=writable and not self.read_only,
            may_migrate=writable and (not self.read_only if self.migrates is None else self.migrates),
            clock=self.clock,
            backups_keep=self.backups_keep,
        )
        self._identity = identity
        self._side_files.remember()
        self._seen_store = True
        self._return_reader(self._running.with_deadline(reader), self._generation)

    def _check_missing(self) -> None:
        is_known = self._seen_store or (self.trust is not None and self.trust.expects_store())
        # looked at again: another thread or process may have made it since
        if is_known and identity_of(status_of(self.file)) is None:
            # the rest of the WAL must not be written into an emptied file when the connections are closed
            for connection in filter(None, (self._writer, *self._readers)):
                with suppress(apsw.ThreadingViolationError):  # another thread is at work with it
                    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            from satchel.store import backups  # rarely needed: for a lost store

            made = backups.in_order(backups.backup_folders(self.file, self.trust))
            raise missing(self.file, f"{iso(made[-1].created_at)[:16]} UTC" if made else None)
