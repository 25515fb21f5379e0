"""What git tracks of a project's own folder: what is committed can be changed by anyone who can push."""

from __future__ import annotations

import os
from pathlib import Path

from satchel.base.file_checks import SHARED_FOLDER

_SECONDS = 10


def tracked_below(folder: Path) -> tuple[str, ...]:
    """Return the files in a folder that git tracks, relative to it, without those in ``shared/``.

    Args:
        folder: a project's ``.satchel``.

    Returns:
        Nothing where there is no repository, or no git to ask.
    """
    if not _may_be_tracked(folder):
        return ()
    import subprocess

    # a clone's own configuration can name programs that git runs, and the environment another repository
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", str(folder)]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            [*command, "ls-files", "-z", "--", "."],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            env=environ | {"GIT_OPTIONAL_LOCKS": "0"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    names = (os.fsdecode(name) for name in done.stdout.split(b"\0") if name)
    return tuple(name for name in names if not name.startswith(f"{SHARED_FOLDER}/"))


def _may_be_tracked(folder: Path) -> bool:
    """Whether the nearest repository has an index; without one it tracks nothing, and git need not be started."""
    for above in folder.parents:
        dot_git = above / ".git"
        if dot_git.is_dir():
            return (dot_git / "index").exists()
        if dot_git.exists():
            return True
    return False
