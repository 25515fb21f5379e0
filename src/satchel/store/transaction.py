"""Transactions: the interface for running statements, whatever engine holds the store, alone or side by side."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, ClassVar, ParamSpec, Protocol, TypeVar

from satchel.base.errors import Interrupted

Row = tuple[Any, ...]
Parameters = Mapping[str, Any]


# The LIMIT of unlimited queries: only SQLite accepts -1, only PostgreSQL accepts NULL.
NO_LIMIT = 2**62

# Begins each list of :func:`set_of`.
LIST_MARK = "/*list*/"


def set_of(values: Iterable[int] | Iterable[bytes]) -> str:
    """Return numbers, or uids, as the list behind IN, which may be empty.

    The values are part of the text: SQLite plans by how many there are. An engine that prepares statements on a server
    moves them to one parameter by :data:`LIST_MARK`: otherwise each list would be another statement.
    """
    listed = [*values]
    is_uids = listed and isinstance(listed[0], bytes)
    # both methods refuse values of other types, so no text gets into the statement
    texts = [f"x'{bytes.hex(value)}'" for value in listed] if is_uids else map(int.__repr__, listed)
    return f"({LIST_MARK}{', '.join(texts)})"


def of_these(condition: str, alias: str, numbers: str) -> str:
    """Return a condition limited to some items, so that SQLite looks them up by their numbers.

    The indexes for ``:project`` and ``:run`` are disabled: they are slow with many records in one of them.
    """
    unindexed = re.sub(rf"(?<!\+)\b{alias}\.(project_id = :project|run_id = :run)", rf"+{alias}.\1", condition)
    return f"{unindexed} AND {alias}.id IN {numbers}"


@lru_cache(maxsize=64)
def insertion(table: str, columns: tuple[str, ...]) -> str:
    names = ", ".join(f'"{column}"' for column in columns)
    return f"INSERT INTO {table} ({names}) VALUES ({', '.join(f':{column}' for column in columns)})"


class RuleBroken(Exception):
    """A write in a savepoint violated a constraint of its table; the savepoint was rolled back."""


class Rows(Protocol):
    """The result of a statement; it is read within its transaction."""

    @property
    def is_here(self) -> bool:
        """Return whether reading it takes no round trip."""

    def all(self) -> list[Row]:
        """Return all rows; see :meth:`Transaction.all`."""

    def one(self) -> Row | None:
        """Return the first row, or None."""


class Transaction(Protocol):
    """The statements of one transaction, with ``:name`` parameters. Rows are tuples.

    Attributes:
        database: sqlite or postgresql. Only the index uses it.
        memo: lookups of earlier write transactions of this engine that are still valid; empty whenever another process,
            thread or connection has written. Callers that change anything that may be in it call :meth:`forget`.
        is_out_of_time: called before each statement and now and then while one runs: whether to end the transaction
            with Interrupted; None never does.
    """

    database: ClassVar[str]
    memo: dict[tuple[Hashable, ...], Any]
    is_out_of_time: Callable[[], bool] | None

    @property
    def reads(self) -> dict[Hashable, Any]:
        """Lookups of earlier reads on this connection, which hold until anything is committed; a write has none."""

    def forget(self, kind: str | None = None) -> None:
        """Drop the memo, after a change to anything in it, or what it holds under keys that begin with ``kind``."""

    def run(self, sql: str, parameters: Parameters | None = None) -> None:
        """Run one statement without a result; an engine may send it together with the next ones."""

    def execute(self, sql: str, parameters: Parameters | None = None) -> int:
        """Run one statement and return how many rows it changed."""

    def add(self, table: str, row: Parameters) -> int:
        """Insert one row and return its number."""

    def many(self, sql: str, rows: Iterable[Parameters]) -> None:
        """Run one statement once for every row of parameters."""

    def one(self, sql: str, parameters: Parameters | None = None) -> Row | None:
        """Run one statement and return its first row, or None."""

    def all(self, sql: str, parameters: Parameters | None = None) -> list[Row]:
        """Run one statement and return its rows."""

    def ask(self, sql: str, parameters: Parameters | None = None) -> Rows:
        """Run one statement whose rows are read later; an engine may send it together with the next ones."""

    def next_seq(self, project_id: int, changes: int = 1, *, documents: int = 0) -> int:
        """Take the next numbers of a project's change counter and return the first.

        The same statement counts the search documents that the project gets with them.
        """

    def expect(self, **rows: int) -> None:
        """Announce how many rows will be added to tables, by name: an engine may reserve their numbers ahead."""

    def reserve(self, table: str, count: int) -> Sequence[int]:
        """Return the numbers, in order, for the next new rows of a table."""

    def savepoint(self) -> AbstractContextManager[None]:
        """Roll back the block, and nothing else, if it fails; the memo is emptied then.

        Raises:
            RuleBroken: a write violated a constraint of its table.
        """


def first_number(transaction: Transaction, sql: str, parameters: Parameters | None = None) -> int:
    """Return the number that a statement selects, 0 without a row or for null."""
    row = transaction.one(sql, parameters)
    return int(row[0] or 0) if row else 0


def add_item(transaction: Transaction, table: str, project_id: int, **columns: object) -> int:
    """Insert one row of a project with a new uid and the next number of its change counter; return the row's number."""
    row = {"uid": os.urandom(16), "seq": transaction.next_seq(project_id), "project_id": project_id, **columns}
    return transaction.add(table, row)


