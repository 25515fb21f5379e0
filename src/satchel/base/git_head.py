"""The checked-out branch and commit, read from git's files: a clone's settings could control a git process."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from satchel.base.machine import seen_by_caller
from satchel.base.text import MAX_NAME_CHARS, nameable

_MAX_BYTES = 4_096
_MAX_PACKED_BYTES = 8 * 1024 * 1024
_HASH_CHARS = frozenset(b"0123456789abcdef")
_FORBIDDEN = frozenset(b" ~^:?*[\\\x7f").union(range(32))


@seen_by_caller(0, unknown=(None, None))
def read_head(top: str | None) -> tuple[str | None, str | None]:
    """Return the branch and the commit that a worktree has checked out; None for what is unknown."""
    folder = git_folder(top)
    if folder is None:
        return None, None
    head = read_regular(folder / "HEAD")
    if not head.startswith(b"ref:"):
        return None, _commit(head)
    ref = head.removeprefix(b"ref:").strip()
    if not _is_ref(ref):
        return None, None
    commit = _commit_of(folder, ref)
    return _branch_name(ref), commit


def top_of(folder: str | None) -> str | None:
    """Return the nearest folder upwards with a ``.git``, or None."""
    while folder is not None:
        if os.path.lexists(f"{folder}/.git"):
            return folder
        above = os.path.dirname(folder)  # noqa: PTH120 -- faster, and runs on every write about a file
        folder = above if above != folder else None
    return None


def git_folder(top: str | None) -> Path | None:
    """Return the git folder of a worktree, or None without a top."""
    if top is None:
        return None
    folder = Path(top) / ".git"
    pointer = read_regular(folder)
    if pointer.startswith(b"gitdir:"):
        folder = Path(top) / os.fsdecode(pointer.removeprefix(b"gitdir:").strip())
    return folder


def has_branch(top: str, branch: str) -> bool:
    folder, ref = git_folder(top), b"refs/heads/" + os.fsencode(branch)
    return folder is not None and _is_ref(ref) and _commit_of(folder, ref) is not None


class Branches(NamedTuple):
    """The state of a worktree and of the repository's default branch; None for what is unknown.

    Attributes:
        branch, head: what the worktree has checked out.
        default: the configured branch, else that of the remote ``origin``, else ``main`` or ``master``, else the branch
            of the main worktree.
        local, remote: the commit of that branch here and in ``origin``.
    """

    branch: str | None
    head: str | None
    default: str | None
    local: str | None
    remote: str | None


def read_branches(top: str, configured: str | None = None) -> Branches:
    """Read the state of a worktree and of its default branch, which may be configured."""
    folder = git_folder(top)
    if folder is None:
        return Branches(None, None, None, None, None)
    shared = _common(folder)
    commits: dict[bytes, str | None] = {}

    def commit_of(ref: bytes) -> str | None:
        if ref not in commits:
            commits[ref] = _commit_in(shared, ref) if _is_ref(ref) else None
        return commits[ref]

    def local_and_remote(name: str) -> tuple[str | None, str | None]:
        encoded = os.fsencode(name)
        return commit_of(b"refs/heads/" + encoded), commit_of(b"refs/remotes/origin/" + encoded)

    content = read_regular(f"{folder}/HEAD")
    ref = _target(content)
    head = _commit(content) if ref is None else commit_of(ref)
    default = configured
    if default is None:
        target = _target(read_regular(f"{shared}/refs/remotes/origin/HEAD"))
        if target is not None and target.startswith(b"refs/remotes/origin/"):
            default = os.fsdecode(target.removeprefix(b"refs/remotes/origin/"))
    if default is None:
        default = next((name for name in ("main", "master") if local_and_remote(name) != (None, None)), None)
    if default is None:
        target = ref if shared == str(folder) else _target(read_regular(f"{shared}/HEAD"))
        default = None if target is None else os.fsdecode(target.removeprefix(b"refs/heads/"))
    local, remote = (None, None) if default is None else local_and_remote(default)
    return Branches(None if ref is None else _branch_name(ref), head, default, local, remote)


def _target(content: bytes) -> bytes | None:
    """Return the target of a symbolic ref."""
    ref = content.removeprefix(b"ref:").strip()
    return ref if content.startswith(b"ref:") and _is_ref(ref) else None


def _branch_name(ref: bytes) -> str:
    return nameable(ref.removeprefix(b"refs/heads/").decode("utf-8", "replace"))[:MAX_NAME_CHARS]


def _common(folder: Path) -> str:
    """Return the folder that the worktrees of a repository share."""
    # str, because creating a Path takes longer than reading such a file
    pointer = read_regular(f"{folder}/commondir").strip()
    return f"{folder}/{os.fsdecode(pointer)}" if pointer else str(folder)


def _commit_of(folder: Path, ref: bytes) -> str | None:
    return _commit_in(_common(folder), ref)


def _commit_in(shared: str, ref: bytes) -> str | None:
    return _commit(read_regular(f"{shared}/{os.fsdecode(ref)}")) or _packed(shared, ref)


def _packed(shared: str, ref: bytes) -> str | None:
    content = read_regular(f"{shared}/packed-refs", _MAX_PACKED_BYTES)
    # searched as a whole, because splitting 100,000 lines takes seven times as long
    end = content.find(b" %b\n" % ref)
    return None if end < 0 else _commit(content[content.rfind(b"\n", 0, end) + 1 : end])


def _commit(content: bytes) -> str | None:
    content = content.strip()
    return content.decode("ascii") if len(content) in {40, 64} and _HASH_CHARS.issuperset(content) else None


def _is_ref(ref: bytes) -> bool:
    """Return whether git allows a ref name; ``.invalid`` marks a repository with another ref storage."""
    return (
        ref.startswith(b"refs/")
        and _FORBIDDEN.isdisjoint(ref)
        and not any(not part or part.startswith(b".") for part in ref.split(b"/"))
    )


def read_regular(file: Path | str, most: int = _MAX_BYTES) -> bytes:
    """Return the contents of a regular file, or nothing for anything else, such as a blocking pipe."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    try:
        return os.read(descriptor, most) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(descriptor)
