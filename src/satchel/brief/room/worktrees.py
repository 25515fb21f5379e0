"""The worktrees of a project: their commits of the last day, and what is edited there but not committed."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import lru_cache

from satchel.base.clock import DAY_MS
from satchel.base.errors import Refused
from satchel.base.git_commands import ask_git
from satchel.base.git_files import read_head
from satchel.base.records import NamedTuple, dataclass
from satchel.base.text import shortened
from satchel.brief.room.looking import LINE_CHARS, Look
from satchel.keep import events
from satchel.keep.projects import Workplace
from satchel.store.transaction import grouped

# How many uncommitted files of a worktree are named.
MOST_FILES = 100

_MOST_TREES = 20
_MOST_COMMITS = 50
_SECONDS = 1.0
# How long the answer of git about uncommitted files is used again.
_FRESH_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the last day.

    Attributes:
        commit: its hash, in hexadecimal.
        subject: the first line of its message.
        at: in milliseconds UTC.
    """

    commit: str
    subject: str
    at: int


@dataclass(frozen=True, slots=True)
class Worktree:
    """A worktree in which sessions were at work in the last day.

    Attributes:
        worktree: a linked worktree, an absolute path, on another machine HOST:PATH; None is the main one.
        branch, commit: what is checked out.
        uncommitted: the edited or new files, at most 100 of ``uncommitted_total``.
        commits: of the last day, the latest first, at most 50; empty if the disk is not seen.
        is_seen: whether git was asked; otherwise all of this is what sessions there have told, as of ``seen_at``.
        seen_at: in milliseconds UTC.
    """

    worktree: str | None
    branch: str | None
    commit: str | None
    uncommitted: tuple[str, ...]
    uncommitted_total: int
    commits: tuple[Commit, ...]
    is_seen: bool
    seen_at: int


@dataclass(frozen=True, slots=True)
class Worktrees:
    """Worktrees, the main one first; ``asked_at`` is in milliseconds UTC."""

    items: tuple[Worktree, ...]
    asked_at: int


class _Session(NamedTuple):
    number: int
    branch: str | None
    commit: str | None
    seen_at: int


def find(look: Look, work: Workplace) -> Worktrees:
    """Return the worktrees in which sessions were at work in the last day, the main one first."""
    rows = look.rows(
        "SELECT worktree, id, branch, commit_id, seen_at FROM sessions "
        "WHERE project_id = :project AND seen_at > :since ORDER BY seen_at DESC",
        since=look.now - DAY_MS,
    )
    sessions = grouped((tree, _Session(*row)) for tree, *row in rows)
    items = tuple(_worktree(look, work, tree, sessions[tree]) for tree in sorted(sessions)[:_MOST_TREES])
    return Worktrees(items, look.now)


def uncommitted_of(root: str | None, worktree: str | None) -> tuple[str, ...] | None:
    """Return the uncommitted files of a worktree of the project; None if git cannot be asked."""
    top = _top(root, worktree)
    return None if top is None else _uncommitted(top, int(time.monotonic() / _FRESH_SECONDS))


def _worktree(look: Look, work: Workplace, tree: str, sessions: Sequence[_Session]) -> Worktree:
    worktree = tree or None
    files = uncommitted_of(work.root, worktree)
    top = _top(work.root, worktree)
    if files is not None and top is not None:
        branch, commit = read_head(top)
        commits = () if commit is None else _commits(top, commit)
        commits = tuple(one for one in commits if one.at > look.now - DAY_MS)
        return Worktree(worktree, branch, commit, files[:MOST_FILES], len(files), commits, True, look.now)
    last = sessions[0]
    rows = look.rows(
        f"""
        SELECT DISTINCT f.path FROM (
            SELECT * FROM file_changes WHERE project_id = :project AND created_at > COALESCE((
                SELECT max(created_at) FROM events
                WHERE project_id = :project AND created_at >= :since AND {events.IS_DRAWN}
                    AND kind = {events.PROGRESS} AND session_id = :last
            ), 0) ORDER BY created_at DESC LIMIT 1000
        ) c JOIN files f ON f.id = c.file_id WHERE COALESCE(c.worktree, '') = :tree ORDER BY f.path
        """,
        tree=tree,
        since=look.now - DAY_MS,
        last=last.number,
    )
    edited = tuple(path for (path,) in rows)
    return Worktree(worktree, last.branch, last.commit, edited[:MOST_FILES], len(edited), (), False, last.seen_at)


def _top(root: str | None, worktree: str | None) -> str | None:
    if root is None or worktree is None:
        return root
    if not os.path.isabs(worktree) or not os.path.isdir(worktree):  # noqa: PTH112, PTH117 -- a text of the store
        return None
    from satchel.base.paths import worktree_of

    try:
        repository = worktree_of(worktree)
    except Refused:
        return None
    return worktree if repository is not None and str(repository.root) == root else None


@lru_cache(maxsize=64)
def _uncommitted(top: str, _moment: int) -> tuple[str, ...] | None:
    changed = ask_git(
        top, ("diff-index", "--name-only", "-z", "--ignore-submodules=all", "--no-ext-diff", "HEAD", "--"), _SECONDS
    )
    new = ask_git(top, ("ls-files", "-z", "--others", "--exclude-standard"), _SECONDS)
    if changed is None or new is None:
        return None
    return tuple(sorted({os.fsdecode(path) for path in (changed + new).split(b"\0") if path}))


@lru_cache(maxsize=64)
def _commits(top: str, tip: str) -> tuple[Commit, ...]:
    command = ("rev-list", f"--max-count={_MOST_COMMITS}", "--format=%H%x00%ct%x00%s", tip, "--")
    commits = []
    for line in (ask_git(top, command, _SECONDS) or b"").decode("utf-8", "replace").splitlines():
        parts = line.split("\0")
        if len(parts) == 3 and parts[1].isdigit():
            commit, seconds, subject = parts
            commits.append(Commit(commit, shortened(subject, LINE_CHARS), int(seconds) * 1_000))
    return tuple(commits)
