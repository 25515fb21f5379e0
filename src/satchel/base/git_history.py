"""What became of files and commits in a repository's history, as git knows it: one process for one question."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from typing import TypeVar

from satchel.base.git_asking import ask_git

_SECONDS = 1.0
_MAX_COMMITS = 20
"""From so many commits renames are asked for: each takes 10 to 50 ms in a repository of 5,000 files."""

_MAX_COMPARED = 400
"""Beyond so many files that went and came git compares only whole contents."""

_MAX_REMEMBERED = 256
_IS_HASH = re.compile("[0-9a-f]{40}|[0-9a-f]{64}").fullmatch

Known = TypeVar("Known")
_Between = tuple[str, str, str]
"""A worktree's top, the commit it has, and another."""

_renames: dict[_Between, Mapping[str, str]] = {}
_merged: dict[_Between, bool] = {}
_here: dict[_Between, bool] = {}


def known_renames(top: str, head: str, commit: str) -> Mapping[str, str] | None:
    """Return what was asked before about renames between two commits; None where it was not."""
    return _renames.get((top, head, commit))


def ask_renames(top: str, head: str, commits: Collection[str]) -> None:
    """Ask git which files are called otherwise in one commit than in others, with one process.

    Args:
        top: the worktree's top.
        head: the commit with the new names.
        commits: those with the old names, 20 at most are asked about; one that is not there ends the answer.
    """
    asked = [commit for commit in commits if _IS_HASH(commit)][:_MAX_COMMITS]
    # to git the second commit of a line is the parent of the first
    given = "".join(f"{head} {commit}\n" for commit in asked).encode()
    arguments = ("diff-tree", "--stdin", "--always", "-r", "-z", "-M", f"-l{_MAX_COMPARED}", "--diff-filter=R")
    answer = ask_git(top, (*arguments, "--name-status", "--no-ext-diff", "--no-textconv"), _SECONDS, given)
    parts = (answer or b"").split(b"\0")
    found: list[dict[str, str]] = []
    place = 0
    while place < len(parts):
        part = parts[place].lstrip(b"\n")
        if part == head.encode():
            found.append({})
            place += 1
        elif part.startswith(b"R") and found and place + 2 < len(parts):
            found[-1][os.fsdecode(parts[place + 1])] = os.fsdecode(parts[place + 2])
            place += 3
        else:
            place += 1
    _remember(_renames, {(top, head, commit): renames for commit, renames in zip(asked, found, strict=False)})
    _remember(_renames, {(top, head, commit): {} for commit in asked[len(found) :]})


def known_merged(top: str, head: str, commit: str) -> bool | None:
    """Return what was asked before about whether a commit is in the history of another; None where it was not."""
    return _merged.get((top, head, commit))


def ask_merged(top: str, head: str, commits: Collection[str]) -> None:
    """Ask git which commits are in the history of one, with one process; what git does not have counts as merged."""
    asked = [commit for commit in commits if _IS_HASH(commit)]
    given = "\n".join((*asked, f"^{head}", "")).encode()
    answer = ask_git(top, ("rev-list", "--ignore-missing", "--stdin"), _SECONDS, given)
    missing = set() if answer is None else set(answer.decode("ascii", "replace").split())
    _remember(_merged, {(top, head, commit): commit not in missing for commit in asked})


def known_here(top: str, head: str, commit: str) -> bool | None:
    """Return what was asked before about whether a repository has a commit; None where it was not."""
    return _here.get((top, head, commit))


def ask_here(top: str, head: str, commits: Collection[str]) -> None:
    """Ask git which commits a repository has, with one process; where it does not say, they count as here.

    Args:
        head: what is checked out: what was fetched meanwhile is asked again once another commit is.
    """
    asked = [commit for commit in commits if _IS_HASH(commit)]
    answer = ask_git(top, ("cat-file", "--batch-check"), _SECONDS, "".join(f"{one}\n" for one in asked).encode())
    missing = set() if answer is None else set(re.findall(rb"^([0-9a-f]+) missing$", answer, re.MULTILINE))
    _remember(_here, {(top, head, commit): commit.encode() not in missing for commit in asked})


def _remember(known: dict[_Between, Known], more: Mapping[_Between, Known]) -> None:
    if len(known) + len(more) > _MAX_REMEMBERED:
        known.clear()
    known.update(more)
