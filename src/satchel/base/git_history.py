"""The history of files and commits according to git, with one process for each question."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from typing import TypeVar

from satchel.base.git_asking import ask_git

_SECONDS = 1.0
_MAX_COMMITS = 20
"""The most commits to compare, because each takes long in a large repository."""

_MAX_COMPARED = 400
"""With more removed and added files, git compares only whole contents."""

_MAX_REMEMBERED = 256
_IS_HASH = re.compile("[0-9a-f]{40}|[0-9a-f]{64}").fullmatch

Answer = TypeVar("Answer")
_Between = tuple[str, str, str]
"""A worktree's top, the commit it has, and another."""

_renames: dict[_Between, Mapping[str, str]] = {}
_merged: dict[_Between, bool] = {}
_here: dict[_Between, bool] = {}


def known_renames(top: str, head: str, commit: str) -> Mapping[str, str] | None:
    """Return the remembered renames between two commits, or None."""
    return _renames.get((top, head, commit))


def ask_renames(top: str, head: str, commits: Collection[str]) -> None:
    """Ask git which files have other names in ``head`` than in some commits, and remember the answers.

    At most 20 commits are asked about; a commit that does not exist ends the answer.
    """
    old_commits = [commit for commit in commits if _IS_HASH(commit)][:_MAX_COMMITS]
    # git takes the second commit of a line as the parent of the first
    pairs = "".join(f"{head} {commit}\n" for commit in old_commits).encode()
    arguments = ("diff-tree", "--stdin", "--always", "-r", "-z", "-M", f"-l{_MAX_COMPARED}", "--diff-filter=R")
    answer = ask_git(top, (*arguments, "--name-status", "--no-ext-diff", "--no-textconv"), _SECONDS, pairs)
    parts = (answer or b"").split(b"\0")
    renames_of: list[dict[str, str]] = []
    place = 0
    while place < len(parts):
        part = parts[place].lstrip(b"\n")
        if part == head.encode():
            renames_of.append({})
            place += 1
        elif part.startswith(b"R") and renames_of and place + 2 < len(parts):
            renames_of[-1][os.fsdecode(parts[place + 1])] = os.fsdecode(parts[place + 2])
            place += 3
        else:
            place += 1
    _remember(
        _renames, {(top, head, commit): renames for commit, renames in zip(old_commits, renames_of, strict=False)}
    )
    _remember(_renames, {(top, head, commit): {} for commit in old_commits[len(renames_of) :]})


def known_merged(top: str, head: str, commit: str) -> bool | None:
    """Return whether a commit is in the history of another, if it is remembered."""
    return _merged.get((top, head, commit))


def ask_merged(top: str, head: str, commits: Collection[str]) -> None:
    """Ask git which commits are in the history of ``head``; unknown commits count as merged."""
    valid = [commit for commit in commits if _IS_HASH(commit)]
    revisions = "\n".join((*valid, f"^{head}", "")).encode()
    answer = ask_git(top, ("rev-list", "--ignore-missing", "--stdin"), _SECONDS, revisions)
    missing = set() if answer is None else set(answer.decode("ascii", "replace").split())
    _remember(_merged, {(top, head, commit): commit not in missing for commit in valid})


def known_here(top: str, head: str, commit: str) -> bool | None:
    """Return whether a repository has a commit, if it is remembered."""
    return _here.get((top, head, commit))


def ask_here(top: str, head: str, commits: Collection[str]) -> None:
    """Ask git which commits a repository has; without an answer all count as present.

    The answers are remembered per ``head``, so that fetched commits are noticed after the next checkout.
    """
    valid = [commit for commit in commits if _IS_HASH(commit)]
    answer = ask_git(top, ("cat-file", "--batch-check"), _SECONDS, "".join(f"{one}\n" for one in valid).encode())
    missing = set() if answer is None else set(re.findall(rb"^([0-9a-f]+) missing$", answer, re.MULTILINE))
    _remember(_here, {(top, head, commit): commit.encode() not in missing for commit in valid})


def _remember(answers: dict[_Between, Answer], new: Mapping[_Between, Answer]) -> None:
    if len(answers) + len(new) > _MAX_REMEMBERED:
        answers.clear()
    answers.update(new)
