"""The folder of shared texts, whose files a stranger may have written, and the quick check for news."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from satchel.base import git_files
from satchel.base.errors import Refused
from satchel.base.file_checks import SHARED_FOLDER, kind_of
from satchel.base.git_files import Branches
from satchel.base.paths import FOLDER_NAME
from satchel.base.records import dataclass
from satchel.keep import projects
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction, put_rows

BELOW = f"{FOLDER_NAME}/{SHARED_FOLDER}"

MAX_BYTES = 1024 * 1024  # larger files are skipped; by default, content has at most 256 KiB

MAX_FILES = 20_000  # further files are skipped

_MAX_LISTED = 200_000

IS_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}\.md").fullmatch
IGNORED = frozenset(("README.md", ".gitattributes", ".gitkeep"))  # other files that people keep in the folder


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """A problem with a file, or the reason why it was not read."""

    file: str
    problem: str
    line: int | None = None


class Listing(NamedTuple):
    """Files of the folder.

    Attributes:
        stamp: changes with any file's size, time or inode.
    """

    names: tuple[str, ...]
    problems: tuple[Problem, ...]
    stamp: bytes


class Folder:
    """The folder ``.satchel/shared`` below the top of a worktree or a project's folder."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.path = f"{root}/{FOLDER_NAME}/{SHARED_FOLDER}"

    def display_path(self, name: str) -> str:
        """Return a file's path for people; unsafe names are escaped."""
        plain = name if IS_NAME(name) else ascii(name)[1:-1][:120]
        return f"{FOLDER_NAME}/{SHARED_FOLDER}/{plain}"

    def list(self) -> Listing:
        problems: list[Problem] = []
        if (odd := self._odd()) is not None:
            return Listing((), (odd,) if odd.problem else (), b"")
        names: dict[str, tuple[int, int, int]] = {}
        here = self.display_path("")[:-1]
        try:
            with os.scandir(self.path) as listing:
                for entry in islice(listing, _MAX_LISTED):
                    if entry.name in IGNORED or (entry.name.startswith(".") and entry.name.endswith(".tmp")):
                        continue
                    problem, status = _judge(entry)
                    if problem is None and status is not None:
                        names[entry.name] = (status.st_size, status.st_mtime_ns, status.st_ino)
                    elif problem is not None and len(problems) < MAX_FILES:
                        problems.append(Problem(self.display_path(entry.name), problem))
                if next(listing, None) is not None:
                    problems.append(Problem(here, f"holds more than {_MAX_LISTED:,} files; the rest is ignored"))
        except OSError as error:
            problems.append(Problem(here, f"cannot be listed: {error.strerror}"))
        listed = sorted(names.items())[:MAX_FILES]
        if len(names) > MAX_FILES:
            more = len(names) - MAX_FILES
            problems.append(Problem(here, f"{more:,} files beyond {MAX_FILES:,} are not read"))
        stamp = hashlib.blake2b(repr(listed).encode(), digest_size=16).digest()
        return Listing(tuple(name for name, _ in listed), tuple(sorted(problems)), stamp)

    def read(self, name: str) -> bytes | None:
        from satchel.base.cited import read_cited  # looking for news does without

        try:
            file = read_cited(self.root, f"{BELOW}/{name}")
        except OSError:
            return None
        return None if file is None else file.data

    def write(self, name: str, data: bytes) -> None:
        self.prepare()
        target = f"{self.path}/{name}"
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(os.lstat(target).st_mode):
                raise Refused(
                    f"{self.display_path(name)} is not a regular file", "See where it comes from and remove it"
                )
        temporary = f"{self.path}/.{name[:-3]}.{os.getpid()}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            Path(temporary).unlink(missing_ok=True)
            with os.fdopen(os.open(temporary, flags, 0o644), "wb") as stream:
                stream.write(data)
            Path(temporary).replace(target)
        except OSError as error:
            with suppress(OSError):
                Path(temporary).unlink(missing_ok=True)
            raise Refused(
                f"{self.display_path(name)} cannot be written: {error.strerror}", "Check the folder's permissions"
            ) from error

    def prepare(self) -> None:
        for path in (f"{self.root}/{FOLDER_NAME}", self.path):
            try:
                with suppress(FileExistsError):
                    Path(path).mkdir(mode=0o755)
                mode = os.lstat(path).st_mode
            except OSError as error:
                raise Refused(
                    f"{path} cannot be created: {error.strerror}", "Check the folder's permissions"
                ) from error
            if not stat.S_ISDIR(mode):
                raise Refused(f"{path} is {kind_of(mode)}, not a folder", "See where it comes from and remove it")

    def _odd(self) -> Problem | None:
        for path, name in ((f"{self.root}/{FOLDER_NAME}", FOLDER_NAME), (self.path, f"{FOLDER_NAME}/{SHARED_FOLDER}")):
            try:
                mode = os.lstat(path).st_mode
            except OSError:
                return Problem(name, "")
            if not stat.S_ISDIR(mode):
                return Problem(name, f"is {kind_of(mode)}, not a folder")
        return None


