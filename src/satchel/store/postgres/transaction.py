"""Transactions on PostgreSQL: statements without a result are sent together with the next one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import psycopg

from satchel.base.errors import Interrupted
from satchel.store import forks
from satchel.store.postgres.connection import Result, Statement, StoreConnection
from satchel.store.transaction import Parameters, Row, RuleBroken, check_time, insertion

# the answers to more would fill the socket while statements are still being sent
_MOST_WAITING = 500

_CANCEL_SECONDS = 5.0

_Waiting = tuple[str, Parameters | None, "AwaitedRows | None"]


class Counter:
    """The last change number of the project whose row is locked."""

    def __init__(self, project_id: int, seq: int) -> None:
        self.project_id = project_id
        self.seq = seq


class AwaitedRows:
    """The result of a statement once it was sent."""

    __slots__ = ("_transaction", "rows")

    def __init__(self, transaction: PostgresTransaction) -> None:
        self._transaction = transaction
        self.rows: list[Row] | None = None

    @property
    def is_here(self) -> bool:
        """Whether it was sent."""
        return self.rows is not None

    def all(self) -> list[Row]:
        if self.rows is None:
            self._transaction.send()
        assert self.rows is not None
        return self.rows

    def one(self) -> Row | None:
        rows = self.all()
        return rows[0] if rows else None


class PostgresTransaction:
    """A transaction on PostgreSQL; see :class:`satchel.store.transaction.Transaction`.

    Args:
        connection: used by nothing else.
        begin: statements that are sent together with the first one.
        sequences: the numbered tables, each with its sequence.
        counter: that of the project whose row is locked, if one is.

    Attributes:
        is_ended: whether a statement was ended because the time was over; then the transaction can only be rolled back
            to a savepoint.
        interrupted: whether the next statement ends with Interrupted.
        forgot: whether the commit empties the memo of every engine.
        is_doubtful: whether a sent cancellation may still reach the connection, which must be closed.
        is_shared: whether others work in the same transaction, so that nothing in it may be cancelled.
    """

    database: ClassVar[str] = "postgresql"

    def __init__(
        self,
        connection: StoreConnection,
        begin: Sequence[Statement] = (),
        memo: dict[Hashable, Any] | None = None,
        sequences: Mapping[str, str] | None = None,
        counter: Counter | None = None,
    ) -> None:
        self.connection = connection
        self.memo = {} if memo is None else memo
        self.is_out_of_time: Callable[[], bool] | None = None
        self.interrupted = False
        self.is_ended = False
        self.forgot = False
        self.is_doubtful = False
        self.is_shared = False
        self.forks = forks.generation
        self._waiting: list[_Waiting] = [(*one, None) for one in begin]
        self._sequences = sequences or {}
        self._counter = counter
        self._numbers: dict[str, AwaitedRows] = {}  # for new rows, by table

    @property
    def is_sent(self) -> bool:
        """Whether no statement waits."""
        return not self._waiting

    def cancel(self) -> None:
        """End the running statement, unless others work in the same transaction."""
        if not self.is_shared:
            try:
                self.connection.cancel_safe(timeout=_CANCEL_SECONDS)
            except psycopg.Error:
                # it may still reach the server, and must not end a statement of another transaction
                self.is_doubtful = True

    def forget(self) -> None:
        """Drop the memo, here and in every other engine."""
        self.memo.clear()
        self.forgot = True

    def run(self, sql: str, parameters: Parameters | None = None) -> None:
        self._check()
        self.later(sql, parameters)

    def later(self, sql: str, parameters: Parameters | None = None) -> None:
        """Send a statement together with the next one, even if the transaction was interrupted."""
        self._waiting.append((sql, parameters, None))
        if len(self._waiting) >= _MOST_WAITING:
            self.send()

    def execute(self, sql: str, parameters: Parameters | None = None) -> int:
        return self._ask(sql, parameters).changed

    def add(self, table: str, row: Parameters) -> int:
        """Insert one row and return its number, 0 if it has none."""
        if table not in self._sequences:
            self.run(insertion(table, tuple(row)), row)
            return 0
        numbers = self._numbers[table].all() if table in self._numbers else []
        if numbers:
            numbered = {"id": numbers.pop(0)[0], **row}
            self.run(insertion(table, tuple(numbered)), numbered)
            return int(numbered["id"])
        ((number,),) = self._ask(f"{insertion(table, tuple(row))} RETURNING id", row).rows
        return int(number)

    def expect(self, **rows: int) -> None:
        """Request, together with the next statement, the numbers for new rows of tables."""
        self._numbers.update({table: self._ask_numbers(table, count) for table, count in rows.items()})

    def next_seq(self, project_id: int, changes: int = 1, *, documents: int = 0) -> int:
        """Take the next numbers of a project's change counter and return the first.

        The counter of the project whose row is locked needs no query.
        """
        if documents and ("documents" not in self._numbers or self._numbers["documents"].rows == []):
            self.expect(documents=documents)
        values = {"id": project_id, "documents": documents}
        counted = "documents = documents + :documents WHERE id = :id"
        counter = self._counter
        if counter is None or counter.project_id != project_id:
            row = self.one(f"UPDATE projects SET seq = seq + :n, {counted} RETURNING seq", {**values, "n": changes})
            assert row is not None
            return int(row[0]) - changes + 1
        counter.seq += changes
        # the number itself: changes rolled back to a savepoint were counted here all the same
        self.run(f"UPDATE projects SET seq = :seq, {counted}", {**values, "seq": counter.seq})
        return counter.seq - changes + 1

    def insert_many(self, table: str, rows: Sequence[Parameters]) -> None:
        if rows:
            self.many(insertion(table, tuple(rows[0])), rows)

    def reserve(self, table: str, count: int) -> Sequence[int]:
        return [row[0] for row in self._ask_numbers(table, count).all()]

    def _ask_numbers(self, table: str, count: int) -> AwaitedRows:
        sql = f"SELECT nextval('{self._sequences[table]}') FROM generate_series(1, :count)"
        return self.ask(sql, {"count": count})

    def many(self, sql: str, rows: Iterable[Parameters]) -> None:
        self._check()
        for row in rows:
            self.later(sql, row)

    def one(self, sql: str, parameters: Parameters | None = None) -> Row | None:
        rows = self._ask(sql, parameters).rows
        return rows[0] if rows else None

    def all(self, sql: str, parameters: Parameters | None = None) -> list[Row]:
        return self._ask(sql, parameters).rows

    def ask(self, sql: str, parameters: Parameters | None = None) -> AwaitedRows:
        self._check()
        rows = AwaitedRows(self)
        self._waiting.append((sql, parameters, rows))
        return rows

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        self.later("SAVEPOINT satchel_part")
        try:
            yield
            release: Statement = ("RELEASE SAVEPOINT satchel_part", None)
            if self._waiting:
                self.send(release)
            else:
                self.later(*release)
        except BaseException as error:
            self.roll_back_to("satchel_part")
            if isinstance(error, (psycopg.IntegrityError, psycopg.DataError)):
                raise RuleBroken(str(error)) from error
            raise

    def roll_back_to(self, savepoint: str) -> None:
        """Roll back to a savepoint and drop the memo, part of which may have been rolled back."""
        self.memo.clear()
        self._numbers.clear()
        begin = (f"SAVEPOINT {savepoint}", None, None)
        if begin in self._waiting:
            # none of it was sent; earlier statements stay
            last = len(self._waiting) - 1 - self._waiting[::-1].index(begin)
            del self._waiting[last:]
            return
        self._waiting.clear()
        self.is_ended = True  # a rollback must not be ended
        self.send((f"ROLLBACK TO SAVEPOINT {savepoint}", None), (f"RELEASE SAVEPOINT {savepoint}", None))
        self.is_ended = False

    def send(self, *last: Statement) -> str | None:
        """Send the waiting statements, then `last`, and wait; return the server's last status, such as ``COMMIT``."""
        self._waiting += [(*one, None) for one in last]
        return self._send().status if self._waiting else None

    def _ask(self, sql: str, parameters: Parameters | None) -> Result:
        self._check()
        self._waiting.append((sql, parameters, None))
        return self._send()

    def _send(self) -> Result:
        """Send the waiting statements in one round trip, and return the result of the last."""
        waiting, self._waiting = self._waiting, []
        try:
            results = self.connection.run_all(
                *((sql, parameters) for sql, parameters, _ in waiting),
                on_wait=None if self.is_out_of_time is None else self._end_in_time,
            )
        except psycopg.errors.QueryCanceled:
            self._check()
            raise
        for (_, _, awaited), result in zip(waiting, results, strict=True):
            if awaited is not None:
                awaited.rows = result.rows
        return results[-1]

    def _end_in_time(self) -> None:
        if self.is_out_of_time is not None and not self.is_ended and self.is_out_of_time():
            self.is_ended = True
            self.cancel()

    def _check(self) -> None:
        if self.forks != forks.generation:
            raise forks.refusal()
        if self.interrupted:
            raise Interrupted("the call was interrupted", "Nothing of it was written")
        check_time(self)
