"""Running git so that nothing in a repository's configuration runs: the settings of a clone can name programs."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

_SETTINGS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_ENVIRON = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # in a partial clone git would fetch missing objects, with programs from its configuration
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}


def ask_git(folder: str, arguments: Sequence[str], seconds: float, input_: bytes = b"") -> bytes | None:
    """Run a git command in a folder and return its output; None if it fails, is missing or times out.

    The command must be plumbing, which starts no pager, hook, filter or diff program. On a timeout it is killed with
    its children. Output written before a failure is returned.
    """
    import subprocess

    # the environment could name another repository
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _ENVIRON
    command = ["git", "--no-pager", "--no-optional-locks", *_SETTINGS, "-C", folder, *arguments]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environ,
            start_new_session=True,
        )
    except OSError:
        return None
    with process:
        try:
            answer, _ = process.communicate(input_, timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return answer if answer or process.returncode == 0 else None


_SECONDS = 5.0
# How many commits on a folder are searched for authors.
_MAX_COMMITS = 2_000

_BATCH_BYTES = 16 * 1024 * 1024
_IS_HASH = re.compile("[0-9a-f]{40}|[0-9a-f]{64}").fullmatch


class TreeFile(NamedTuple):
    """A file in a commit.

    Attributes:
        mode: git's text for it, such as ``100644``, or ``120000`` for a link.
        blob: the hash of its contents.
    """

    path: str
    mode: str
    blob: str
    size: int

    @property
    def is_regular(self) -> bool:
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


_SECONDS_OF_HISTORY = 1.0
# The most commits to compare, because each takes long in a large repository.
_MAX_OLD_COMMITS = 20

# With more removed and added files, git compares only whole contents.
_MAX_COMPARED = 400

_MAX_REMEMBERED = 256

Answer = TypeVar("Answer")
# A worktree's top, the commit it has, and another.
_Between = tuple[str, str, str]

_renames: dict[_Between, Mapping[str, str]] = {}
_merged: dict[_Between, bool] = {}
_existing: dict[_Between, bool] = {}


def known_renames(top: str, head: str, commit: str) -> Mapping[str, str] | None:
    """Return the remembered renames between two commits, or None."""
    return _renames.get((top, head, commit))


def ask_renames(top: str, head: str, commits: Collection[str]) -> None:
    """Ask git which files have other names in ``head`` than in some commits, and remember the answers.

    At most 20 commits are asked about; a commit that does not exist ends the answer.
    """
    old_commits = [commit for commit in commits if _IS_HASH(commit)][:_MAX_OLD_COMMITS]
    # git takes the second commit of a line as the parent of the first
    pairs = "".join(f"{head} {commit}\n" for commit in old_commits).encode()
    arguments = ("diff-tree", "--stdin", "--always", "-r", "-z", "-M", f"-l{_MAX_COMPARED}", "--diff-filter=R")
    answer = ask_git(top, (*arguments, "--name-status", "--no-ext-diff", "--no-textconv"), _SECONDS_OF_HISTORY, pairs)
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
    answer = ask_git(top, ("rev-list", "--ignore-missing", "--stdin"), _SECONDS_OF_HISTORY, revisions)
    missing = set() if answer is None else set(answer.decode("ascii", "replace").split())
    _remember(_merged, {(top, head, commit): commit not in missing for commit in valid})


def known_existing(top: str, head: str, commit: str) -> bool | None:
    return _existing.get((top, head, commit))


def ask_existing(top: str, head: str, commits: Collection[str]) -> None:
    """Ask git which commits a repository has; without an answer all count as present.

    The answers are remembered per ``head``, so that fetched commits are noticed after the next checkout.
    """
    valid = [commit for commit in commits if _IS_HASH(commit)]
    answer = ask_git(
        top, ("cat-file", "--batch-check"), _SECONDS_OF_HISTORY, "".join(f"{one}\n" for one in valid).encode()
    )
    missing = set() if answer is None else set(re.findall(rb"^([0-9a-f]+) missing$", answer, re.MULTILINE))
    _remember(_existing, {(top, head, commit): commit.encode() not in missing for commit in valid})


def _remember(answers: dict[_Between, Answer], new: Mapping[_Between, Answer]) -> None:
    if len(answers) + len(new) > _MAX_REMEMBERED:
        answers.clear()
    answers.update(new)
