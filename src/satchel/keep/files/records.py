"""The records of file changes and claims."""

from __future__ import annotations

from satchel.base.paging import KeptPage
from satchel.base.records import dataclass
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
    """One lease on a path, on everything in a folder, or on a key.

    Attributes:
        path: canonical; ``dir/**`` for a folder, ``**`` for everything; or the key, as ``issue:311``.
        exclusive: whether nobody else may claim what it covers.
        agent: who holds it.
        worktree: the linked worktree it is about, an absolute path; None is the main one, and of a key.
        created_at: since when, in milliseconds UTC.
        expires_at: until when.
        automatic: whether a hook claimed it, and nobody has since.
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
class Lately:
    """What happened to a file, or in a folder, within a window.

    Attributes:
        file: canonical.
        worktree: the linked worktree it is in, an absolute path; None is the main one.
        recent: the newest 5 of others' changes of it, the newest first, wherever they were made.
        unrecorded_at: when it was changed on disk, where no change has been recorded since, in milliseconds UTC.
    """

    file: str
    worktree: str | None
    recent: tuple[FileChange, ...] = ()
    unrecorded_at: int | None = None


@dataclass(frozen=True, slots=True)
class CommitCheck:
    """What others have claimed of the files of a commit, a claim for each file, in the order of the files.

    Attributes:
        claimed: the files with an explicit, exclusive claim.
        hinted: those with another one alone: a hook's, or a shared one.
        is_stopped: whether the commit is to be stopped.
        checked_at: milliseconds UTC.
    """

    claimed: tuple[tuple[str, Claim], ...]
    hinted: tuple[tuple[str, Claim], ...]
    is_stopped: bool
    checked_at: int


@dataclass(frozen=True, slots=True)
class Claimed:
    """What claiming did: all of it, or it raises.

    Attributes:
        claims: as they stand now, in the order asked for.
        renewed: the paths that the agent had claimed before.
        elsewhere: claims of others on the same paths in other worktrees.
        shared: claims of others that share a path.
        claimed_at: when, in milliseconds UTC.
        lately: what happened within the usual window to what was not claimed before; nothing of what stayed as it was.
        waited_ms: how long the call waited for what others held.
    """

    agent: str
    claims: tuple[Claim, ...]
    renewed: tuple[str, ...]
    elsewhere: tuple[Claim, ...]
    shared: tuple[Claim, ...]
    notes: tuple[str, ...] = ()
    claimed_at: int = 0
    lately: tuple[Lately, ...] = ()
    waited_ms: int = 0


@dataclass(frozen=True, slots=True)
class Wish:
    """That another waits for what was released, or was refused it.

    Attributes:
        waits: whether it waits now; else it was refused, and is told that it is free.
        asked_at: from when on it waits, or when it was refused, in milliseconds UTC.
    """

    agent: str
    path: str
    waits: bool
    asked_at: int


@dataclass(frozen=True, slots=True)
class Released:
    """What releasing did.

    Attributes:
        released: the paths that were the agent's and are free now.
        not_held: the paths that it had no claim on.
        wished: who waits for what is free now, or was refused it.
        changes: the edits that were recorded with it.
    """

    agent: str
    released: tuple[str, ...]
    not_held: tuple[str, ...]
    wished: tuple[Wish, ...] = ()
    changes: tuple[FileChange, ...] = ()
    notes: tuple[str, ...] = ()


STATES = ("free", "yours", "held")
"""What a file can be for who asks: nobody's, its own, or another's alone."""


@dataclass(frozen=True, slots=True)
class FileCheck:
    """Whose a file is now, and what happened to it lately.

    Attributes:
        file: canonical, or a key.
        worktree: the linked worktree it is in, an absolute path, for a key the caller's; None is the main one.
        state: free, yours or held.
        until: until when it is the caller's, or another's, in milliseconds UTC; None when it is free.
        claims: others' claims on it in the same worktree.
        elsewhere: others' claims on it in other worktrees.
        own: the caller's claims on it.
        recent: the newest 5 of others' changes of it within the window, the newest first, wherever they were made.
        unrecorded_at: when it was changed on disk within the window, where no change has been recorded since.
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


@dataclass(frozen=True, slots=True)
class FilesChecked:
    """Several files as they were at one moment.

    Attributes:
        agent: who asked, or None.
        checked_at: when, in milliseconds UTC.
        notes: what the caller should know.
        worktree: the linked worktree that the caller works in; None is the main one.
    """

    agent: str | None
    checked_at: int
    files: tuple[FileCheck, ...]
    notes: tuple[str, ...] = ()
    worktree: str | None = None

    @property
    def is_held(self) -> bool:
        """Whether any of them is another's."""
        return any(file.state == "held" for file in self.files)
