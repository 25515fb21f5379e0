"""Translation of SQLite's errors to Satchel's, with a remedy."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from satchel import __version__
from satchel.base.errors import (
    Busy,
    IoError,
    ReadOnly,
    SatchelError,
    StoreDamaged,
    StoreForeign,
    StoreFull,
    StoreMissing,
    StoreNewer,
    StoreOlder,
    system_error,
)
from satchel.store.running import interruption
from satchel.store.schema import BASE_VERSION, SCHEMA_VERSION

# The error numbers of a failing disk (``unixRead`` in SQLite's os_unix.c).
_READ_FAILED = frozenset({errno.EIO, errno.ENXIO, errno.ERANGE})

# The database, its WAL, its shared memory, and its folder for a moment.
_FILES_OF_A_CONNECTION = 4

_MISSING = ("no such table:", "no such column:", "no such index:")

RESTORE = (
    "Check the system log for disk errors, then run `satchel doctor` to see the damage and what to do; "
    "`satchel restore` goes back to a backup, if you have one"
)


# What to do about a lost store without a backup.
REMAINS = (
    "After `satchel init --new`, what was shared through git comes back with `satchel accept --all` and an export with "
    "`satchel import FILE`; `satchel restore FILE` takes a copy of the store that you have"
)


def newer(location: str, needed: int, action: str) -> StoreNewer:
    """Return the error for a store that needs a newer program; `action` is "read" or "written"."""
    return StoreNewer(
        f"{location} can only be {action} by a Satchel that knows schema version {needed}; "
        f"this one ({__version__}) knows {SCHEMA_VERSION}",
        "Upgrade Satchel, or restart this client or server if it was upgraded since; the store was left untouched",
    )


def busy(location: str, others: str = "other threads") -> Busy:
    """Return the error for a write that waited too long for others."""
    return Busy(
        f"{others} kept {location} busy for longer than the wait",
        "Nothing was written; try again, or raise store.lock_wait_ms",
    )


def missing(file: Path, newest: str | None) -> StoreMissing:
    """Return the error for a store that is gone or empty; `newest` is the time of its newest backup."""
    restore = (
        f"`satchel restore` goes back to the newest backup, of {newest}" if newest else f"there is no backup. {REMAINS}"
    )
    return StoreMissing(
        f"the store {file} {'is empty' if file.exists() else 'is gone'}, though there was one; nothing was written",
        "This is for a person to decide. Save your text elsewhere until then.\n"
        f"If it was moved, move it back, with its -wal. If it should not be gone: {restore}.\n"
        "If it was deleted on purpose: `satchel init --new` starts an empty store",
    )


def older(location: str, version: int) -> StoreOlder:
    """Return the error for a store or backup from before version 27."""
    return StoreOlder(
        f"{location} was last opened before Satchel 0.2.0: it has schema version {version}, and this Satchel "
        f"({__version__}) migrates stores from version {BASE_VERSION} on",
        "Install Satchel 0.2.0, open it once with that (`satchel doctor`; a backup: `satchel restore FILE`), then "
        "come back to this version; nothing was changed",
    )


def check_version(location: str, needed: int, version: int) -> None:
    """Refuse a store that needs a newer program to be read, and one of before version 27."""
    if needed > SCHEMA_VERSION:
        raise newer(location, needed, "read")
    if version < BASE_VERSION:
        raise older(location, version)


@contextmanager
def explained(store: Path) -> Iterator[None]:
    """Translate the errors of SQLite and of the operating system that the block raises."""
    try:
        yield
    except apsw.Error as error:
        translated = explain(error, store)
        if translated is None:
            raise
        raise translated from error
    except OSError as error:
        place = error.filename or store
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise StoreFull(f"the disk that holds {place} is full", "Free some space and try again") from error
        failed = system_error(error, f"using {place}")
        if failed is not None:
            raise failed from error
        if error.errno in {errno.EROFS, errno.EACCES, errno.EPERM}:
            raise ReadOnly(
                f"{place} cannot be written here: {error.strerror}",
                "Check the permissions of the file and its folder, and how the disk is mounted",
            ) from error
        raise SatchelError(f"{place} cannot be used: {error.strerror}", "Check the path") from error


def explain(error: apsw.Error, store: Path, connection: apsw.Connection | None = None) -> SatchelError | None:
    """Translate an engine error; None for a bug in Satchel, which should surface as it is.

    The connection that raised it tells a disk that fails from a file that is damaged.
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
                f"It was left untouched; name another file, or {RESTORE[0].lower()}{RESTORE[1:]}",
            )
        case apsw.CorruptError() | apsw.FormatError():
            # SQLite reports some failed reads of the disk so too: RESTORE names the disk first
            return StoreDamaged(f"{store} is damaged ({one_line(error)})", RESTORE)
        case apsw.FullError():
            return StoreFull(
                f"the disk that holds {store} is full", "Nothing was written; free some space and try again"
            )
        case apsw.IOError() if _system_error(connection) in {errno.ENOSPC, errno.EDQUOT}:
            return StoreFull(
                f"the disk or quota that holds {store} is full", "Nothing was written; free some space and try again"
            )
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            return ReadOnly(
                f"{store} cannot be written ({error})",
                "Reading works; check the file's and folder's permissions",
            )
        case apsw.CantOpenError() if not _may_open_more():
            return _device_failed(f"opening {store}", errno.EMFILE)
        case apsw.CantOpenError() if _system_error(connection) in _READ_FAILED:
            return _device_failed(f"opening {store}", errno.EIO)
        case apsw.CantOpenError():
            return ReadOnly(f"{store} cannot be opened ({error})", "Check that the folder exists and its permissions")
        case apsw.InterruptError():
            return interruption()
        case apsw.IOError() if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHORT_READ:
            return StoreDamaged(f"{store} is shorter than it should be", RESTORE)
        case apsw.IOError():
            return _device_failed(f"reading or writing {store}", errno.EIO, str(error))
        case apsw.NoMemError():
            return _device_failed(f"using {store}", errno.ENOMEM)
        case apsw.SQLError() if str(error).startswith(_MISSING) and connection is not None:
            return (
                StoreDamaged(f"{store} is damaged ({one_line(error)})", RESTORE) if _lacks_objects(connection) else None
            )
        case _:
            return None


def _device_failed(action: str, number: int, why: str | None = None) -> IoError:
    failed = system_error(OSError(errno.EIO if number in _READ_FAILED else number, why or os.strerror(number)), action)
    assert failed is not None
    return failed


def unknown_outcome(store: Path) -> IoError:
    """Return the error for a commit that may or may not survive a crash."""
    return IoError(
        f"the disk failed while a write to {store} was made durable, and again while it was undone",
        "It is unknown whether the write was saved: read it back before you write it again",
    )


def one_line(error: object) -> str:
    """Return the beginning of SQLite's message on one line: it may quote content of the file."""
    return " ".join(str(error).split())[:120].replace("`", "'")


def _lacks_objects(connection: apsw.Connection) -> bool:
    from satchel.store import contents

    with suppress(apsw.Error):
        return bool(contents.missing_tables(connection) or contents.unknown_objects(connection))
    return True


def _system_error(connection: apsw.Connection | None) -> int:
    try:
        return 0 if connection is None else connection.system_errno
    except apsw.ConnectionClosedError:
        return 0


def _may_open_more() -> bool:
    opened: list[int] = []
    try:
        while len(opened) < _FILES_OF_A_CONNECTION:
            opened += [os.open(os.devnull, os.O_RDONLY)]
    except OSError as error:
        return error.errno not in {errno.EMFILE, errno.ENFILE}
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return True
