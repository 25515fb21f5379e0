"""Creating and migrating a store in a schema: in one transaction, one program at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg

from satchel import __version__
from satchel.base.errors import ReadOnly, Refused, StoreDamaged, StoreForeign
from satchel.store.failures import newer, older
from satchel.store.postgres import failures
from satchel.store.postgres.schema import INDEX_CHANGES, INDEX_TABLES, OWN_COLUMNS, translate
from satchel.store.schema import BASE_VERSION, SCHEMA_VERSION, Migration, steps
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.store.postgres.connection import StoreConnection
    from satchel.store.postgres.database import Database

_TABLES = "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind IN ('r', 'v', 'm', 'p')"
NUMBERED = """
    SELECT c.relname, a.attname, pg_get_serial_sequence(c.oid::regclass::text, a.attname)
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = to_regnamespace(:schema) AND a.attidentity <> '' AND c.relname <> 'store'
    ORDER BY 1
"""
"""The columns whose numbers the database gives, with the sequences that they come from."""
_WRONG_COLLATION = """
    SELECT c.relname || '.' || a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = to_regnamespace(%s) AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
        AND a.atttypid = 'text'::regtype AND a.attcollation <> 'pg_catalog."C"'::regcollation
    LIMIT 1
"""


def make_ready(database: Database, *, writes: bool, migrates: bool) -> None:
    """Check the schema; before a write, create or migrate the store. Records the result in the database object.

    Raises:
        StoreForeign: the schema holds the tables of another program.
        StoreNewer, StoreOlder: the store needs a newer program, or one of 0.2.0 first.
        StoreDamaged: it has no version, or a text has another collation than C.
        ReadOnly: it must be migrated first.
        Refused: the role lacks a privilege.
    """
    with database.connect() as connection:
        try:
            version = _version(connection, database)
            if (version is None and writes) or (version is not None and version < SCHEMA_VERSION):
                _bring_up_to_date(connection, database, version, migrates=migrates)
                version = SCHEMA_VERSION
            if version is not None:
                _check_collations(connection, database)
                database.sequences = numbered_tables(connection, database.address.schema)
        except psycopg.Error as error:
            raise database.explained(error) from error
    database.has_store = version is not None
    database.is_ready = True


@contextmanager
def empty_transaction() -> Iterator[Transaction]:
    """Yield a transaction on an empty store, for reading before a store exists."""
    from satchel.store.migrations import empty_store
    from satchel.store.sqlite_transaction import SqliteTransaction

    connection = empty_store()
    try:
        connection.execute("BEGIN")
        yield SqliteTransaction(connection)
    finally:
        connection.close()


def numbered_tables(connection: StoreConnection, schema: str) -> dict[str, str]:
    """Return the tables of a schema whose rows get a number, each with its sequence."""
    (result,) = connection.run_all((NUMBERED, {"schema": schema}))
    return {table: sequence for table, column, sequence in result.rows if column == "id"}


def _version(connection: StoreConnection, database: Database) -> int | None:
    """Return the version of the store, after checking that this program may read it; None if there is no store."""
    schema = database.address.schema
    tables = {str(row[0]) for row in connection.execute(_TABLES, (schema,)).fetchall()}
    if not tables:
        return None
    if not {"store", "migrations", "projects"} <= tables:
        raise _foreign(database, min(tables))
    try:
        with connection.transaction():
            connection.run_all(database.settings())
            row = connection.execute(
                "SELECT (SELECT min_reader FROM store), (SELECT max(version) FROM migrations)"
            ).fetchone()
    except psycopg.errors.UndefinedTable:  # a role finds nothing by its name in a schema that it may not use
        raise Refused(
            f"the role may not use the schema of {database.location}",
            "Name the schema and the role of one team; docs/postgresql.md lists what a role is granted",
        ) from None
    except psycopg.errors.UndefinedColumn:
        raise _foreign(database, "store") from None
    needed, version = row or (None, None)
    if not isinstance(version, int) or not isinstance(needed, int):
        raise StoreDamaged(f"{database.location} has no schema version", "Restore it from a backup")
    if needed > SCHEMA_VERSION:
        raise newer(database.location, needed, "read")
    if version < BASE_VERSION:
        raise older(database.location, version)
    return version


def _foreign(database: Database, table: str) -> StoreForeign:
    return StoreForeign(
        f"{database.location} has tables of another program, such as {table}",
        "It was left untouched; name another schema: ?schema=NAME",
    )


def _bring_up_to_date(connection: StoreConnection, database: Database, version: int | None, *, migrates: bool) -> None:
    if not migrates:
        raise ReadOnly(
            f"{database.location} has schema version {version or 0} and must be brought to {SCHEMA_VERSION} first",
            "Open it once where it may be written, as the role that owns the schema: `satchel doctor`",
        )
    schema = database.address.schema
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    with connection.transaction():
        # one of several starting programs works, and the others find it done
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (database.lock_key,))
        connection.run_all(database.settings())
        connection.execute("SET LOCAL statement_timeout = 0")
        if connection.execute("SELECT to_regnamespace(%s)", (schema,)).fetchone() == (None,):
            try:
                with connection.transaction():
                    connection.execute(f'CREATE SCHEMA "{schema}"')
            except psycopg.errors.InsufficientPrivilege:
                raise Refused(
                    f"there is no schema {schema} in {database.location}, and the role may not make one",
                    f"Let the owner of the database run: CREATE SCHEMA {schema} AUTHORIZATION {database.role_label}",
                ) from None
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (database.lock_key,))
        current = _version(connection, database) or 0
        connection.run_all(database.settings())
        connection.execute("SET LOCAL statement_timeout = 0")
        now = database.clock()
        try:
            for number, step in steps(current, SCHEMA_VERSION):
                _apply(connection, number, step, now)
        except psycopg.errors.InsufficientPrivilege as error:
            raise Refused(
                f"{database.location} must be brought from schema version {current} to {SCHEMA_VERSION} first, "
                f"and the role may not do that ({failures.one_line(error)})",
                "Let the role that owns the schema open it once: docs/postgresql.md",
            ) from None


def _apply(connection: StoreConnection, number: int, migration: Migration, now: int) -> None:
    with connection.pipeline():
        for statement in migration.statements:
            sql = translate(statement)
            if sql is not None:
                connection.execute(sql)
        if number == BASE_VERSION + 1:
            for statement in INDEX_CHANGES:
                connection.execute(statement)
        if number == BASE_VERSION:
            for statement in (*OWN_COLUMNS, *INDEX_TABLES):
                connection.execute(statement)
            connection.execute(
                "INSERT INTO store (uid, min_reader, min_writer, created_at) VALUES (%s, %s, %s, %s)",
                (os.urandom(16), migration.min_reader, migration.min_writer, now),
            )
        connection.execute(
            "INSERT INTO migrations (version, name, program, applied_at) VALUES (%s, %s, %s, %s)",
            (number, migration.name, __version__, now),
        )
        connection.execute(
            "UPDATE store SET min_reader = greatest(min_reader, %s), min_writer = greatest(min_writer, %s)",
            (migration.min_reader, migration.min_writer),
        )


def _check_collations(connection: StoreConnection, database: Database) -> None:
    row = connection.execute(_WRONG_COLLATION, (database.address.schema,)).fetchone()
    if row is not None:
        raise StoreDamaged(
            f'the column {row[0]} of {database.location} does not compare as the collation "C" does',
            "Lists and searches would be wrong: restore the tables as Satchel makes them, or `satchel move` the store",
        )
