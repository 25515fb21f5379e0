"""A transaction: what services run statements on, whatever engine holds the store."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

Row = tuple[Any, ...]
Parameters = Mapping[str, Any]


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

    def insert(self, sql: str, parameters: Parameters | None = None) -> int:
        """Run one INSERT of one row and return the number it got."""

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
