"""Watch over the ``-wal`` and ``-shm`` of an open store: writes into deleted ones would be lost."""

from __future__ import annotations

import os
from pathlib import Path

from satchel.base.errors import IoError, SatchelError


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
                "Try again, and delete no file beside an open store; `satchel doctor` checks it",
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
    """Return the status of a file; None if it is missing."""
    try:
        return os.stat(file)  # noqa: PTH116 -- twice as fast as Path.stat, and on the path of every call
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SatchelError(f"{file} cannot be looked at: {error.strerror}", "Check the path") from error
