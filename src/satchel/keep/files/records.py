"""The records of file changes and claims."""

from __future__ import annotations

from dataclasses import dataclass

from satchel.base.paging import KeptPage
from satchel.find.kind import Kind

CHANGES = ("created", "modified", "deleted")
"""What can happen to a file; the number of a change in the table is its place here, from 1."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """One recorded edit.

    Attributes:
        id: the store's number; ``ref`` is its short id.
        uid: 32 hexadecimal digits, stable across export and import.
        seq: the number of its last change.
        file: canonical, relative to the worktree's root.
        change: created, modified or deleted.
        agent: who made it, or None.
        worktree: the linked worktree it was made in, an absolute path; None is the main one.
        created_at: milliseconds UTC.
        expires_at: when the record is gone.
        notes: what the writer should know; empty when read.
    """

    id: int
    uid: str
    seq: int
    file: str
    change: str
    agent: str | None
    worktree: str | None
    layer: str | None
    description: str | None
    created_at: int
    expires_at: int
    score: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        """The short id, as in ``f31``."""
        return Kind.FILE_CHANGE.ref(self.id)


@dataclass(frozen=True, slots=True)
class FileChangePage(KeptPage[FileChange]):
    """Part of the file changes, counted and read in one snapshot."""

    @property
    def changes(self) -> tuple[FileChange, ...]:
        """The part."""
        return self.items


@dataclass(frozen=True, slots=True)
class Claim:
    """One lease on a path, or on everything in a folder.

    Attributes:
        path: canonical; ``dir/**`` for a folder, ``**`` for everything.
        exclusive: whether nobody else may claim what it covers.
        agent: who holds it.
        worktree: the linked worktree it is about, an absolute path; None is the main one.
        created_at: since when, in milliseconds UTC.
        expires_at: until when.
    """

    id: int
    uid: str
    seq: int
    path: str
    exclusive: bool
    agent: str
    worktree: str | None
    reason: str | None
    created_at: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class Claimed:
    """What claiming did: all of it, or it raises.

    Attributes:
        claims: as they stand now, in the order asked for.
        renewed: the paths that the agent had claimed before.
        elsewhere: claims of others on the same paths in other worktrees.
        shared: claims of others that share a path.
    """

    agent: str
    claims: tuple[Claim, ...]
    renewed: tuple[str, ...]
    elsewhere: tuple[Claim, ...]
    shared: tuple[Claim, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Released:
    """What releasing did.

    Attributes:
        released: the paths that were the agent's and are free now.
        not_held: the paths that it had no claim on.
    """

    agent: str
    released: tuple[str, ...]
    not_held: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileLock:
    """Whether a file is another's to edit, and why.

    Attributes:
        locked: whether the caller should keep off: another claims it exclusively, or changed it just now, in the same
            worktree.
        until: when that ends, in milliseconds UTC; None when it is not locked.
        claims: others' claims on it in the same worktree.
        elsewhere: others' claims on it in other worktrees.
        own: the caller's claims on it.
        recent: the newest 20 of others' changes of it within the window, the newest first, wherever they were made.
    """

    file: str
    agent: str | None
    locked: bool
    until: int | None
    claims: tuple[Claim, ...]
    elsewhere: tuple[Claim, ...]
    own: tuple[Claim, ...]
    recent: tuple[FileChange, ...]
