"""SQLite's errors in Satchel's words: each becomes one of ours, with a remedy, or stays what it is."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from satchel.base.errors import (
    Busy,
    Interrupted,
    ReadOnly,
    SatchelError,
    StoreDamaged,
    StoreForeign,
    StoreFull,
)

_RESTORE = "Run `satchel doctor` to see the damage and `satchel restore` to go back to a backup"


@contextmanager
def explained(store: Path) -> Iterator[None]:
    """Raise the errors of SQLite and of the operating system inside the block in Satchel's words.

    Args:
        store: the database file, to name it.
    """
    try:
        yield
    except apsw.Error as error:
        known = explain(error, store)
        if known is None:
            raise
        raise known from error
    except OSError as error:
        place = error.filename or store
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise StoreFull(f"the disk that holds {place} is full", "Free some space and try again") from error
        if error.errno in {errno.EROFS, errno.EACCES, errno.EPERM}:
            raise ReadOnly(
                f"{place} cannot be written here: {error.strerror}",
                "Check the permissions of the file and its folder, and how the disk is mounted",
            ) from error
        raise SatchelError(f"{place} cannot be used: {error.strerror}", "Check the path") from error


def explain(error: apsw.Error, store: Path) -> SatchelError | None:
    """Translate an engine error.

    Args:
        error: what apsw raised.
        store: the database file, to name it.

    Returns:
        The error to raise instead, or None for a fault of our own that should be seen as it is.
    """
    match error:
        case apsw.BusyError() | apsw.LockedError() | apsw.ProtocolError():
            return Busy(
                f"{store} stayed locked by another process for longer than the wait",
                "Nothing was written; try again, or raise store.lock_wait_ms",
            )
        case apsw.NotADBError():
            return StoreForeign(
                f"{store} is not a SQLite database",
                f"It was left untouched; name another file, or {_RESTORE}",
            )
        case apsw.CorruptError() | apsw.FormatError():
            return StoreDamaged(f"{store} is damaged ({error})", _RESTORE)
        case apsw.FullError():
            return StoreFull(
                f"the disk that holds {store} is full", "Nothing was written; free some space and try again"
            )
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            return ReadOnly(
                f"{store} cannot be written ({error})",
                "Reading works; check the file's and folder's permissions",
            )
        case apsw.CantOpenError():
            return ReadOnly(f"{store} cannot be opened ({error})", "Check that the folder exists and its permissions")
        case apsw.InterruptError():
            return Interrupted("the call was interrupted", "Nothing of it was written")
        case apsw.IOError() if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHORT_READ:
            return StoreDamaged(f"{store} is shorter than it should be", _RESTORE)
        case apsw.IOError():
            return StoreFull(
                f"reading or writing {store} failed ({error})",
                "Nothing was written; check the disk and its free space",
            )
        case _:
            return None
