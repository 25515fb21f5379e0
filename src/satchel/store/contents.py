"""Contents of a SQLite store: the objects its schema may contain, damaged texts, and commits lost from its WAL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import apsw

from satchel.store import damage
from satchel.store.schema import MIGRATIONS, SCHEMA_VERSION

# What SQLite 3.53 and its full-text search make for themselves; another version is known by the names below.
_OWN_TEXTS: Final = (
    "CREATE TABLE sqlite_sequence(name,seq)",
    "CREATE TABLE 'documents_fts_data'(id INTEGER PRIMARY KEY, block BLOB)",
    "CREATE TABLE 'documents_fts_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID",
    "CREATE TABLE 'documents_fts_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER)",
    "CREATE TABLE 'documents_fts_config'(k PRIMARY KEY, v) WITHOUT ROWID",
)

_OWN_TABLES: Final = frozenset(
    {"sqlite_sequence", "sqlite_stat1", "sqlite_stat2", "sqlite_stat3", "sqlite_stat4"}
    | {f"documents_fts_{part}" for part in ("config", "content", "data", "docsize", "idx")}
)

_TABLE: Final = r"(CREATE|DROP) TABLE (\w+)"

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
    return [f"{kind} {name}" if name == table else f"{kind} {name} on {table}" for kind, name, table, _ in unknown]


def missing_tables(connection: apsw.Connection) -> list[str]:
    """Return the tables of the current schema version that a store lacks."""
    names = {name for (name,) in damage.fetch_all(connection, "SELECT name FROM sqlite_schema", None)}
    return sorted((_tables() | {"documents_fts"}) - names)


@cache
def _expected_texts() -> frozenset[str]:
    # the layout differs in stores that 0.2.0 made, whose tables got some of their columns one by one
    return frozenset(_without_layout("\0".join((*_OWN_TEXTS, *_statements()))).split("\0"))


def _statements() -> list[str]:
    return [statement for migration in MIGRATIONS for statement in migration.statements]


@cache
def _changed_columns() -> tuple[str, ...]:
    # in every start: three expressions would take three times as long
    altering = [statement for statement in _statements() if statement.startswith("ALTER TABLE ")]
    added = [statement.partition(" ADD COLUMN ")[2] for statement in altering]
    changes = [(words[2], words[3:5], words[5:]) for words in map(str.split, altering)]
    renamed = [(names[0], names[2]) for _, how, names in changes if how == ["RENAME", "COLUMN"]]
    added += [re.sub(rf"\b{old}\b", new, column) for column in added for old, new in renamed if column.startswith(old)]
    lines = [
        line
        for table, how, names in changes
        if how == ["DROP", "COLUMN"]
        for statement in _statements()
        if statement.startswith(f"CREATE TABLE {table} (")
        for line in map(str.strip, statement.split("\n"))
        if line.startswith(f"{names[0]} ")
    ]
    return tuple(dict.fromkeys([*(f",{_bare(column)}" for column in added if column), *map(_bare, lines)]))


def _tables() -> set[str]:
    changes = [match.groups() for match in map(re.compile(_TABLE).match, _statements()) if match]
    return {name for way, name in changes if way == "CREATE"} - {name for way, name in changes if way == "DROP"}


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


# Their bytes.
_WAL_HEADER, _FRAME_HEADER = 32, 24

_WAL_MAGIC = 0x377F0682


def schema_problems(connection: apsw.Connection) -> list[str]:
    """Return the objects of the schema that no migration made, such as triggers, and the missing tables."""
    return [
        *(f"{label} is not Satchel's" for label in unknown_objects(connection)),
        *(f"table {name} is missing" for name in missing_tables(connection)),
    ]


def text_problems(connection: apsw.Connection, label: Callable[[str, str], str]) -> list[str]:
    """Read every text of the store, and return the rows whose text is not valid UTF-8 or not text.

    `label` names a row by its table and key.
    """
    problems: list[str] = []
    tables = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' ORDER BY name"
    for table in [str(name) for (name,) in connection.execute(tables)]:
        if not table.startswith("sqlite_"):
            problems += _table_problems(connection, table, label)
    return problems


def _table_problems(connection: apsw.Connection, table: str, label: Callable[[str, str], str]) -> Iterator[str]:
    columns: list[tuple[str, str, int]] = list(
        connection.execute("SELECT name, type, pk FROM pragma_table_info(?)", (table,))
    )
    texts = [name for name, declared, _ in columns if declared == "TEXT"]
    # a table without rowid is named by its key
    keys = " || '/' || ".join(
        f"quote({name})" for name, _, place in sorted(columns, key=lambda column: column[2]) if place
    )
    row = f"CAST({keys} AS BLOB)" if keys else "rowid"
    for text in texts:
        rows = connection.execute(
            f"SELECT {row}, typeof({text}), CAST({text} AS BLOB) FROM {table} WHERE {text} IS NOT NULL"
        )
        for key, kind, value in rows:
            wrong = f"is a {kind}" if kind != "text" else None
            if wrong is None:
                try:
                    value.decode()
                except UnicodeDecodeError:
                    wrong = "is not UTF-8"
            if wrong is not None:
                name = key.decode(errors="replace") if isinstance(key, bytes) else str(key)
                yield f"{text} of {label(table, name)} {wrong}"


def lost_commits(file: Path) -> int:
    """Return the number of commits in the WAL behind the point where it stops being readable.

    Format: https://sqlite.org/fileformat2.html#the_write_ahead_log
    """
    import struct  # imported here: only a check needs it

    try:
        content = Path(f"{file}-wal").read_bytes()
    except OSError:
        return 0
    if len(content) < _WAL_HEADER:
        return 0
    magic, _, page_size, _, salt1, salt2, *stated = struct.unpack_from(">8I", content)
    if magic & ~1 != _WAL_MAGIC or not 512 <= page_size <= 65_536:
        return 0
    order = ">" if magic & 1 else "<"
    sums = _checksum(content[:24], (0, 0), order)
    is_valid = list(sums) == stated
    lost = 0
    step = _FRAME_HEADER + page_size
    for place in range(_WAL_HEADER, len(content) - step + 1, step):
        _, pages, first, second, *stated = struct.unpack_from(">6I", content, place)
        if (first, second) != (salt1, salt2):
            is_valid = False  # left over from before the WAL was restarted, as is usual
            continue
        if is_valid:
            sums = _checksum(content[place : place + 8], sums, order)
            sums = _checksum(content[place + _FRAME_HEADER : place + step], sums, order)
            is_valid = list(sums) == stated
        if not is_valid and pages:
            lost += 1
    return lost


def _checksum(data: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    import struct

    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for place in range(0, len(words), 2):
        first = (first + words[place] + second) & 0xFFFFFFFF
        second = (second + words[place + 1] + first) & 0xFFFFFFFF
    return first, second
