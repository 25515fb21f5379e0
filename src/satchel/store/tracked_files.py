"""Files of a project's ``.satchel`` that git tracks: anyone who can push can change those."""

from __future__ import annotations

import os
from pathlib import Path

from satchel.base.file_checks import SHARED_FOLDER
from satchel.base.git_asking import ask_git

_SECONDS = 10


def tracked_below(folder: Path) -> tuple[str, ...]:
    """Return the files in a ``.satchel`` folder that git tracks, relative to it, without those in ``shared/``.

    Nothing if there is no repository, or no git.
    """
    if not _may_be_tracked(folder):
        return ()
    answer = ask_git(str(folder), ("ls-files", "-z", "--", "."), _SECONDS) or b""
    names = (os.fsdecode(name) for name in answer.split(b"\0") if name)
    return tuple(name for name in names if not name.startswith(f"{SHARED_FOLDER}/"))


def _may_be_tracked(folder: Path) -> bool:
    # without an index the nearest repository tracks nothing, and git need not be started
    for above in folder.parents:
        dot_git = above / ".git"
        if dot_git.is_dir():
            return (dot_git / "index").exists()
        if dot_git.exists():
            return True
    return False
