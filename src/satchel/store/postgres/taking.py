"""Filling a store in a PostgreSQL schema with the rows of another store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

import psycopg

from satchel.base.errors import InvalidInput, ReadOnly, StoreDamaged, TooLarge
from satchel.store.moving.taking import Taker
from satchel.store.postgres.database import one_line
from satchel.store.postgres.schema import NUMBERED, make_ready, numbered_tables
from satchel.store.postgres.transaction import PostgresTransaction
from satchel.store.schema import BEING_FILLED
from satchel.store.transaction import Row

if TYPE_CHECKING:
    from satchel.store.moving.rows import Table
    from satchel.store.postgres.connection import StoreConnection
    from satchel.store.postgres.database import Database
    from satchel.store.postgres.engine import PostgresEngine
    from satchel.store.transaction import Transaction

_FOREIGN_KEYS = """
    SELECT c.relname, k.conname, pg_get_constraintdef(k.oid) FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
    WHERE k.connamespace = to_regnamespace(:schema) AND k.contype = 'f' ORDER BY 1, 2
"""
_TABLES = """
    SELECT relname FROM pg_class
    WHERE relnamespace = to_regnamespace(:schema) AND relkind = 'r' AND relname NOT IN ('store', 'migrations')
"""


class PostgresTaker(Taker):
    """Fills a schema over a separate connection."""

    refusals: ClassVar[tuple[type[Exception], ...]] = (
        psycopg.DataError,
        psycopg.IntegrityError,
        InvalidInput,
        TooLarge,
    )

    def __init__(self, database: Database, connection: StoreConnection) -> None:
        super().__init__(database.location, database.clock)
        self._database = database
        self._connection = connection
        self._schema = {"schema": database.address.schema}
        self._sequences = numbered_tables(connection, database.address.schema)

    @contextmanager
    def _writing(self) -> Iterator[PostgresTransaction]:
        with self._transaction("BEGIN ISOLATION LEVEL READ COMMITTED") as transaction:
            transaction.one("SELECT pg_advisory_xact_lock(:key)", {"key": self._database.lock_key})
            yield transaction

    @contextmanager
    def read(self) -> Iterator[PostgresTransaction]:
        with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as transaction:
            yield transaction

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[PostgresTransaction]:
        transaction = PostgresTransaction(
            self._connection, ((begin, None), self._database.settings()), sequences=self._sequences
        )
        try:
            yield transaction
            transaction.send(("COMMIT", None))
        except BaseException as error:
            if not self._connection.closed:
                self._connection.rollback()
            translated = self._database.explained(error) if isinstance(error, psycopg.Error) else error
            if translated is error:
                raise
            raise translated from error

    def _insert(self, transaction: Transaction, table: Table, new: Sequence[Row]) -> None:  # noqa: ARG002 -- the only one
        with self._connection.cursor().copy(f"COPY {table.name} ({table.column_list}) FROM STDIN") as copy:
            for row in new:
                copy.write_row(row)

    def _drop_foreign_keys(self, transaction: Transaction) -> tuple[str, ...]:
        keys = transaction.all(_FOREIGN_KEYS, self._schema)
        for table, name, _ in keys:
            transaction.run(f'ALTER TABLE {table} DROP CONSTRAINT "{name}"')
        return tuple(json.dumps(key) for key in keys)

    def _restore_foreign_keys(self, transaction: Transaction, removed: tuple[str, ...]) -> None:
        for table, name, definition in map(json.loads, removed):
            try:
                transaction.execute(f'ALTER TABLE {table} ADD CONSTRAINT "{name}" {definition}')
            except psycopg.errors.ForeignKeyViolation as error:
                raise StoreDamaged(
                    f"a row of {table} refers to a missing row ({one_line(error.diag)})",
                    "Another program changed the source store: `satchel restore` goes back to a backup there",
                ) from error

    def _empty(self, transaction: Transaction) -> None:
        names = ", ".join(f'"{name}"' for (name,) in transaction.all(_TABLES, self._schema))
        transaction.run(f"TRUNCATE {names}")

    def raise_numbers(self, numbers: Mapping[str, int]) -> None:
        """Raise each sequence to the source's and to the highest number of a row."""
        with self.write() as transaction:
            for (table, _, sequence), highest in highest_of(transaction, self._database.address.schema):
                highest_id = max(highest, numbers.get(table, 0))
                if highest_id:
                    transaction.run(
                        "SELECT setval(:sequence, :highest_id)", {"sequence": sequence, "highest_id": highest_id}
                    )

    def analyze(self) -> None:
        with self._transaction("BEGIN") as transaction:
            for (name,) in transaction.all(_TABLES, self._schema):
                transaction.run(f'ANALYZE "{name}"')


@contextmanager
def open_taker(engine: PostgresEngine) -> Iterator[PostgresTaker]:
    """Create a store in a schema, or open one that is empty or was not filled completely.

    Raises:
        StoreForeign, StoreNewer, Refused: the schema is another program's or of a newer store, or the role may not.
    """
    if engine.read_only:
        raise ReadOnly(f"{engine.location} was opened for reading only", "Open it without --read-only to fill it")
    database = engine.database
    with database.connect() as connection:
        try:
            if not _is_being_filled(connection, database):
                make_ready(database, writes=True, migrates=True)
            taker = PostgresTaker(database, connection)
        except psycopg.Error as error:
            raise database.explained(error) from error
        yield taker


def numbered_columns(transaction: Transaction, schema: str) -> list[Row]:
    """Return the numbered tables, each with the column and the sequence of the numbers."""
    return transaction.all(NUMBERED, {"schema": schema})


def highest_of(transaction: Transaction, schema: str) -> list[tuple[Row, int]]:
    """Return the numbered tables as :func:`numbered_columns` does, each with its highest number."""
    numbered = numbered_columns(transaction, schema)
    queries = ", ".join(f'(SELECT coalesce(max("{column}"), 0) FROM {table})' for table, column, _ in numbered)
    return list(zip(numbered, transaction.all(f"SELECT {queries}")[0], strict=True)) if numbered else []


def highest_ids(transaction: Transaction, schema: str) -> dict[str, int]:
    """Return the highest id given so far, by table."""
    numbered = numbered_columns(transaction, schema)
    if not numbered:
        return {}
    queries = ", ".join(f"(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {name})" for *_, name in numbered)
    values = transaction.all(f"SELECT {queries}")[0]
    return {table: number for (table, *_), number in zip(numbered, values, strict=True)}


def _is_being_filled(connection: StoreConnection, database: Database) -> bool:
    schema = database.address.schema
    column = connection.execute(
        "SELECT 1 FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
        "WHERE c.relnamespace = to_regnamespace(%s) AND c.relname = 'migrations' AND a.attname = 'version'",
        (schema,),
    ).fetchone()
    if column is None:
        return False
    with connection.transaction():
        connection.run_all(database.settings())
        marked = "SELECT 1 FROM migrations WHERE version = %s"
        return connection.execute(marked, (BEING_FILLED,)).fetchone() is not None
