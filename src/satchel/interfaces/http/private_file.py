"""A file that is this user's alone: believed only while nobody else can read or write it, and replaced as a whole."""

from __future__ import annotations

import os
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from satchel.base.errors import Busy, Refused
from satchel.base.file_checks import kind_of, my_users, owner_name
from satchel.interfaces.setup.config_files import naming, write_private

Content = TypeVar("Content")
State = tuple[int, int, int, int, int]
"""What of a file differs after every change: device, inode, size, and the times of its content and of its inode."""

_WAIT_SECONDS, _PAUSE_SECONDS = 10, 0.005
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class PrivateFile:
    """One file of the user's state folder. Safe between processes and threads.

    Args:
        path: where it is; its folder is made with it.
        what: what it holds, for errors, as in ``the tokens``.
    """

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        self._what = what

    def state(self) -> State | None:
        """Return what tells whether the file changed; None without one.

        Raises:
            Refused: it cannot be looked at.
        """
        with naming(self.path, "looked at"):
            try:
                return _state_of(os.lstat(self.path))
            except FileNotFoundError:
                return None

    def read(self) -> tuple[State, bytes] | None:
        """Return what the file holds, and its state then; None without one.

        Raises:
            Refused: it is no regular file of this user's, others can read or write it, or it cannot be read.
        """
        with naming(self.path, "read"):
            try:
                found = os.lstat(self.path)
                if not stat.S_ISREG(found.st_mode):
                    raise self._refused(
                        self.path,
                        f"is {kind_of(found.st_mode)}, not a file",
                        f"Remove it, then make {self._what} again",
                    )
                descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0))
            except FileNotFoundError:
                return None
            with os.fdopen(descriptor, "rb") as stream:
                found = os.fstat(descriptor)
                self._refuse_others(self.path, found, _OTHERS, "read or write", "600")
                self._refuse_open_folder()
                return _state_of(found), stream.read()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Keep others from changing the file while the block runs.

        Raises:
            Busy: others have kept it for 10 s.
            Refused: the folder is another user's, others can write in it, or this user cannot.
        """
        with naming(self.path, "written"):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._refuse_open_folder()
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
            lock = os.open(self.path.with_suffix(".lock"), flags, 0o600)
            try:
                self._take(lock)
                yield
            finally:
                os.close(lock)

    def replace(self, content: bytes) -> None:
        """Put a content in the place of what the file holds, in one step and on the disk; only in :meth:`changing`."""
        before = self.state()
        draft = self.path.with_name(f"{self.path.name}.{secrets.token_hex(8)}")
        try:
            write_private(draft, content)
            if before is not None:
                # the system's clock of files stands still for some milliseconds, and an inode is soon used again
                changed_at = max(time.time_ns(), before[3] + 1)
                os.utime(draft, ns=(changed_at, changed_at))
            draft.replace(self.path)
        finally:
            draft.unlink(missing_ok=True)
        if sys.platform != "win32":
            folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _take(self, lock: int) -> None:
        if sys.platform == "win32":
            return
        import fcntl

        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise Busy(
                        f"another process keeps {self._what} in {self.path} for more than {_WAIT_SECONDS} s",
                        "Nothing was changed; try again, or end the `satchel` that is stuck",
                    ) from None
                time.sleep(_PAUSE_SECONDS)
            else:
                return

    def _refuse_open_folder(self) -> None:
        folder = self.path.parent
        self._refuse_others(folder, folder.stat(), _OTHERS_WRITE, "write in", "700")

    def _refuse_others(self, path: Path, found: os.stat_result, modes: int, may: str, right: str) -> None:
        if sys.platform == "win32":
            return
        if found.st_uid not in my_users():
            raise self._refused(
                path,
                f"belongs to user {owner_name(found.st_uid)}, not to you",
                f"Run this as that user, or move it away and make {self._what} again",
            )
        if found.st_mode & modes:
            raise self._refused(
                path,
                f"has the mode {stat.S_IMODE(found.st_mode):o}, so that other users can {may} it",
                f"Run `chmod {right} {path}`; where modes do not hold, point XDG_STATE_HOME to a disk that has them",
            )

    def _refused(self, path: Path, why: str, remedy: str) -> Refused:
        return Refused(f"{self._what} cannot be believed: {path} {why}", remedy)


class Book(Generic[Content]):
    """The content of a private file, read again only if the file changed.

    Args:
        file: where it stands.
        read: makes it of the file's bytes; ValueError, TypeError or KeyError says that they are not what was written.
        empty: what it is where there is no file.
        what: what it is called in errors, and what to do where it cannot be read.
    """

    def __init__(
        self, file: PrivateFile, read: Callable[[bytes], Content], empty: Content, what: tuple[str, str]
    ) -> None:
        self._file = file
        self._read = read
        self._empty = empty
        self._what = what
        self._known: tuple[State, Content] | None = None

    def current(self) -> Content:
        """Return it as it was read last, if the file is the same.

        Raises:
            Refused: the file is not to be believed, or cannot be read.
        """
        known, state = self._known, self._file.state()
        return known[1] if known is not None and known[0] == state else self.load()

    def load(self) -> Content:
        """Return it as the file has it now.

        Raises:
            Refused: the file is not to be believed, or cannot be read.
        """
        self._known = None
        read = self._file.read()
        if read is None:
            return self._empty
        try:
            content = self._read(read[1])
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            what, remedy = self._what
            raise Refused(f"the {what} in {self._file.path} cannot be read ({error})", remedy) from error
        self._known = read[0], content
        return content


def _state_of(found: os.stat_result) -> State:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
