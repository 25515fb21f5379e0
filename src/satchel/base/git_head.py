"""What a worktree has checked out, read from git's files: a clone's settings could steer what git itself runs."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_MAX_BYTES = 4_096
_MAX_PACKED_BYTES = 8 * 1024 * 1024
_HASH_CHARS = frozenset("0123456789abcdef")


def read_head(top: str | None) -> tuple[str | None, str | None]:
    """Return the branch and the commit that a worktree has checked out; None for what is not known.

    Args:
        top: the folder that holds ``.git``. What lies there in another form than git's own gives nothing.
    """
    if top is None:
        return None, None
    folder = Path(top) / ".git"
    pointer = _text(folder)
    if pointer.startswith("gitdir:"):
        folder = (Path(top) / pointer.removeprefix("gitdir:").strip()).resolve()
    common = _text(folder / "commondir")
    head = _text(folder / "HEAD")
    if not head.startswith("ref: "):
        return None, _commit(head)
    ref = head.removeprefix("ref: ")
    shared = (folder / common).resolve() if common else folder
    commit = _commit(_text(shared / ref)) if _is_inside(ref) else None
    return ref.removeprefix("refs/heads/")[:200], commit or _packed(shared, ref)


def _packed(folder: Path, ref: str) -> str | None:
    lines = (line.partition(" ") for line in _text(folder / "packed-refs", _MAX_PACKED_BYTES).splitlines())
    return next((_commit(commit) for commit, _, name in lines if name == ref), None)


def _commit(text: str) -> str | None:
    return text if len(text) in {40, 64} and _HASH_CHARS.issuperset(text) else None


def _is_inside(ref: str) -> bool:
    return ref.startswith("refs/") and ".." not in ref.split("/")


def _text(file: Path, most: int = _MAX_BYTES) -> str:
    """Return the text of a regular file; nothing of anything else, such as a pipe that would never answer."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        return os.fsdecode(os.read(descriptor, most)).strip() if stat.S_ISREG(os.fstat(descriptor).st_mode) else ""
    except OSError:
        return ""
    finally:
        os.close(descriptor)
