"""Git repositories for tests: commands that nobody's configuration changes."""

from __future__ import annotations

import subprocess
from pathlib import Path

_IDENTITY = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder; return what it says."""
    done = subprocess.run(["git", *_IDENTITY, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def make_repository(folder: Path) -> Path:
    """Make a repository whose branch is ``main``, with an empty first commit."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=first")
    return folder


def commit_all(folder: Path, message: str = "more") -> str:
    """Commit everything in a worktree but what Satchel keeps there; return the commit."""
    git(folder, "add", "--all", "--", ".", ":!.satchel")
    git(folder, "commit", "--quiet", f"--message={message}")
    return git(folder, "rev-parse", "HEAD")