def _judge(entry: os.DirEntry[str]) -> tuple[str | None, os.stat_result | None]:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError as error:
        return f"cannot be read: {error.strerror}", None
    if not stat.S_ISREG(status.st_mode):
        return f"is {kind_of(status.st_mode)}, not a regular file", None
    if not IS_NAME(entry.name):
        return "is not a valid name of an item's file: letters, digits, . _ and -, ending in .md", None
    return size_problem(status.st_size), status


def size_problem(size: int) -> str | None:
    return f"has {size / 1024**2:,.1f} MiB; more than 1 is not read" if size > MAX_BYTES else None


class Place(NamedTuple):
    """Location of a workplace's shared texts and the state of its repository, read from git's files.

    Attributes:
        default: the branch that texts are taken from; None outside a repository.
        local, remote: its commit here, and that of ``origin``.
    """

    root: str
    branch: str | None
    head: str | None
    default: str | None
    local: str | None
    remote: str | None

    @property
    def is_on_default(self) -> bool:
        """Return whether this worktree is on the default branch; always true outside a repository."""
        return self.default is None or self.branch == self.default

    @property
    def look(self) -> bytes:
        """Return a fingerprint that changes when there may be something to read."""
        signs = (_stat(f"{self.root}/{BELOW}"), self.branch, self.head, self.default, self.local, self.remote)
        return hashlib.blake2b(repr(signs).encode(), digest_size=16).digest()


def place_of(root: str, configured: str | None) -> Place:
    """Return the location of shared texts below a folder, without starting a process."""
    top = git_files.top_of(root)
    branches = Branches(None, None, None, None, None) if top is None else git_files.read_branches(top, configured)
    return Place(root, *branches)


def _stat(path: str) -> tuple[int, ...]:
    # changes when a file is added, removed or replaced, not when one is edited in place
    try:
        status = os.lstat(path)
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_mtime_ns


class Reading(NamedTuple):
    commit_id: str | None
    look: bytes
    stamp: bytes
    seq: int


def last_reading(transaction: Transaction, project_id: int) -> Reading | None:
    row = transaction.one(
        "SELECT commit_id, look, stamp, seq FROM shared_readings WHERE project_id = :project", {"project": project_id}
    )
    return None if row is None else Reading(*row)


def record_reading(transaction: Transaction, project_id: int, reading: Reading) -> None:
    put_rows(transaction, "shared_readings", ("project_id",), [{"project_id": project_id, **reading._asdict()}])


def may_be_news(workplace: Workplace, branch: str | None) -> bool:
    """Return whether the repository may have something that was not read yet."""
    root = workplace.files_root
    if root is None or workplace.engine.read_only:
        return False
    if not workplace.engine.exists():
        # a new clone's store is created to read the shared texts
        return bool(_stat(f"{root}/{BELOW}"))
    with projects.reading(workplace) as (transaction, project):
        last = last_reading(transaction, project.id)
    return last is None or last.look != place_of(root, branch).look