def insert_rows(transaction: Transaction, table: str, rows: Sequence[Parameters]) -> None:
    """Insert rows that have the same columns."""
    if rows:
        transaction.many(insertion(table, tuple(rows[0])), rows)


def put_rows(transaction: Transaction, table: str, key: Sequence[str], rows: Sequence[Parameters]) -> None:
    """Insert rows that have the same columns; each replaces the row with its key."""
    if rows:
        sql = insertion(table, tuple(rows[0]))
        others = ", ".join(f"{column} = excluded.{column}" for column in rows[0] if column not in key)
        transaction.many(f"{sql} ON CONFLICT ({', '.join(key)}) DO UPDATE SET {others}", rows)


def update_row(transaction: Transaction, table: str, number: int, /, **columns: object) -> None:
    """Set columns of the row with a number."""
    changes = ", ".join(f'"{column}" = :{column}' for column in columns)
    transaction.run(f"UPDATE {table} SET {changes} WHERE id = :id", {**columns, "id": number})


def check_time(transaction: Transaction) -> None:
    """Raise Interrupted if the time of a transaction is over: work between statements calls this too."""
    if transaction.is_out_of_time is not None and transaction.is_out_of_time():
        raise Interrupted("the time is over", "Ask for less at once")


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
OtherResult = TypeVar("OtherResult")

# A generator that issues queries, yields the last one, and then reads the results.
Asking = Generator[Rows, None, Result]


def together(askings: Iterable[Asking[object]]) -> None:
    """Run several readers side by side: while one waits for its rows, the others send their queries.

    A reader whose rows have arrived runs to its end before the next one starts.
    """
    waiting = [asking for asking in askings if _waits(asking)]
    while waiting:
        waiting = [asking for asking in waiting if _waits(asking)]


def _waits(asking: Asking[object]) -> bool:
    return any(not rows.is_here for rows in asking)


def answer(asking: Asking[Result]) -> Result:
    """Run one reader alone and return its result."""
    while True:
        try:
            next(asking)
        except StopIteration as ended:
            result: Result = ended.value
            return result


def answering(ask: Callable[Arguments, Asking[Result]]) -> Callable[Arguments, Result]:
    """Return a function that runs a reader alone."""
    return lambda *args, **kwargs: answer(ask(*args, **kwargs))


def both(one: Asking[Result], other: Asking[OtherResult]) -> tuple[Result, OtherResult]:
    """Run two readers side by side and return both results."""
    first, second = list[Result](), list[OtherResult]()

    def keep(made: list[Any], asking: Asking[Any]) -> Asking[None]:
        made.append((yield from asking))

    together((keep(first, one), keep(second, other)))
    return first[0], second[0]


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    groups: dict[Key, list[Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups
