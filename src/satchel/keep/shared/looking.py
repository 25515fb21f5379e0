"""Whether the repository may say something new: a look at the folder and at where its branches are, and no more."""

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
    """Where the shared text of a workplace stands, and what git says of that, read from git's files.

    Attributes:
        root: the folder that ``.satchel/shared`` lies below.
        branch, head: what is checked out, or None.
        default: the branch that text is taken from; None outside of any repository.
        local, remote: its commit here, and that of the same branch of ``origin``.
    """

    root: str
    branch: str | None
    head: str | None
    default: str | None
    local: str | None
    remote: str | None

    @property
    def is_on_default(self) -> bool:
        """Whether the files of this worktree belong to the default branch, as all do where there is none."""
        return self.default is None or self.branch == self.default

    @property
    def look(self) -> bytes:
        """What tells that there may be something to read: the folder's own stat, and where the branches are."""
        said = (_stat(f"{self.root}/{BELOW}"), self.branch, self.head, self.default, self.local, self.remote)
        return blake2b(repr(said).encode(), digest_size=16).digest()


def place_of(root: str, chosen: str | None) -> Place:
    """Return where the shared text below a folder stands; no process is started for that.

    Args:
        chosen: the default branch as it was configured, or None.
    """
    top = git_head.top_of(root)
    branches = Branches(None, None, None, None, None) if top is None else git_head.read_branches(top, chosen)
    return Place(root, *branches)


def _stat(path: str) -> tuple[int, ...]:
    """Return what changes when a file is added, removed or replaced there, but not when one is edited in place."""
    try:
        status = os.lstat(path)
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_mtime_ns


class Reading(NamedTuple):
    """When the repository was read last: see the table."""

    commit: str | None
    look: bytes
    stamp: bytes
    seq: int


def last_reading(transaction: Transaction, project_id: int) -> Reading | None:
    """Return when the repository was read last, or None."""
    row = transaction.one(
        "SELECT commit_id, look, stamp, seq FROM shared_readings WHERE project_id = :project", {"project": project_id}
    )
    return None if row is None else Reading(*row)


def may_be_news(workplace: Workplace, branch: str | None) -> bool:
    """Whether the repository may say something that was not read yet.

    Args:
        branch: the default branch as it was configured, or None.
    """
    root = workplace.files_root
    if root is None or workplace.engine.read_only:
        return False
    if not workplace.engine.exists():
        # of a new clone the store is made for what others have shared, as the first write would make it
        return bool(_stat(f"{root}/{BELOW}"))
    with projects.reading(workplace) as (transaction, project):
        last = None if project is None else last_reading(transaction, project.id)
    return last is None or last.look != place_of(root, branch).look
