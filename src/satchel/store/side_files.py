"""The ``-wal`` and ``-shm`` of an open store, whose deletion would lose writes, and unfinished backups and restores."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from satchel.base.errors import Busy, IoError, SatchelError


class SideFilesGoneError(IoError):
    """The ``-wal`` or ``-shm`` of an open store was deleted or replaced."""


class SideFiles:
    """The ``-wal`` and ``-shm`` as the connections of one engine opened them.

    Attributes:
        written_at: when the store's file was modified, as far as this engine knows, in nanoseconds.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._wal, self._shm = f"{file}-wal", f"{file}-shm"
        self._opened: tuple[tuple[int, int] | None, ...] | None = None
        self.written_at: int | None = None

    def remember(self) -> None:
        """Remember the files after the store was opened."""
        self._opened, self.written_at = self._identities(), modified_at(status_of(self._file))

    def forget(self) -> None:
        """Forget the files when the connections are closed."""
        self._opened = None

    def check(self) -> None:
        """Refuse to commit into files that others no longer see, since they were deleted or replaced."""
        now = self._identities()
        if self._opened is None or None in self._opened:
            self._opened = now  # the first write makes them where a store was not in WAL mode
        if self._opened != now:
            raise SideFilesGoneError(
                f"{self._file}-wal or -shm was deleted or replaced while the store was open; nothing was written",
                "Try again, and delete no file next to an open store; `satchel doctor` checks it",
            )

    def may_checkpoint(self) -> bool:
        """Return whether closing may copy the ``-wal`` into the store.

        It may do so from a deleted one, which only this engine can still read, but not where others may have written
        since.
        """
        if self._opened is None or self._identities() == self._opened:
            return True
        return status_of(self._wal) is None and self.written_at == modified_at(status_of(self._file))

    def _identities(self) -> tuple[tuple[int, int] | None, ...]:
        return tuple(identity_of(status_of(file), even_empty=True) for file in (self._wal, self._shm))


def identity_of(status: os.stat_result | None, *, even_empty: bool = False) -> tuple[int, int] | None:
    """Return the device and inode of a file; None if it is missing, or empty."""
    return (status.st_dev, status.st_ino) if status is not None and (even_empty or status.st_size) else None


def modified_at(status: os.stat_result | None) -> int | None:
    return None if status is None else status.st_mtime_ns


def status_of(file: Path | str) -> os.stat_result | None:
    try:
        return os.stat(file)  # noqa: PTH116 -- twice as fast as Path.stat, and on the path of every call
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SatchelError(f"{file} cannot be looked at: {error.strerror}", "Check the path") from error


# Suffix of a backup while it is made.
PARTIAL = ".partial"

# Suffix of a restore's draft.
DRAFT = ".restoring"

# Suffixes of the files that SQLite may create with a database file.
SIDE_FILES = ("-journal", "-wal", "-shm")


@contextmanager
def making(path: Path) -> Iterator[None]:
    """Create an empty private file, and remove it and its side files when the block ends, if it still exists."""
    remove_if_dead(path)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise Busy(f"another process is writing {path}", "Wait until it is done") from error
    try:
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
