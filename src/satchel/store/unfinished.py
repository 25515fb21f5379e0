"""Files that are being made beside a store: backups under way, and drafts of a restore. A killed process leaves them.

Who makes one holds a lock on it (``flock``) until it has its name, so that a sweep can tell what is alive.
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
"""What is appended to the name of a backup while it is made."""

DRAFT = ".restoring"
"""What is appended to the name of a store for the draft of a restore."""

SIDE_FILES = ("-journal", "-wal", "-shm")
"""What SQLite may keep beside a database file."""


@contextmanager
def making(path: Path) -> Iterator[None]:
    """Make an empty private file, and remove it and what lies beside it when the block is left, if it is still there.

    Raises:
        Busy: another process is making it.
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
    """Return the unfinished files of a store, those that are still written among them.

    Args:
        backups: the folders of its backups.
    """
    partial = (path for folder in backups for path in sorted(folder.glob(f"*{PARTIAL}")))
    found = [store.with_name(f"{store.name}{DRAFT}"), *partial]
    return [path for path in found if path.is_file()]


def sweep(store: Path, backups: Sequence[Path]) -> list[Path]:
    """Remove the unfinished files of a store that nobody writes any more, and return them. Never fails."""
    return [path for path in leftovers(store, backups) if remove_if_dead(path)]


def is_dead(path: Path) -> bool:
    """Whether nobody who lives holds an unfinished file; where that cannot be told, it counts as held."""
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
    """Remove an unfinished file unless somebody still writes it; say whether it is gone now and was not before."""
    if not path.is_file() or not is_dead(path):
        return False
    with suppress(OSError):
        _remove(path)
        return True
    return False


def _remove(path: Path) -> None:
    for part in (*(Path(f"{path}{suffix}") for suffix in SIDE_FILES), path):
        part.unlink(missing_ok=True)
