"""Filling a store file with the rows of another store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, ClassVar

import apsw

from satchel.base.errors import ReadOnly, StoreDamaged
from satchel.store import opening
from satchel.store.failures import explained
from satchel.store.moving.rows import tables
from satchel.store.moving.taking import Taker
from satchel.store.schema import BEING_FILLED
from satchel.store.sqlite_transaction import SqliteTransaction
from satchel.store.trust import uid_in

if TYPE_CHECKING:
    from satchel.store.moving.rows import Table
    from satchel.store.sqlite import SqliteEngine
    from satchel.store.transaction import Row, Transaction


class SqliteTaker(Taker):
    """Fills a store file over a separate connection that does not check foreign keys."""

    refusals: ClassVar[tuple[type[Exception], ...]] = (
        apsw.ConstraintError,
        apsw.TooBigError,
        apsw.MismatchError,
        UnicodeEncodeError,
    )

    def __init__(self, engine: SqliteEngine, connection: apsw.Connection) -> None:
        super().__init__(engine.location, engine.clock)
        self._connection = connection

    @contextmanager
    def _writing(self) -> Iterator[SqliteTransaction]:
        with self._transaction("BEGIN IMMEDIATE") as transaction:
            yield transaction

    @contextmanager
    def read(self) -> Iterator[SqliteTransaction]:
        with self._transaction("BEGIN") as transaction:
            yield transaction

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[SqliteTransaction]:
        self._connection.execute(begin)
        try:
            yield SqliteTransaction(self._connection)
            self._connection.execute("COMMIT")
        except BaseException:
            opening.roll_back(self._connection)
            raise

    def _insert(self, transaction: Transaction, table: Table, new: Sequence[Row]) -> None:  # noqa: ARG002 -- the only one
        places = ", ".join("?" * len(table.columns))
        self._connection.executemany(f"INSERT INTO {table.name} ({table.column_list}) VALUES ({places})", new)

    def _drop_foreign_keys(self, transaction: Transaction) -> tuple[str, ...]:  # noqa: ARG002 -- the connection checks none
        return ()

    def _restore_foreign_keys(self, transaction: Transaction, removed: tuple[str, ...]) -> None:  # noqa: ARG002 -- nothing was
        wrong = transaction.one("PRAGMA foreign_key_check")
        if wrong is not None:
            raise StoreDamaged(
                f"row {wrong[1]} of {wrong[0]} refers to a missing row of {wrong[2]}",
                "Another program changed the source store: `satchel restore` goes back to a backup there",
            )

    def _empty(self, transaction: Transaction) -> None:
        for table in tables():
            transaction.run(f"DELETE FROM {table.name}")
        transaction.run("INSERT INTO documents_fts (documents_fts) VALUES ('delete-all')")

    def raise_numbers(self, numbers: Mapping[str, int]) -> None:
        with self.write() as transaction:
            counting = transaction.all("SELECT name FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%'")
            for (name,) in counting:
                values = {"name": name, "number": numbers.get(name, 0)}
                if values["number"] and not transaction.execute(
                    "UPDATE sqlite_sequence SET seq = max(seq, :number) WHERE name = :name", values
                ):
                    transaction.run("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :number)", values)


@contextmanager
def open_taker(engine: SqliteEngine) -> Iterator[SqliteTaker]:
    """Create a store file, or open one that is empty or was not filled completely.

    Raises:
        StoreForeign, Refused, StoreNewer: another program's file, an untrusted one, or a newer one.
    """
    with explained(engine.file):
        if engine.read_only:
            raise ReadOnly(f"{engine.file} was opened for reading only", "Open it without --read-only to fill it")
        if not _is_being_filled(engine):
            with engine.write():
                pass
        with closing(opening.open_writable(engine.access)) as connection:
            connection.pragma("foreign_keys", False)
            yield SqliteTaker(engine, connection)


def highest_ids(transaction: Transaction) -> dict[str, int]:
    """Return the highest id given so far, by table."""
    return dict(transaction.all("SELECT name, seq FROM sqlite_sequence"))


def _is_being_filled(engine: SqliteEngine) -> bool:
    file, trust = engine.file, engine.trust
    engine.check_files()
    if not file.exists() or not file.stat().st_size:
        return False
    if trust is not None:
        trust.check_known(opening.identity_of(file))
    opening.check_header(file)
    with closing(opening.open_reader(engine.access, writable=opening.is_writable(file))) as reader:
        if not opening.check_ours(reader, file):
            return False
        uid = uid_in(reader)
        is_marked = reader.execute("SELECT 1 FROM migrations WHERE version = ?", (BEING_FILLED,)).get is not None
    if is_marked and trust is not None and uid is not None:
        trust.admit(uid, opening.identity_of(file))
    return is_marked
