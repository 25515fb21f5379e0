"""Files as commits have them, and who changed them last, asked of git by few processes in bounded time."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from satchel.base.git_asking import ask_git

_SECONDS = 5.0
_MAX_COMMITS = 2_000
"""Of so many commits that touched a folder the authors are asked for."""

_BATCH_BYTES = 16 * 1024 * 1024
_IS_HASH = re.compile("[0-9a-f]{40}|[0-9a-f]{64}").fullmatch


class TreeFile(NamedTuple):
    """A file as a commit has it.

    Attributes:
        path: relative to the folder that was asked about.
        mode: as git writes it: ``100644``, ``120000`` for a link.
        blob: the hash of what it holds.
        size: in bytes.
    """

    path: str
    mode: str
    blob: str
    size: int

    @property
    def is_regular(self) -> bool:
        """Whether it is neither link nor submodule."""
        return self.mode.startswith("100")


class Author(NamedTuple):
    """Who changed a file last, as git has it, and when, in milliseconds UTC."""

    name: str
    time: int


def merge_base(folder: str, first: str, second: str) -> str | None:
    """Return the newest commit that two have in their histories; None where there is none, or git does not say."""
    if not (_IS_HASH(first) and _IS_HASH(second)):
        return None
    answer = (ask_git(folder, ("merge-base", first, second), _SECONDS) or b"").strip().decode("ascii", "replace")
    return answer if _IS_HASH(answer) else None


def files_at(folder: str, commit: str, below: str) -> tuple[TreeFile, ...] | None:
    """Return the files of a commit below a folder.

    Args:
        folder: where git starts, which need not be the top.
        below: a path relative to that, without a slash at its end.

    Returns:
        Nothing where the commit has no such folder; None where git fails.
    """
    answer = ask_git(folder, ("ls-tree", "-r", "-z", "-l", commit, "--", f"{below}/"), _SECONDS)
    if answer is None:
        return None
    found = []
    for part in answer.split(b"\0"):
        meta, tab, path = part.partition(b"\t")
        words = meta.decode("ascii", "replace").split()
        if tab and len(words) == 4:
            mode, _, blob, size = words
            name = os.fsdecode(path).removeprefix(f"{below}/")
            found.append(TreeFile(name, mode, blob, int(size) if size.isdecimal() else 0))
    return tuple(found)


def contents(folder: str, files: Collection[TreeFile]) -> dict[str, bytes]:
    """Return what files hold, by their blobs; those that git does not give are left out."""
    found: dict[str, bytes] = {}
    for blobs in _batches(files):
        answer = ask_git(folder, ("cat-file", "--batch"), _SECONDS, "".join(f"{blob}\n" for blob in blobs).encode())
        found |= _read_batch(answer or b"")
    return found


def _batches(files: Collection[TreeFile]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for blob, bytes_of_it in {file.blob: file.size for file in files if _IS_HASH(file.blob)}.items():
        if batch and size + bytes_of_it > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(blob)
        size += bytes_of_it
    if batch:
        yield batch


def _read_batch(answer: bytes) -> dict[str, bytes]:
    found = {}
    place = 0
    while (end := answer.find(b"\n", place)) >= 0:
        words = answer[place:end].split()
        place = end + 1
        if len(words) == 3 and words[2].isdigit():
            size = int(words[2])
            if len(answer) < place + size:
                break
            found[words[0].decode("ascii", "replace")] = answer[place : place + size]
            place += size + 1
    return found


def authors(folder: str, commit: str, below: str) -> dict[str, Author]:
    """Return who changed each file below a folder last, by its path relative to that.

    A merge counts where it holds what none of its parents does. What took more than 2,000 commits, or more time than
    git has, is left out.

    Args:
        folder: where git starts, which need not be the top.
        commit: whose history is looked at.
        below: a path relative to ``folder``.
    """
    listed = ask_git(folder, ("rev-list", f"--max-count={_MAX_COMMITS}", commit, "--", below), _SECONDS)
    options = ("--stdin", "-c", "-r", "--root", "-z", "--name-only", "--relative", "--no-ext-diff", "--no-textconv")
    asked = ("diff-tree", *options, "--format=%x01%an%x00%at", "--", below)
    answer = ask_git(folder, asked, _SECONDS, listed) if listed else None
    found: dict[str, Author] = {}
    parts = (part.lstrip(b"\n") for part in (answer or b"").split(b"\0"))
    author: Author | None = None
    for part in parts:
        if part.startswith(b"\x01"):
            seconds = next(parts, b"")
            author = Author(part[1:].decode("utf-8", "replace"), int(seconds) * 1_000 if seconds.isdigit() else 0)
        elif part and author is not None:
            found.setdefault(os.fsdecode(part).removeprefix(f"{below}/"), author)
    return found
