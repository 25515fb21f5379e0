"""A transaction: what services run statements on, whatever engine holds the store."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, ClassVar, Protocol

Row = tuple[Any, ...]
Parameters = Mapping[str, Any]


NO_LIMIT = 2**62
"""What LIMIT gets where there is none: SQLite alone takes -1, PostgreSQL alone takes NULL."""

LIST_MARK = "/*list*/"
"""Stands at the beginning of each list of :func:`set_of`."""


def set_of(values: Iterable[int | bytes]) -> str:
    """Return numbers or uids as what stands behind IN; there may be none.

    They stand in the text: SQLite plans by how many there are. An engine that prepares statements on a server takes
    them out by :data:`LIST_MARK`, as one parameter: else each list would be another statement.
    """
    texts = (str(one) if isinstance(one, int) else f"x'{one.hex()}'" for one in values)
    return f"({LIST_MARK}{', '.join(texts)})"


def of_these(condition: str, alias: str, numbers: str) -> str:
    """Return a condition on those of some items that meet another, so that SQLite looks them up by their numbers.

    Args:
        condition: as SQL; it may ask for ``:project`` and ``:run``, whose indexes are not used: with 100,000 records
            in one of them that takes 5 ms.
        alias: of the table.
        numbers: what stands behind IN.
    """
    unindexed = re.sub(rf"(?<!\+)\b{alias}\.(project_id = :project|run_id = :run)", rf"+{alias}.\1", condition)
    return f"{unindexed} AND {alias}.id IN {numbers}"


@lru_cache(maxsize=64)
def insertion(table: str, columns: tuple[str, ...]) -> str:
    """Return the statement that inserts a row of some columns."""
    names = ", ".join(f'"{column}"' for column in columns)
    return f"INSERT INTO {table} ({names}) VALUES ({', '.join(f':{column}' for column in columns)})"


class RuleBroken(Exception):
    """What was written in a savepoint is against a rule of its table; the savepoint was rolled back."""


class Rows(Protocol):
    """What a statement has found; it is read within its transaction."""

    @property
    def is_here(self) -> bool:
        """Whether reading it takes no round trip."""

    def all(self) -> list[Row]:
        """Return its rows; see :meth:`Transaction.all`."""

    def one(self) -> Row | None:
        """Return its first row, or None."""


class Transaction(Protocol):
    """The statements of one transaction, with ``:name`` parameters. Rows are tuples.

    Attributes:
        database: which one the store is in: sqlite or postgresql. The index alone asks for it.
        memo: what earlier write transactions of this engine looked up and nobody has changed since; empty whenever
            another process, thread or connection has written. Whoever changes what may be in it calls :meth:`forget`.
        left_out: how many rows were left out so far, since a text of theirs is none (:mod:`satchel.store.readable`).
        is_out_of_time: asked before each statement and now and then while one runs: whether to end the transaction with
            Interrupted; None never does.
    """

    database: ClassVar[str]
    memo: dict[Hashable, Any]
    left_out: int
    is_out_of_time: Callable[[], bool] | None

    def forget(self) -> None:
        """Drop what was looked up, after a change to any of it."""

    def run(self, sql: str, parameters: Parameters | None = None) -> None:
        """Run one statement without a result; an engine may send it together with the next ones."""

    def execute(self, sql: str, parameters: Parameters | None = None) -> int:
        """Run one statement and return how many rows it changed."""

    def add(self, table: str, row: Parameters) -> int:
        """Insert one row, given by its columns, and return the number it got."""

    def insert_many(self, table: str, rows: Sequence[Parameters]) -> None:
        """Insert rows that are given by the same columns each."""

    def many(self, sql: str, rows: Iterable[Parameters]) -> None:
        """Run one statement once for every row of parameters."""

    def one(self, sql: str, parameters: Parameters | None = None) -> Row | None:
        """Run one statement and return its first row, or None."""

    def all(self, sql: str, parameters: Parameters | None = None) -> list[Row]:
        """Run one statement and return its rows, but for those with text that is none; see :attr:`left_out`."""

    def ask(self, sql: str, parameters: Parameters | None = None) -> Rows:
        """Run one statement whose rows are read later; an engine may send it together with the next ones."""

    def next_seq(self, project_id: int, changes: int = 1, *, documents: int = 0) -> int:
        """Take the next numbers of a project's change counter.

        Args:
            changes: how many are needed, at least 1.
            documents: how many search documents the project gets with them, which are counted by the same statement.

        Returns:
            The first of them; the others follow.
        """

    def expect(self, **rows: int) -> None:
        """Say how many rows will be added to tables, by their names: an engine may ask for their numbers ahead."""

    def reserve(self, table: str, count: int) -> Sequence[int]:
        """Return the numbers, in order, that as many new rows of a table are inserted with next."""

    def savepoint(self) -> AbstractContextManager[None]:
        """Roll back what the block did, and nothing else, where it fails; the memo is emptied then.

        Raises:
            RuleBroken: what was written is against a rule of its table.
        """
