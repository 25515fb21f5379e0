"""A transaction on a SQLite connection."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import apsw

from satchel.store import damage, forks
from satchel.store.running import DEADLINE_SECONDS, Running, Tracked, interruption, timed_out
from satchel.store.transaction import Parameters, Row, RuleBroken, check_time, insertion

# rare enough to slow down neither searches nor writes
_STEPS_BETWEEN_LOOKS = 100_000


# What readers looked up, by connection, with the version of the store.
_READS: WeakKeyDictionary[apsw.Connection, tuple[int, dict[Hashable, Any]]] = WeakKeyDictionary()


class SqliteTransaction:
    """A transaction on SQLite; see :class:`satchel.store.transaction.Transaction`.

    Attributes:
        started: when the running statement was first noticed to take long; 0 before that.
        is_overdue: whether it was ended because it ran for too long.
    """

    __slots__ = ("_reads", "connection", "forks", "interrupted", "is_out_of_time", "is_overdue", "memo", "started")

    database: ClassVar[str] = "sqlite"

    def __init__(
        self,
        connection: apsw.Connection,
        memo: dict[tuple[Hashable, ...], Any] | None = None,
        *,
        only_reads: bool = False,
    ) -> None:
        self.connection = connection
        self.forks = forks.generation
        self.interrupted = False
        self.started = 0.0
        self.is_overdue = False
        self.is_out_of_time: Callable[[], bool] | None = None
        self.memo = {} if memo is None else memo
        self._reads: dict[Hashable, Any] | None = None if only_reads else {}

    @property
    def reads(self) -> dict[Hashable, Any]:
        if self._reads is None:
            # a reader commits nothing, so that every commit changes its version, that of this transaction's snapshot
            version = self.connection.pragma("data_version")
            earlier = _READS.get(self.connection)
            if earlier is None or earlier[0] != version:
                earlier = _READS[self.connection] = (version, {})
            self._reads = earlier[1]
        return self._reads

    def forget(self, kind: str | None = None) -> None:
        for key in [key for key in self.memo if kind in {None, key[0]}]:
            del self.memo[key]

    def cancel(self) -> None:
        self.connection.interrupt()

    def run(self, sql: str, parameters: Parameters | None = None) -> None:
        self._check(sql, parameters)
        self.connection.execute(sql, parameters)

    def execute(self, sql: str, parameters: Parameters | None = None) -> int:
        self._check(sql, parameters)
        self.connection.execute(sql, parameters)
        return self.connection.changes()

    def add(self, table: str, row: Parameters) -> int:
        sql = insertion(table, tuple(row))
        self._check(sql, row)
        # no RETURNING: it makes a full-text index write out every row separately, which doubles the cost of a batch
        self.connection.execute(sql, row)
        return self.connection.last_insert_rowid()

    def many(self, sql: str, rows: Iterable[Parameters]) -> None:
        self._check()
        if damage.DamagedText.is_read:
            rows = list(rows)
            for row in rows:
                damage.check_write(sql, row)
        self.connection.executemany(sql, rows)

    def one(self, sql: str, parameters: Parameters | None = None) -> Row | None:
        self._check(sql, parameters)
        try:
            return damage.fetch_one(self.connection, sql, parameters)
        except apsw.InterruptError:
            self._check()
            raise

    def all(self, sql: str, parameters: Parameters | None = None) -> list[Row]:
        self._check(sql, parameters)
        try:
            return damage.fetch_all(self.connection, sql, parameters)
        except apsw.InterruptError:
            self._check()
            raise

    def ask(self, sql: str, parameters: Parameters | None = None) -> ReadRows:
        return ReadRows(self.all(sql, parameters))

    def next_seq(self, project_id: int, changes: int = 1, *, documents: int = 0) -> int:
        counted = f", documents = documents + {int(documents)}" if documents else ""
        row = self.one(
            f"UPDATE projects SET seq = seq + :n{counted} WHERE id = :id RETURNING seq",
            {"n": changes, "id": project_id},
        )
        assert row is not None
        return int(row[0]) - changes + 1

    def expect(self, **rows: int) -> None:
        """No-op: SQLite returns the row id on insert."""

    def reserve(self, table: str, count: int) -> Sequence[int]:
        row = self.one("SELECT seq FROM sqlite_sequence WHERE name = :table", {"table": table})
        first = (row[0] if row else 0) + 1
        return range(first, first + count)

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        self.run("SAVEPOINT part")
        try:
            yield
        except BaseException as error:
            self.forget()
            # an error of the disk has rolled back everything
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK TO part; RELEASE part")
            if isinstance(error, apsw.ConstraintError):
                raise RuleBroken(str(error)) from error
            raise
        self.run("RELEASE part")

    def _check(self, sql: str = "", parameters: Parameters | None = None) -> None:
        self.started = 0.0
        damage.check_write(sql, parameters)
        if self.interrupted:
            raise interruption()
        check_time(self)
        if self.forks != forks.generation:
            raise forks.refusal()


class ReadRows:
    """The rows of a statement, read at once."""

    __slots__ = ("_rows",)

    is_here = True

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows

    def all(self) -> list[Row]:
        return self._rows

    def one(self) -> Row | None:
        return self._rows[0] if self._rows else None


class SqliteRunning(Running[SqliteTransaction]):
    """The open transactions of an engine on SQLite."""

    def connections(self) -> list[apsw.Connection]:
        return [transaction.connection for transaction in self.transactions.values()]

    def with_deadline(self, connection: apsw.Connection) -> apsw.Connection:
        """Return a connection whose statements end when they are overdue."""
        connection.set_progress_handler(self._is_overdue, _STEPS_BETWEEN_LOOKS)
        return connection

    def _is_overdue(self) -> bool:
        thread = get_ident()
        transaction = self.transactions.get(thread)
        if transaction is None or self.has_no_deadline(thread):
            return False
        if transaction.is_out_of_time is not None and transaction.is_out_of_time():
            return True
        now = time.monotonic()
        if not transaction.started:
            transaction.started = now
        transaction.is_overdue = now - transaction.started > DEADLINE_SECONDS
        return transaction.is_overdue


class SqliteTracked(Tracked[SqliteTransaction]):
    """Context manager that registers a thread's transaction."""

    __slots__ = ()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        super().__exit__(kind, error, trace)
        if self.transaction.is_overdue and isinstance(error, apsw.InterruptError):
            raise timed_out(self.running.location) from error
