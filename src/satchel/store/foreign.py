"""Database files of other programs: read in one snapshot, never changed, and without new files in their folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import apsw

from satchel.base.errors import Busy, NotFound, Refused, SatchelError, StoreDamaged, StoreForeign
from satchel.store.opening import is_database, wal_bytes

_WAIT_MS = 5_000
_WAL_FORMAT = 2
_ENCODINGS = {"UTF-8": "utf-8", "UTF-16le": "utf-16-le", "UTF-16be": "utf-16-be"}

Value = int | float | str | bytes | None


class ForeignDatabase:
    """A snapshot of the ordinary tables of a database file.

    Attributes:
        tables: the columns of every ordinary table, by its name; no views, no virtual tables.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._encoding = _ENCODINGS[str(connection.pragma("encoding"))]
        names = [
            str(name)
            for (name,) in connection.execute(
                "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' ORDER BY name"
            )
            if not str(name).startswith("sqlite_")
        ]
        self.tables = {name: tuple(map(str, self._columns(name))) for name in names}

    def _columns(self, table: str) -> list[object]:
        columns = self._connection.execute("SELECT name FROM pragma_table_info(:table)", {"table": table})
        return [row[0] for row in columns]

    def count(self, table: str) -> int:
        return int(self._connection.execute(f"SELECT count(*) FROM {_quoted(table)}").get)

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Value, ...]]:
        """Yield some columns of every row of a table.

        Text that does not decode in the file's own encoding is returned as bytes, so that one bad row hides no other.
        """
        typed_columns = ", ".join(
            f"typeof({name}), CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
            for name in map(_quoted, columns)
        )
        for row in self._connection.execute(f"SELECT {typed_columns} FROM {_quoted(table)}"):
            yield tuple(self._value(row[place], row[place + 1]) for place in range(0, len(row), 2))

    def _value(self, kind: str, value: Value) -> Value:
        if kind == "text" and isinstance(value, bytes):
            try:
                return value.decode(self._encoding)
            except UnicodeDecodeError:
                return value
        return value


@contextmanager
def open_foreign(file: Path) -> Iterator[ForeignDatabase]:
    """Open another program's database for reading.

    A file in WAL mode that nobody has open has no WAL file; it is opened as immutable, since even a read-only
    connection would leave a WAL and its shared memory there (as of SQLite 3.53). Whether somebody wrote to it during
    the read is checked at the end.
    """
    if file.is_dir():
        raise NotFound(f"{file} is a folder", "Name the database file in it")
    if not file.exists():
        raise NotFound(f"there is no file {file}", "Name the database file of the other program")
    try:
        if not is_database(file):
            raise StoreForeign(f"{file} is not a SQLite database", "It was left untouched; name another file")
        with _snapshot(file) as database:
            yield database
    except OSError as error:
        raise SatchelError(f"{file} cannot be read: {error.strerror}", "Check its permissions") from error
    except apsw.Error as error:
        raise _explained(error, file) from error


@contextmanager
def _snapshot(file: Path) -> Iterator[ForeignDatabase]:
    has_wal = Path(f"{file}-wal").exists()
    immutable = not wal_bytes(file) and not os.access(file.parent, os.W_OK) if has_wal else _in_wal_mode(file)
    before = _stamp(file)
    name = f"file:{quote(str(file))}?{'immutable=1' if immutable else 'mode=ro'}"
    connection = apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        connection.set_busy_timeout(_WAIT_MS)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.pragma("trusted_schema", False)
        connection.pragma("mmap_size", 0)
        connection.execute("BEGIN")
        yield ForeignDatabase(connection)
    finally:
        connection.close()
    if immutable and (_stamp(file) != before or wal_bytes(file)):
        raise Busy(f"another program wrote to {file} while it was read", "Nothing was taken from it; try again")


def _in_wal_mode(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(20)[18:20] == bytes((_WAL_FORMAT, _WAL_FORMAT))


def _stamp(file: Path) -> tuple[int, int, int]:
    status = file.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _explained(error: apsw.Error, file: Path) -> SatchelError:
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return Busy(f"another program kept {file} locked", "Nothing was taken from it; try again")
        case apsw.NotADBError():
            return StoreForeign(f"{file} is not a SQLite database", "It was left untouched; name another file")
        case apsw.CorruptError() | apsw.FormatError():
            return StoreDamaged(
                f"{file} is damaged ({error})",
                "Nothing was taken from it; rescue its content with `.recover` of the sqlite3 shell",
            )
        case apsw.CantOpenError() | apsw.ReadOnlyError():
            return Refused(
                f"{file} was left in the middle of a write, which cannot be completed without changing it ({error})",
                "Open it once with its own program, or copy it with its -wal and -journal files to a writable folder",
            )
        case _:
            return SatchelError(f"{file} cannot be read ({error})", "Nothing was taken from it")


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
