"""Unfinished files of a store: backups in progress, and drafts of a restore. A killed process leaves them.

Their maker holds a lock on them (``flock``) until they have their name, so that a sweep can tell which are alive.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from satchel.base.errors import Busy

if sys.platform != "win32":
    import fcntl

PARTIAL = ".partial"
"""Suffix of a backup while it is made."""

DRAFT = ".restoring"
"""Suffix of a restore's draft."""

SIDE_FILES = ("-journal", "-wal", "-shm")
"""Suffixes of the files that SQLite may create with a database file."""


@contextmanager
def making(path: Path) -> Iterator[None]:
    """Create an empty private file, and remove it and its side files when the block ends, if it still exists.

    Raises:
        Busy: another process is writing it.
    """
    remove_if_dead(path)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise Busy(f"another process is writing {path}", "Wait until it is done") from error
    try:
        if sys.platform != "win32":
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        with suppress(OSError):
            if os.fstat(descriptor).st_ino == path.stat().st_ino:
                _remove(path)
        os.close(descriptor)


def leftovers(store: Path, backups: Sequence[Path]) -> list[Path]:
    """Return the unfinished files of a store and of its backup folders, including those still being written."""
    partial = (path for folder in backups for path in sorted(folder.glob(f"*{PARTIAL}")))
    paths = [store.with_name(f"{store.name}{DRAFT}"), *partial]
    return [path for path in paths if path.is_file()]


def sweep(store: Path, backups: Sequence[Path]) -> list[Path]:
    """Remove the unfinished files of a store that nobody writes any more, and return them. Never fails."""
    return [path for path in leftovers(store, backups) if remove_if_dead(path)]


def is_dead(path: Path) -> bool:
    """Return whether no live process holds an unfinished file; if that is unknown, it counts as held."""
    if sys.platform == "win32":
        return False
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)


def remove_if_dead(path: Path) -> bool:
    """Remove an unfinished file unless a process still writes it; return whether it was removed."""
    if not path.is_file() or not is_dead(path):
        return False
    with suppress(OSError):
        _remove(path)
        return True
    return False


def _remove(path: Path) -> None:
    for part in (*(Path(f"{path}{suffix}") for suffix in SIDE_FILES), path):
        part.unlink(missing_ok=True)
