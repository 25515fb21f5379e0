"""The projects of folders in and around the one that a client's session belongs to; loaded only where they differ."""

from __future__ import annotations

import os

from satchel.base.errors import Refused
from satchel.base.paths import Worktree, worktree_of


def is_worktree(inner: str, project: str) -> bool:
    """Return whether a folder inside a project is another worktree of it, not a clone or a submodule."""
    one, other = _worktree_of(inner), _worktree_of(project)
    return one is not None and other is not None and one.root == other.root and one.worktree != other.worktree


def has_root(folder: str, root: str | None) -> bool:
    """Return whether a folder belongs to the project with a root, as worktrees and submodules do."""
    found = _worktree_of(folder)
    return found is not None and str(found.root) == root


def _worktree_of(folder: str) -> Worktree | None:
    try:
        return worktree_of(os.path.realpath(folder))
    except Refused:  # it has no store
        return None
