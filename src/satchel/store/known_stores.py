"""The user's list of created and trusted stores, in the state folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from satchel.base.errors import Refused, SatchelError
from satchel.base.records import dataclass

# Device and inode of a file.
Identity = tuple[int, int]

LIST_NAME = "stores.db"

_WAIT_MS = 5_000
_DAY_MS = 86_400_000
_GONE_MS = 90 * _DAY_MS
_TABLE = """
    CREATE TABLE IF NOT EXISTS stores (
        uid BLOB PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        device INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        how TEXT NOT NULL CHECK (how IN ('made', 'trusted')),
        listed_at INTEGER NOT NULL,
        complete INTEGER NOT NULL,
        tree INTEGER NOT NULL DEFAULT 0,
        owner INTEGER,
        gone_since INTEGER
    ) STRICT
"""
_COLUMNS = "uid, path, device, inode, how, listed_at, complete, tree, owner"


@dataclass(frozen=True, slots=True)
class KnownStore:
    """A store that this user has created or trusts.

    Attributes:
        identity: device and inode of that file when it was listed.
        how: ``made`` here, or ``trusted`` by the user.
        complete: whether its creation was finished; an unfinished one is no loss if its file is empty.
        tree: whether projects below its folder use it too.
        owner: the number of another user who owns the file, accepted by name; None is this user.
    """

    uid: bytes
    file: Path
    identity: Identity
    how: str
    listed_at: int
    complete: bool = True
    tree: bool = False
    owner: int | None = None


class KnownStores:
    """The list. Every call opens it, so that parallel processes see each other's changes; SQLite locks it.

    The user's state folder is created with the first store that is listed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / LIST_NAME

    def at(self, file: Path) -> KnownStore | None:
        return next(iter(self._select("WHERE path = ?", str(file))), None)

    def of(self, uid: bytes) -> KnownStore | None:
        return next(iter(self._select("WHERE uid = ?", uid)), None)

    def every(self) -> list[KnownStore]:
        return self._select("ORDER BY path")

    def put(self, store: KnownStore) -> None:
        """Add a store, replacing the entries of its uid and its path."""
        with self._changing(store.listed_at) as connection:
            connection.execute("DELETE FROM stores WHERE uid = ? OR path = ?", (store.uid, str(store.file)))
            connection.execute(
                f"INSERT INTO stores ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(store.uid, str(store.file), *store.identity, store.how, store.listed_at),
                    *(store.complete, store.tree, store.owner),
                ),
            )

    def remove(self, file: Path) -> bool:
        if self.at(file) is None:
            return False
        with self._changing(None) as connection:
            connection.execute("DELETE FROM stores WHERE path = ?", (str(file),))
        return True

    def is_writable(self) -> bool:
        place = self._file if self._file.exists() else self.folder
        while not place.exists() and place != place.parent:
            place = place.parent
        return os.access(place, os.W_OK) and os.access(self.folder if self.folder.exists() else place, os.W_OK)

    def _select(self, condition: str, *values: str | bytes) -> list[KnownStore]:
        try:
            with closing(_connect(self._file, apsw.SQLITE_OPEN_READONLY)) as connection:
                rows = connection.execute(f"SELECT {_COLUMNS} FROM stores {condition}", values).fetchall()
        except apsw.CantOpenError:
            if self._file.exists():
                raise self._unusable("it cannot be opened") from None
            return []
        except apsw.SQLError:
            return []  # another process is about to create the table
        except apsw.Error as error:
            raise self._unusable(str(error)) from error
        return [_read_row(row) for row in rows]

    @contextmanager
    def _changing(self, now: int | None) -> Iterator[apsw.Connection]:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._file.exists():
                # private from the start; another process may be faster
                with suppress(FileExistsError):
                    os.close(os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            with closing(_connect(self._file)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    connection.execute(_TABLE)
                    if now is not None:
                        _sweep(connection, now)
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
        except OSError as error:
            raise self._unwritable(error.strerror or str(error)) from error
        except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError) as error:
            raise self._unwritable(str(error)) from error
        except apsw.Error as error:
            raise self._unusable(str(error)) from error

    def _unwritable(self, why: str) -> Refused:
        return Refused(
            f"the list of stores that you trust, {self._file}, cannot be written: {why}",
            "Make its folder writable, point XDG_STATE_HOME elsewhere, or set SATCHEL_TRUST=1 if nobody else can "
            "put files here, as in a container",
        )

    def _unusable(self, why: str) -> SatchelError:
        return Refused(
            f"the list of stores that you trust, {self._file}, cannot be used: {why}",
            "Move it away, then run `satchel trust` in each of your projects",
        )


def _connect(file: Path, flags: int = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) -> apsw.Connection:
    connection = apsw.Connection(str(file), flags=flags)
    connection.set_busy_timeout(_WAIT_MS)
    return connection


def _read_row(row: Any) -> KnownStore:
    uid, path, device, inode, how, listed_at, complete, tree, owner = row
    return KnownStore(uid, Path(path), (device, inode), how, listed_at, bool(complete), bool(tree), owner)


def _sweep(connection: apsw.Connection, now: int) -> None:
    missing = [path for (path,) in connection.execute("SELECT path FROM stores") if not Path(path).exists()]
    marks = ", ".join("?" * len(missing))
    back = f"UPDATE stores SET gone_since = NULL WHERE gone_since IS NOT NULL AND path NOT IN ({marks})"
    connection.execute(back, missing)
    connection.execute(
        f"UPDATE stores SET gone_since = ? WHERE gone_since IS NULL AND path IN ({marks})", (now, *missing)
    )
    # a clock that is ahead alone drops none: another store must have been listed so late, a day ago
    connection.execute(
        """
        DELETE FROM stores WHERE gone_since <= ? AND EXISTS (
            SELECT 1 FROM stores o WHERE o.listed_at BETWEEN stores.gone_since + ? AND ?
        )
        """,
        (now - _GONE_MS, _GONE_MS, now - _DAY_MS),
    )
