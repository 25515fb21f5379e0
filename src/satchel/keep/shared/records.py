"""The records of the shared text, as callers get them."""

from __future__ import annotations

from satchel.base.records import dataclass

IN_STEP, WAITS, AHEAD, ELSEWHERE, NO_FILE = "in step", "waits", "ahead", "elsewhere", "no file"
"""How an item stands: ours and the file say the same; a text waits to be accepted; ours says something else than the
default branch; another branch's file does; it is shared, and this worktree has no file of it."""

UNSHARED = "no longer shared"


@dataclass(frozen=True, slots=True)
class SharedItem:
    """An item of the shared text.

    Attributes:
        ref: its short id; None where it is not here.
        uid: 32 hexadecimal digits.
        kind: as lines name it.
        file: its file, relative to the project.
        title: its key or first words; None where they are a stranger's and the reader is an agent.
        author: whose text it is, as the file says.
        changed_at: when they set it so, in milliseconds UTC.
        state: one of :data:`IN_STEP` and its like.
        why: what is to be known of that.
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
class Problem:
    """What is wrong with a file.

    Attributes:
        line: where, from 1; None for all of it.
    """

    file: str
    line: int | None
    problem: str


@dataclass(frozen=True, slots=True)
class Sharing:
    """What sharing items, or ending that, did.

    Attributes:
        items: those whose files were written.
        refused: those that were not, with the reason.
        done: False for a preview.
    """

    items: tuple[SharedItem, ...]
    refused: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    done: bool


@dataclass(frozen=True, slots=True)
class Synced:
    """What bringing store and files in step did.

    Attributes:
        written: the items whose files were written.
        taken: those that were taken from the default branch without asking, since the user's configuration says so.
        waiting: those that wait until a person accepts them.
        ended: the ids of those that are no longer shared.
        in_step: how many are as they should be.
        problems: the files that were skipped.
        resolved: the files in which git's conflict markers were resolved.
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
    """How the shared text stands.

    Attributes:
        items: those that were asked for, waiting ones first.
        in_step: how many are as they should be.
        branch: the branch that text is taken from; None outside of a repository.
        problems: the files that were skipped.
    """

    items: tuple[SharedItem, ...]
    in_step: int
    branch: str | None
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return sum(one.state == WAITS for one in self.items)


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a person said of texts that waited.

    Attributes:
        accepted: whether they hold from now on; else they are passed over.
        items: those that this was said of.
        failed: those that could not be kept, with the reason; they still wait.
    """

    accepted: bool
    items: tuple[SharedItem, ...]
    failed: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """A text that waits, beside ours.

    Attributes:
        lines: a unified difference.
        digest: of the text that waits, in hexadecimal: what was seen of it.
    """

    item: SharedItem
    lines: tuple[str, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class Differences:
    """Texts that wait, beside ours."""

    items: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """Whether the files are what the program would write."""

    files: int
    problems: tuple[Problem, ...]
