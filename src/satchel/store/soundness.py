"""Checks of a store file beyond its pages: the schema, every text, and the end of the WAL."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw

from satchel.store import contents

_WAL_HEADER = struct.Struct(">8I")
_FRAME_HEADER = struct.Struct(">6I")
_WAL_MAGIC = 0x377F0682


def schema_problems(connection: apsw.Connection) -> list[str]:
    """Return the objects of the schema that no migration made, such as triggers, and the missing tables."""
    return [
        *(f"{label} is not Satchel's" for label in contents.unknown_objects(connection)),
        *(f"table {name} is missing" for name in contents.missing_tables(connection)),
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
    try:
        content = Path(f"{file}-wal").read_bytes()
    except OSError:
        return 0
    if len(content) < _WAL_HEADER.size:
        return 0
    magic, _, page_size, _, salt1, salt2, *_ = _WAL_HEADER.unpack_from(content)
    if magic & ~1 != _WAL_MAGIC or not 512 <= page_size <= 65_536:
        return 0
    order = ">" if magic & 1 else "<"
    sums = _checksum(content[:24], (0, 0), order)
    is_valid = sums == _WAL_HEADER.unpack_from(content)[6:]
    lost = 0
    step = _FRAME_HEADER.size + page_size
    for place in range(_WAL_HEADER.size, len(content) - step + 1, step):
        _, pages, first, second, *stated = _FRAME_HEADER.unpack_from(content, place)
        if (first, second) != (salt1, salt2):
            is_valid = False  # left over from before the WAL was restarted, as is usual
            continue
        if is_valid:
            sums = _checksum(content[place : place + 8], sums, order)
            sums = _checksum(content[place + _FRAME_HEADER.size : place + step], sums, order)
            is_valid = list(sums) == stated
        if not is_valid and pages:
            lost += 1
    return lost


def _checksum(data: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for place in range(0, len(words), 2):
        first = (first + words[place] + second) & 0xFFFFFFFF
        second = (second + words[place + 1] + first) & 0xFFFFFFFF
    return first, second
