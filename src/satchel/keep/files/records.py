"""Records of file changes and claims."""

from __future__ import annotations

from satchel.base.records import dataclass
from satchel.find.kind import Kind

# The kinds of changes, stored by their position, from 1.
CHANGES = ("created", "modified", "deleted")


@dataclass(frozen=True, slots=True)
class FileChange:
    """A recorded edit.

    Attributes:
        id: the store's number; ``ref`` is its short id.
        uid: 32 hexadecimal digits, stable across export and import.
        seq: the number of its last change.
        file: canonical, relative to the worktree's root.
        change: created, modified or deleted.
        agent: its author, or None.
        worktree: the linked worktree, an absolute path; None is the main one.
        created_at: milliseconds UTC.
        expires_at: when the record is deleted.
        notes: remarks for the writer; empty when read.
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
        return Kind.FILE_CHANGE.ref(self.id)


@dataclass(frozen=True, slots=True)
class Claim:
    """A lease on a file, a folder with its content, or a key.

    Attributes:
        path: canonical; ``dir/**`` for a folder, ``**`` for everything; or a key such as ``issue:311``.
        exclusive: whether nobody else may claim what it covers.
        agent: its holder.
        worktree: the linked worktree, an absolute path; None for the main one and for keys.
        created_at, expires_at: milliseconds UTC.
        automatic: whether only a hook has claimed it.
        is_key: whether the path is a key.
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
    automatic: bool = False
    is_key: bool = False


@dataclass(frozen=True, slots=True)
class RecentActivity:
    """Recent changes to a file or folder.

    Attributes:
        file: canonical.
        worktree: the linked worktree, an absolute path; None is the main one.
        recent: the newest 5 changes by others, newest first, in any worktree.
        unrecorded_at: when it was changed on disk without a record, in milliseconds UTC, or None.
    """

    file: str
    worktree: str | None
    recent: tuple[FileChange, ...] = ()
    unrecorded_at: int | None = None


@dataclass(frozen=True, slots=True)
class CommitCheck:
    """Files of a commit that others have claimed, in order, each with a claim.

    Attributes:
        claimed: files with an explicit, exclusive claim.
        hinted: files with only an automatic or shared claim.
        is_stopped: whether to stop the commit.
        checked_at: milliseconds UTC.
    """

    claimed: tuple[tuple[str, Claim], ...]
    hinted: tuple[tuple[str, Claim], ...]
    is_stopped: bool
    checked_at: int


@dataclass(frozen=True, slots=True)
class Claimed:
    """Result of claiming: all requested places were claimed.

    Attributes:
        claims: the claims, in the order requested.
        renewed: the paths that the agent had claimed before.
        elsewhere: claims of others on the same paths in other worktrees.
        shared: claims of others that share a path.
        claimed_at: milliseconds UTC.
        lately: recent changes to newly claimed files, if any.
        waited_ms: how long the call waited for others.
        new: the claimed paths whose files are not there yet.
    """

    agent: str
    claims: tuple[Claim, ...]
    renewed: tuple[str, ...]
    elsewhere: tuple[Claim, ...]
    shared: tuple[Claim, ...]
    notes: tuple[str, ...] = ()
    claimed_at: int = 0
    lately: tuple[RecentActivity, ...] = ()
    waited_ms: int = 0
    new: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PendingClaim:
    """An agent that waits for a released place or was refused it.

    Attributes:
        waits: whether it is waiting now; otherwise it was refused, and will be notified.
        asked_at: when it began to wait or was refused, in milliseconds UTC.
    """

    agent: str
    path: str
    waits: bool
    asked_at: int


@dataclass(frozen=True, slots=True)
class Released:
    """Result of releasing claims.

    Attributes:
        released: the released paths.
        not_held: the paths that the agent had not claimed.
        wished: agents that wait for the released paths or were refused them.
        changes: the edits recorded with it.
        by_others: others' edits of the paths since they were claimed, of which the holder has not been told.
        still: others' claims on the paths.
    """

    agent: str
    released: tuple[str, ...]
    not_held: tuple[str, ...]
    wished: tuple[PendingClaim, ...] = ()
    changes: tuple[FileChange, ...] = ()
    notes: tuple[str, ...] = ()
    by_others: tuple[FileChange, ...] = ()
    still: tuple[Claim, ...] = ()


# The states of a file for the caller: unclaimed, claimed by it, or claimed by someone else.
STATES = ("free", "yours", "held")


@dataclass(frozen=True, slots=True)
class FileCheck:
    """The claims on a file, and its recent changes.

    Attributes:
        file: canonical, or a key.
        worktree: the linked worktree, an absolute path, or the caller's for a key; None is the main one.
        state: free, yours or held.
        until: when the claim expires, in milliseconds UTC; None if it is free.
        claims: others' claims on it in the same worktree.
        elsewhere: others' claims on it in other worktrees.
        own: the caller's claims on it.
        recent: the newest 5 changes by others within the window, newest first, in any worktree.
        unrecorded_at: when it was changed on disk within the window without a record, or None.
        expired_at: when the caller's last claim on it expired, if it has none now.
    """

    file: str
    worktree: str | None
    state: str
    until: int | None
    claims: tuple[Claim, ...]
    elsewhere: tuple[Claim, ...]
    own: tuple[Claim, ...]
    recent: tuple[FileChange, ...]
    unrecorded_at: int | None = None
    expired_at: int | None = None


@dataclass(frozen=True, slots=True)
class FilesChecked:
    """A check of several files in one snapshot.

    Attributes:
        agent: the caller, or None.
        checked_at: milliseconds UTC.
        notes: remarks for the caller.
        worktree: the caller's linked worktree; None is the main one.
    """

    agent: str | None
    checked_at: int
    files: tuple[FileCheck, ...]
    notes: tuple[str, ...] = ()
    worktree: str | None = None

    @property
    def is_held(self) -> bool:
        """Return whether someone else holds any of them."""
        return any(file.state == "held" for file in self.files)
