"""Rows with invalid text: bytes that are not UTF-8, or a BLOB in a text column, left by damage or other tools.

SQLite stores any value in any column, and apsw decodes text while it fetches: one such value would hide every row
of a result. Valid rows cost one type check per text column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any

import apsw

from satchel.base.errors import StoreDamaged

_Row = tuple[Any, ...]

_TEXT_COLUMNS: dict[str, tuple[int, ...]] = {}
"""By statement: the places of the columns that are declared as text."""

_MAX_KNOWN = 1_000


def fetch_all(connection: apsw.Connection, sql: str, parameters: Mapping[str, Any] | None) -> tuple[list[_Row], int]:
    """Run a statement and return its rows, and the number of rows left out because of invalid text.

    Raises:
        StoreDamaged: there is invalid text, and the statement changes rows, so that it cannot be run again.
    """
    try:
        cursor = connection.execute(sql, parameters)
        first = cursor.fetchone()
        if first is None:
            return [], 0
        columns = _text_columns(sql, cursor)
        rows = [first, *cursor]
    except UnicodeDecodeError:
        return _decoded(connection, sql, parameters)
    if not any(bytes in map(type, map(itemgetter(column), rows)) for column in columns):
        return rows, 0
    sound = [row for row in rows if not any(type(row[column]) is bytes for column in columns)]
    return sound, len(rows) - len(sound)


def not_text() -> StoreDamaged:
    """Return the error for a required row with invalid text."""
    return StoreDamaged(
        "a required row contains text that is not valid UTF-8",
        "`satchel doctor` names it; `satchel forget` removes an item, `satchel restore` goes back to a backup",
    )


def _text_columns(sql: str, cursor: apsw.Cursor) -> tuple[int, ...]:
    columns = _TEXT_COLUMNS.get(sql)
    if columns is None:
        if len(_TEXT_COLUMNS) >= _MAX_KNOWN:
            _TEXT_COLUMNS.clear()
        described = cursor.get_description()
        columns = tuple(place for place, (_, declared) in enumerate(described) if declared == "TEXT")
        _TEXT_COLUMNS[sql] = columns
    return columns


def _decoded(connection: apsw.Connection, sql: str, parameters: Mapping[str, Any] | None) -> tuple[list[_Row], int]:
    """Run a statement again with its texts as bytes, and decode them one by one."""
    if sql.lstrip()[:6].upper() not in {"SELECT", "WITH R"}:
        raise not_text()
    described = _describe(connection, sql, parameters)
    names = [f"c{place}" for place in range(len(described))]
    typed_columns = ", ".join(
        f"typeof({name}), CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END" for name in names
    )
    read = connection.execute(
        f"WITH readable ({', '.join(names)}) AS ({sql}) SELECT {typed_columns} FROM readable", parameters
    )
    rows: list[_Row] = []
    left_out = 0
    for row in read:
        values = list(_values(row, described))
        if _INVALID in values:
            left_out += 1
        else:
            rows.append(tuple(values))
    return rows, left_out


_INVALID = object()


def _values(row: _Row, described: list[str | None]) -> Iterator[object]:
    for place, declared in enumerate(described):
        kind, value = row[2 * place], row[2 * place + 1]
        if kind == "text":
            try:
                yield value.decode()
            except UnicodeDecodeError:
                yield _INVALID
        else:
            yield _INVALID if kind == "blob" and declared == "TEXT" else value


def _describe(connection: apsw.Connection, sql: str, parameters: Mapping[str, Any] | None) -> list[str | None]:
    """Return the declared types of a statement's columns, without running it."""
    types: list[str | None] = []

    def look(cursor: apsw.Cursor, *_: object) -> bool:
        types.extend(declared for _, declared in cursor.get_description())
        return False

    cursor = connection.cursor()
    cursor.exec_trace = look
    try:
        cursor.execute(sql, parameters)
    except apsw.ExecTraceAbort:
        return types
    return types
