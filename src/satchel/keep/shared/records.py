"""Records of shared texts for callers."""

from __future__ import annotations

from satchel.base.records import dataclass
from satchel.keep.shared.folder import Problem

# states of an item: item and file are equal; a text waits to be accepted; the item differs from the default branch;
# another branch's file does; it is shared, and this worktree has no file of it
IN_STEP, WAITS, AHEAD, ELSEWHERE, NO_FILE = "in step", "waits", "ahead", "elsewhere", "no file"

UNSHARED = "no longer shared"


@dataclass(frozen=True, slots=True)
class SharedItem:
    """An item of the shared texts.

    Attributes:
        ref: its short id; None without a local item.
        title: its key or first words; None if a stranger wrote them and the reader is an agent.
        state: one of :data:`IN_STEP`, :data:`WAITS`, :data:`AHEAD`, :data:`ELSEWHERE`, :data:`NO_FILE`.
    """

    ref: str | None
    uid: str
    kind: str
    file: str | None
    title: str | None
    author: str | None
    changed_at: int | None
    state: str
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Sharing:
    """Result of sharing or unsharing items.

    Attributes:
        refused: those not written, with the reason.
        done: False for a preview.
    """

    items: tuple[SharedItem, ...]
    refused: tuple[tuple[str, str], ...]
    done: bool


@dataclass(frozen=True, slots=True)
class Synced:
    """Result of a sync.

    Attributes:
        taken: texts of the default branch accepted automatically, as configured.
        ended: ids of items no longer shared.
        done: False for a preview.
    """

    written: tuple[SharedItem, ...]
    taken: tuple[SharedItem, ...]
    waiting: tuple[SharedItem, ...]
    ended: tuple[str, ...]
    in_step: int
    problems: tuple[Problem, ...]
    resolved: tuple[str, ...]
    notes: tuple[str, ...]
    done: bool


@dataclass(frozen=True, slots=True)
class SharedList:
    """States of shared texts.

    Attributes:
        branch: the branch that texts are taken from; None outside a repository.
    """

    items: tuple[SharedItem, ...]
    in_step: int
    branch: str | None
    problems: tuple[Problem, ...]

    @property
    def waiting(self) -> int:
        return sum(item.state == WAITS for item in self.items)


@dataclass(frozen=True, slots=True)
class Accepted:
    """Result of a person's decision on waiting texts.

    Attributes:
        accepted: whether they were accepted; otherwise they were rejected.
        failed: those that could not be stored, with the reason; they still wait.
    """

    accepted: bool
    items: tuple[SharedItem, ...]
    failed: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """A waiting text with its difference to the local one.

    Attributes:
        digest: the waiting text's digest, in hexadecimal: it identifies the text that was read.
    """

    item: SharedItem
    lines: tuple[str, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class Differences:
    """Waiting texts with their differences to the local ones."""

    items: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """Result of checking the files' format."""

    files: int
    problems: tuple[Problem, ...]
