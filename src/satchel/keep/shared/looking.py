"""Cheap check for news: looks only at the folder and at the branches' commits."""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import NamedTuple

from satchel.base import git_head
from satchel.base.file_checks import SHARED_FOLDER
from satchel.base.git_head import Branches
from satchel.base.paths import FOLDER_NAME
from satchel.keep import projects
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction

BELOW = f"{FOLDER_NAME}/{SHARED_FOLDER}"


class Place(NamedTuple):
    """Location of a workplace's shared texts and the state of its repository, read from git's files.

    Attributes:
        root: the folder that contains ``.satchel/shared``.
        branch, head: the current checkout, or None.
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
        """Return whether this worktree belongs to the default branch, or there is none."""
        return self.default is None or self.branch == self.default

    @property
    def look(self) -> bytes:
        """Return a fingerprint that changes when there may be something to read."""
        signs = (_stat(f"{self.root}/{BELOW}"), self.branch, self.head, self.default, self.local, self.remote)
        return blake2b(repr(signs).encode(), digest_size=16).digest()


def place_of(root: str, configured: str | None) -> Place:
    """Return the location of shared texts below a folder, without starting a process.

    ``configured`` is the configured default branch.
    """
    top = git_head.top_of(root)
    branches = Branches(None, None, None, None, None) if top is None else git_head.read_branches(top, configured)
    return Place(root, *branches)


def _stat(path: str) -> tuple[int, ...]:
    # changes when a file is added, removed or replaced, not when one is edited in place
    try:
        status = os.lstat(path)
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_mtime_ns


class Reading(NamedTuple):
    """Time and state of the last reading of the repository; see the table."""

    commit: str | None
    look: bytes
    stamp: bytes
    seq: int


def last_reading(transaction: Transaction, project_id: int) -> Reading | None:
    row = transaction.one(
        "SELECT commit_id, look, stamp, seq FROM shared_readings WHERE project_id = :project", {"project": project_id}
    )
    return None if row is None else Reading(*row)


def may_be_news(workplace: Workplace, branch: str | None) -> bool:
    """Return whether the repository may have something that was not read yet."""
    root = workplace.files_root
    if root is None or workplace.engine.read_only:
        return False
    if not workplace.engine.exists():
        # a new clone's store is created to read the shared texts
        return bool(_stat(f"{root}/{BELOW}"))
    with projects.reading(workplace) as (transaction, project):
        last = None if project is None else last_reading(transaction, project.id)
    return last is None or last.look != place_of(root, branch).look
