"""What the schema of a store may contain: the objects that the migrations make, and what SQLite keeps for itself."""

from __future__ import annotations

from functools import cache
from typing import Final

import apsw

from satchel.store.schema import MIGRATIONS, SCHEMA_VERSION, STORE_TABLES

_OWN_TEXTS: Final = (
    "CREATE TABLE sqlite_sequence(name,seq)",
    "CREATE TABLE 'documents_fts_data'(id INTEGER PRIMARY KEY, block BLOB)",
    "CREATE TABLE 'documents_fts_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID",
    "CREATE TABLE 'documents_fts_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER)",
    "CREATE TABLE 'documents_fts_config'(k PRIMARY KEY, v) WITHOUT ROWID",
)
"""What SQLite 3.53 and its full-text search make for themselves; another version is known by the names below."""

_OWN_TABLES: Final = frozenset(
    {"sqlite_sequence", "sqlite_stat1", "sqlite_stat2", "sqlite_stat3", "sqlite_stat4"}
    | {f"documents_fts_{part}" for part in ("config", "content", "data", "docsize", "idx")}
)

_CREATES: Final = "CREATE TABLE "
_ADDS: Final = "ALTER TABLE "

_CONSTRAINTS: Final = (",\n        UNIQUE (", ",\n        PRIMARY KEY (", ",\n        CHECK (")
"""What follows the columns in the tables of ours that a later migration adds columns to."""

# the text alone says what an object is: SQLite takes its name and kind from there, and asks the other columns only for
# an index that a constraint makes, which has no text. Measured: 0.07 ms for this query, 0.09 a row a text, twice that
# with every column
_ALL_TEXTS = "SELECT group_concat(sql, char(0)) FROM sqlite_schema"
_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid"


def unknown_objects(connection: apsw.Connection) -> list[str]:
    """Return the objects of a store's schema that no migration made, such as ``trigger t on context``.

    A store that a newer program has migrated may hold objects unknown to this one; of those, only triggers, and views
    and virtual tables in the place of a table of ours, are returned.

    Args:
        connection: an open store, or an empty database.
    """
    expected = expected_texts()
    texts = connection.execute(_ALL_TEXTS).get
    if texts is None or expected.issuperset(texts.split("\0")):
        return []
    unknown = [
        row
        for row in connection.execute(_OBJECTS)
        if row[3] not in expected and not (row[0] == "table" and row[1] in _OWN_TABLES)
    ]
    if unknown and _version(connection) > SCHEMA_VERSION:
        tables = {text.split(None, 3)[2] for text in expected if text.startswith("CREATE TABLE ")}
        unknown = [row for row in unknown if row[0] == "trigger" or (row[1] in tables and _is_no_plain_table(row))]
    return [_named(kind, name, table) for kind, name, table, _ in unknown]


def missing_tables(connection: apsw.Connection) -> list[str]:
    """Return the tables that the migrations make and a store of today's version does not have."""
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    made = {text.split(None, 3)[2] for text in expected_texts().difference(_OWN_TEXTS) if text.startswith(_CREATES)}
    return sorted((made | {"documents_fts"}) - there)


@cache
def expected_texts() -> frozenset[str]:
    """Return the text of every object as ``sqlite_schema`` holds it, before and after each change to it.

    SQLite keeps a statement from CREATE to its last parenthesis, or to its end where something follows that; a column
    that is added goes behind the last column, before the constraints of the table.
    """
    statements = [
        statement.lstrip()
        for statement in (*STORE_TABLES, *(text for migration in MIGRATIONS for text in migration.statements))
    ]
    texts = {*_OWN_TEXTS, *statements, *map(str.rstrip, statements)}
    changed: dict[str, str] = {}
    for statement in statements:
        if statement.startswith(_CREATES):
            changed[statement.split(None, 3)[2]] = statement  # the last one, of a table that was rebuilt
        elif statement.startswith(_ADDS):
            name, _, column = statement.removeprefix(_ADDS).partition(" ADD COLUMN ")
            changed[name] = _with_column(changed[name], column)
            texts.update((changed[name], changed[name].rstrip()))
    return frozenset(texts)


def _with_column(table: str, column: str) -> str:
    ends = [table.find(constraint) for constraint in _CONSTRAINTS]
    end = min((place for place in ends if place >= 0), default=table.rindex(")"))
    return f"{table[:end]}, {column}{table[end:]}"


def _version(connection: apsw.Connection) -> int:
    try:
        return int(connection.execute("SELECT max(version) FROM migrations").get or 0)
    except apsw.SQLError:
        return 0


def _is_no_plain_table(row: tuple[str, str, str, str]) -> bool:
    return row[0] != "table" or not row[3].startswith("CREATE TABLE ")


def _named(kind: str, name: str, table: str) -> str:
    return f"{kind} {name}" if name == table else f"{kind} {name} on {table}"
