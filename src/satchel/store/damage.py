"""Texts that are not valid UTF-8, or BLOBs in text columns, left by damage: shown, never written back."""

# SQLite stores any value in any column, and apsw decodes text while it fetches, so that a statement that meets such a
# text is run again with its texts as bytes. Valid rows cost one type check per text column.

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any, ClassVar

import apsw

from satchel.base.errors import StoreDamaged

_Row = tuple[Any, ...]

# Marks where the damage of a damaged text begins, or the end of a BLOB.
MARK = "\ufffd(damaged text)"

_MARKS = (MARK, "\\ufffd(damaged text)")
_READS = ("SELECT", "WITH")

# By statement: the places of the columns that are declared as text.
_TEXT_COLUMNS: dict[str, tuple[int, ...]] = {}

_MAX_KNOWN = 1_000


class DamagedText(str):
    """A damaged text of a row, with replacement characters and :data:`MARK`.

    Attributes:
        is_read: whether this process has read one: only then do writes look for the mark in their texts.
    """

    __slots__ = ()

    is_read: ClassVar[bool] = False


def is_damaged(values: Iterable[object]) -> bool:
    return DamagedText in map(type, values)


def check_write(sql: str, parameters: Mapping[str, Any] | None) -> None:
    """Refuse to write what a damaged text has become."""
    if not DamagedText.is_read or not parameters or sql.lstrip().upper().startswith(_READS):
        return
    if any(isinstance(value, str) and any(mark in value for mark in _MARKS) for value in parameters.values()):
        raise _refusal("a damaged text is never written back, so this item cannot be changed")


def fetch_all(connection: apsw.Connection, sql: str, parameters: Mapping[str, Any] | None) -> list[_Row]:
    """Run a statement and return its rows, damaged texts as :class:`DamagedText`."""
    try:
        cursor = connection.execute(sql, parameters)
        first = cursor.fetchone()
        if first is None:
            return []
        columns = _text_columns(sql, cursor)
        rows = [first, *cursor]
    except UnicodeDecodeError:
        return _decoded(connection, sql, parameters)
    if any(bytes in map(type, map(itemgetter(column), rows)) for column in columns):
        return [_without_blobs(row, columns) for row in rows]
    return rows


def fetch_one(connection: apsw.Connection, sql: str, parameters: Mapping[str, Any] | None) -> _Row | None:
    """Run a statement and return its first row as :func:`fetch_all` does, or None."""
    cursor: apsw.Cursor | None = None
    try:
        cursor = connection.execute(sql, parameters)
        row: _Row | None = cursor.fetchone()
        if row is not None and bytes in map(type, row):
            columns = _text_columns(sql, cursor)
            for at in columns:
                if type(row[at]) is bytes:
                    return _without_blobs(row, columns)
        return row
    except UnicodeDecodeError:
        return next(iter(_decoded(connection, sql, parameters)), None)
    finally:
        if cursor is not None:
            cursor.close()


def _without_blobs(row: _Row, columns: tuple[int, ...]) -> _Row:
    return tuple(_damaged(value) if type(value) is bytes and at in columns else value for at, value in enumerate(row))


def _damaged(value: bytes) -> DamagedText:
    DamagedText.is_read = True
    text = value.decode(errors="replace")
    return DamagedText(text.replace(MARK[0], MARK, 1) if MARK[0] in text else text + MARK)


def _refusal(problem: str) -> StoreDamaged:
    return StoreDamaged(
        problem,
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


def _decoded(connection: apsw.Connection, sql: str, parameters: Mapping[str, Any] | None) -> list[_Row]:
    if not sql.lstrip().upper().startswith(_READS):
        raise _refusal("a required row contains text that is not valid UTF-8")
    described = _describe(connection, sql, parameters)
    names = [f"c{place}" for place in range(len(described))]
    typed_columns = ", ".join(
        f"typeof({name}), CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END" for name in names
    )
    read = connection.execute(
        f"WITH readable ({', '.join(names)}) AS ({sql}) SELECT {typed_columns} FROM readable", parameters
    )
    return [
        tuple(
            _value(declared, kind, value) for declared, kind, value in zip(described, row[::2], row[1::2], strict=True)
        )
        for row in read
    ]


def _value(declared: str | None, kind: str, value: Any) -> object:
    if kind == "text":
        try:
            return value.decode()
        except UnicodeDecodeError:
            return _damaged(value)
    return _damaged(value) if kind == "blob" and declared == "TEXT" else value


def _describe(connection: apsw.Connection, sql: str, parameters: Mapping[str, Any] | None) -> list[str | None]:
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
