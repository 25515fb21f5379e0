"""The objects that the schema of a store may contain: those of the migrations, and those that SQLite adds."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import apsw

from satchel.store import damage
from satchel.store.schema import MIGRATIONS, SCHEMA_VERSION

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

_TABLE_NAME: Final = r"CREATE TABLE (\w+)"
_RENAMED: Final = r" RENAME COLUMN (\w+) TO (\w+)"
_DROPPED: Final = r"ALTER TABLE (\w+) DROP COLUMN (\w+)"

# the text alone says what an object is: SQLite takes its name and kind from there, and reads the other columns only for
# an index that a constraint makes, which has no text
_ALL_TEXTS = "SELECT group_concat(sql, char(0)) FROM sqlite_schema"
_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid"


def unknown_objects(connection: apsw.Connection) -> list[str]:
    """Return the objects of a store's schema that no migration makes, such as ``trigger t on context``.

    A store that a newer program has migrated may hold objects unknown to this one; of those, only triggers, and views
    and virtual tables that replace one of Satchel's tables, are returned.
    """
    expected = _expected_texts()
    ((texts,),) = damage.fetch_all(connection, _ALL_TEXTS, None)
    if texts is None or expected.issuperset(_without_layout(texts).split("\0")):
        return []
    unknown = [
        row
        for row in damage.fetch_all(connection, _OBJECTS, None)
        if _without_layout(row[3]) not in expected and not (row[0] == "table" and row[1] in _OWN_TABLES)
    ]
    if unknown and _version(connection) > SCHEMA_VERSION:
        tables = _tables()
        unknown = [row for row in unknown if row[0] == "trigger" or (row[1] in tables and _is_no_plain_table(row))]
    return [_label(kind, name, table) for kind, name, table, _ in unknown]


def missing_tables(connection: apsw.Connection) -> list[str]:
    """Return the tables of the current schema version that a store lacks."""
    names = {name for (name,) in damage.fetch_all(connection, "SELECT name FROM sqlite_schema", None)}
    return sorted((_tables() | {"documents_fts"}) - names)


@cache
def _expected_texts() -> frozenset[str]:
    """Return the SQL of every object that a migration or SQLite makes, without layout and changed columns.

    The layout differs in stores that 0.2.0 made, whose tables got some of their columns one by one.
    """
    return frozenset(_without_layout("\0".join((*_OWN_TEXTS, *_statements()))).split("\0"))


def _statements() -> list[str]:
    return [statement for migration in MIGRATIONS for statement in migration.statements]


@cache
def _changed_columns() -> tuple[str, ...]:
    """Return the columns that migrations add or drop, as SQLite writes them: at the end of a table, or in it."""
    added = [statement.partition(" ADD COLUMN ")[2] for statement in _statements()]
    renamed = [match.groups() for match in map(re.compile(_RENAMED).search, _statements()) if match]
    added += [re.sub(rf"\b{old}\b", new, column) for column in added for old, new in renamed if column.startswith(old)]
    dropped = [match.groups() for match in map(re.compile(_DROPPED).search, _statements()) if match]
    lines = [
        match[1]
        for table, column in dropped
        for statement in _statements()
        for match in (re.search(rf"CREATE TABLE {table} \(.*?\n +({column} .*?,)\n", statement, re.DOTALL),)
        if match
    ]
    return tuple(dict.fromkeys([*(f",{_bare(column)}" for column in added if column), *map(_bare, lines)]))


def _tables() -> set[str]:
    return {match[1] for match in (re.match(_TABLE_NAME, statement) for statement in _statements()) if match}


def _without_layout(text: str) -> str:
    text = _bare(text)
    for column in _changed_columns():
        text = text.replace(column, "")
    return text


def _bare(text: str) -> str:
    return text.replace("\n", "").replace(" ", "")


def _version(connection: apsw.Connection) -> int:
    try:
        return int(connection.execute("SELECT max(version) FROM migrations").get or 0)
    except apsw.SQLError:
        return 0


def _is_no_plain_table(row: tuple[str, str, str, str]) -> bool:
    return row[0] != "table" or not row[3].startswith("CREATE TABLE ")


def _label(kind: str, name: str, table: str) -> str:
    return f"{kind} {name}" if name == table else f"{kind} {name} on {table}"
