"""A transaction: what services run statements on."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import apsw

from satchel.base.errors import Interrupted
from satchel.store import forks

Row = tuple[Any, ...]
Parameters = Mapping[str, Any]


class Transaction:
    """The statements of one transaction, with ``:name`` parameters. Rows are tuples.

    Attributes:
        memo: what earlier write transactions of this engine looked up and nobody has changed since; empty whenever
            another process, thread or connection has written. Whoever changes what may be in it calls :meth:`forget`.
    """

    __slots__ = ("connection", "forks", "interrupted", "memo")

    def __init__(self, connection: apsw.Connection, memo: dict[Hashable, Any] | None = None) -> None:
        self.connection = connection
        self.forks = forks.generation
        self.interrupted = False
        self.memo = {} if memo is None else memo

    def forget(self) -> None:
        """Drop what was looked up, after a change to any of it."""
        self.memo.clear()

    def execute(self, sql: str, parameters: Parameters | None = None) -> int:
        """Run one statement and return how many rows it changed."""
        self._check()
        self.connection.execute(sql, parameters)
        return self.connection.changes()

    def insert(self, sql: str, parameters: Parameters | None = None) -> int:
        """Run one INSERT of one row and return the number it got.

        For rows written beside a full-text index: measured, a RETURNING clause makes the index write out every row by
        itself, which doubles the cost of a batch.
        """
        self._check()
        self.connection.execute(sql, parameters)
        return self.connection.last_insert_rowid()

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
        if self.forks != forks.generation:
            raise forks.refusal()
