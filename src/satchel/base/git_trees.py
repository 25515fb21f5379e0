"""Files as commits have them, and who changed them last, asked of git by few processes in bounded time."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from satchel.base.git_asking import ask_git

_SECONDS = 5.0
_MAX_COMMITS = 2_000
"""How many commits on a folder are searched for authors."""

_BATCH_BYTES = 16 * 1024 * 1024
_IS_HASH = re.compile("[0-9a-f]{40}|[0-9a-f]{64}").fullmatch


class TreeFile(NamedTuple):
    """A file in a commit.

    Attributes:
        path: relative to the folder of the request.
        mode: git's text for it, such as ``100644``, or ``120000`` for a link.
        blob: the hash of its contents.
        size: in bytes.
    """

    path: str
    mode: str
    blob: str
    size: int

    @property
    def is_regular(self) -> bool:
        """Return whether it is neither link nor submodule."""
        return self.mode.startswith("100")


class Author(NamedTuple):
    """The last author of a file according to git, with the time in milliseconds UTC."""

    name: str
    time: int


def merge_base(folder: str, first: str, second: str) -> str | None:
    """Return the newest common ancestor of two commits, or None."""
    if not (_IS_HASH(first) and _IS_HASH(second)):
        return None
    answer = (ask_git(folder, ("merge-base", first, second), _SECONDS) or b"").strip().decode("ascii", "replace")
    return answer if _IS_HASH(answer) else None


def files_at(folder: str, commit: str, below: str) -> tuple[TreeFile, ...] | None:
    """Return the files of a commit below a path relative to the folder; None if git fails.

    The result is empty if the commit does not have the path.
    """
    answer = ask_git(folder, ("ls-tree", "-r", "-z", "-l", commit, "--", f"{below}/"), _SECONDS)
    if answer is None:
        return None
    files = []
    for part in answer.split(b"\0"):
        meta, tab, path = part.partition(b"\t")
        words = meta.decode("ascii", "replace").split()
        if tab and len(words) == 4:
            mode, _, blob, size = words
            name = os.fsdecode(path).removeprefix(f"{below}/")
            files.append(TreeFile(name, mode, blob, int(size) if size.isdecimal() else 0))
    return tuple(files)


def contents(folder: str, files: Collection[TreeFile]) -> dict[str, bytes]:
    """Return the contents of files by blob, without those that git cannot read."""
    contents_by_blob: dict[str, bytes] = {}
    for blobs in _batches(files):
        answer = ask_git(folder, ("cat-file", "--batch"), _SECONDS, "".join(f"{blob}\n" for blob in blobs).encode())
        contents_by_blob |= _read_batch(answer or b"")
    return contents_by_blob


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
    contents_by_blob = {}
    place = 0
    while (end := answer.find(b"\n", place)) >= 0:
        words = answer[place:end].split()
        place = end + 1
        if len(words) == 3 and words[2].isdigit():
            size = int(words[2])
            if len(answer) < place + size:
                break
            contents_by_blob[words[0].decode("ascii", "replace")] = answer[place : place + size]
            place += size + 1
    return contents_by_blob


def authors(folder: str, commit: str, below: str) -> dict[str, Author]:
    """Return the last author of each file below a path, by path relative to it.

    A merge counts if it differs from all of its parents. Files that would take more than 2,000 commits or the time
    limit are left out.
    """
    commits = ask_git(folder, ("rev-list", f"--max-count={_MAX_COMMITS}", commit, "--", below), _SECONDS)
    options = ("--stdin", "-c", "-r", "--root", "-z", "--name-only", "--relative", "--no-ext-diff", "--no-textconv")
    command = ("diff-tree", *options, "--format=%x01%an%x00%at", "--", below)
    answer = ask_git(folder, command, _SECONDS, commits) if commits else None
    authors_by_path: dict[str, Author] = {}
    parts = (part.lstrip(b"\n") for part in (answer or b"").split(b"\0"))
    author: Author | None = None
    for part in parts:
        if part.startswith(b"\x01"):
            seconds = next(parts, b"")
            author = Author(part[1:].decode("utf-8", "replace"), int(seconds) * 1_000 if seconds.isdigit() else 0)
        elif part and author is not None:
            authors_by_path.setdefault(os.fsdecode(part).removeprefix(f"{below}/"), author)
    return authors_by_path
