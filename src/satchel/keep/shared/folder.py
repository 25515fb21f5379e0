"""The folder of the shared text in a worktree: read as what a stranger put there, written file by file."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from satchel.base.errors import Refused
from satchel.base.file_checks import IGNORED_BY_GIT, SHARED_FOLDER, kind_of
from satchel.base.paths import FOLDER_NAME

MAX_BYTES = 1024 * 1024
"""Larger files are skipped; a content has 256 KiB at most unless that was raised."""

MAX_FILES = 20_000
"""Files beyond so many are skipped; reading as many takes 5 s."""

_MAX_LISTED = 200_000

IS_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}\.md").fullmatch
IGNORED = frozenset(("README.md", ".gitattributes", ".gitkeep"))
"""What people put beside the items."""

OLD_IGNORE = b"# what agents keep here is theirs, not the repository's\n*\n"
_LINES_FOR_GIT = (b"!/shared/", b"!/shared/**")


class Skipped(NamedTuple):
    """What lies in the folder and is not read.

    Attributes:
        path: relative to the project's folder.
        line: where in it; None for all of it.
    """

    path: str
    problem: str
    line: int | None = None


class Listing(NamedTuple):
    """What lies in the folder.

    Attributes:
        names: the files that may be items, sorted.
        skipped: what is none.
        stamp: changes with any of the files, by their sizes, times and inodes.
    """

    names: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    stamp: bytes


class Folder:
    """The folder ``.satchel/shared`` of a worktree.

    Args:
        root: the worktree's top, or the project's folder.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self.path = f"{root}/{FOLDER_NAME}/{SHARED_FOLDER}"

    def shown(self, name: str) -> str:
        """Return a file's path as people read it; what is no plain name is escaped."""
        plain = name if IS_NAME(name) else ascii(name)[1:-1][:120]
        return f"{FOLDER_NAME}/{SHARED_FOLDER}/{plain}"

    def list(self) -> Listing:
        """List the files, without opening any."""
        skipped: list[Skipped] = []
        if (odd := self._odd()) is not None:
            return Listing((), (odd,) if odd.problem else (), b"")
        names: dict[str, tuple[int, int, int]] = {}
        here = self.shown("")[:-1]
        try:
            with os.scandir(self.path) as listing:
                for entry in islice(listing, _MAX_LISTED):
                    if entry.name in IGNORED or (entry.name.startswith(".") and entry.name.endswith(".tmp")):
                        continue
                    problem, status = _judge(entry)
                    if problem is None and status is not None:
                        names[entry.name] = (status.st_size, status.st_mtime_ns, status.st_ino)
                    elif problem is not None and len(skipped) < MAX_FILES:
                        skipped.append(Skipped(self.shown(entry.name), problem))
                if next(listing, None) is not None:
                    skipped.append(Skipped(here, f"holds more than {_MAX_LISTED:,} files; the rest is not seen"))
        except OSError as error:
            skipped.append(Skipped(here, f"cannot be listed: {error.strerror}"))
        chosen = sorted(names.items())[:MAX_FILES]
        if len(names) > MAX_FILES:
            left = len(names) - MAX_FILES
            skipped.append(Skipped(here, f"{left:,} files beyond {MAX_FILES:,} are not read"))
        stamp = hashlib.blake2b(repr(chosen).encode(), digest_size=16).digest()
        return Listing(tuple(name for name, _ in chosen), tuple(sorted(skipped)), stamp)

    def read(self, name: str) -> bytes | None:
        """Return what a file holds; None where it is none of a size and kind that is read."""
        flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        try:
            descriptor = os.open(f"{self.path}/{name}", flags)
        except (OSError, ValueError):
            return None
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
                return None
            data = stream.read(MAX_BYTES + 1)
        return None if len(data) > MAX_BYTES else data

    def write(self, name: str, data: bytes) -> None:
        """Write a file whole, so that no reader sees part of it.

        Raises:
            Refused: the folder or the file is a link, or the folder cannot be written.
        """
        self.prepare()
        target = f"{self.path}/{name}"
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(os.lstat(target).st_mode):
                raise Refused(f"{self.shown(name)} is no regular file", "See where it comes from and remove it")
        temporary = f"{self.path}/.{name[:-3]}.{os.getpid()}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
        try:
            Path(temporary).unlink(missing_ok=True)
            with os.fdopen(os.open(temporary, flags, 0o644), "wb") as stream:
                stream.write(data)
            Path(temporary).replace(target)
        except OSError as error:
            with suppress(OSError):
                Path(temporary).unlink(missing_ok=True)
            raise Refused(
                f"{self.shown(name)} cannot be written: {error.strerror}", "Check the folder's permissions"
            ) from error

    def prepare(self) -> None:
        """Make the folder where there is none.

        Raises:
            Refused: it or the one above is a link or no folder, or cannot be made.
        """
        for path in (f"{self.root}/{FOLDER_NAME}", self.path):
            try:
                with suppress(FileExistsError):
                    Path(path).mkdir(mode=0o755)
                mode = os.lstat(path).st_mode
            except OSError as error:
                raise Refused(f"{path} cannot be made: {error.strerror}", "Check the folder's permissions") from error
            if not stat.S_ISDIR(mode):
                raise Refused(f"{path} is {kind_of(mode)}, not a folder", "See where it comes from and remove it")

    def let_git_see(self) -> str | None:
        """Change the ``.gitignore`` that Satchel made so that git sees the folder.

        Returns:
            What a person has to change in one that was written by hand; None where there is nothing to do.
        """
        path = Path(self.root) / FOLDER_NAME / ".gitignore"
        try:
            if not stat.S_ISREG(os.lstat(path).st_mode):
                return None
            content = path.read_bytes()
        except OSError:
            return None
        if content.replace(b"\r\n", b"\n") == OLD_IGNORE:
            with suppress(OSError):
                path.write_text(IGNORED_BY_GIT, encoding="utf-8")
            return None
        if all(line in content for line in _LINES_FOR_GIT) or b"*\n" not in content:
            return None
        return f"{FOLDER_NAME}/.gitignore may hide the folder from git: add the lines !/shared/ and !/shared/**"

    def _odd(self) -> Skipped | None:
        """Return why there is nothing to list; with no problem where there is simply no folder."""
        for path, shown in ((f"{self.root}/{FOLDER_NAME}", FOLDER_NAME), (self.path, f"{FOLDER_NAME}/{SHARED_FOLDER}")):
            try:
                mode = os.lstat(path).st_mode
            except OSError:
                return Skipped(shown, "")
            if not stat.S_ISDIR(mode):
                return Skipped(shown, f"is {kind_of(mode)}, not a folder")
        return None


def _judge(entry: os.DirEntry[str]) -> tuple[str | None, os.stat_result | None]:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError as error:
        return f"cannot be looked at: {error.strerror}", None
    if not stat.S_ISREG(status.st_mode):
        return f"is {kind_of(status.st_mode)}, not a regular file", None
    if not IS_NAME(entry.name):
        return "is not named as an item's file is: letters, digits, . _ and - and .md at the end", None
    return size_problem(status.st_size), status


def size_problem(size: int) -> str | None:
    """Return why a file of a size is not read, or None."""
    return f"has {size / 1024**2:,.1f} MiB; more than 1 is not read" if size > MAX_BYTES else None


def files_of(folder: Folder, listing: Listing) -> Iterator[tuple[str, bytes | None]]:
    """Yield the files that were listed, with what each holds; None for one that was exchanged meanwhile."""
    for name in listing.names:
        yield name, folder.read(name)
