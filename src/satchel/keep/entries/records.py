"""Records of entries, and the entry types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.base.paging import KeptPage
from satchel.base.records import dataclass
from satchel.base.vocabulary import number_of
from satchel.find.kind import Kind
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.keep.citations import Citation, Cited

# Number of entries per type and loop that pruning keeps.
DEFAULT_KEEP = 500

# The entry types, stored by their position, from 1.
ENTRY_TYPES = (
    "discovery",
    "error",
    "decision",
    "review_issue",
    "review_verdict",
    "scratchpad",
    "codebase_analysis",
    "bug",
)

ERROR = ENTRY_TYPES.index("error") + 1
REVIEW_ISSUE = ENTRY_TYPES.index("review_issue") + 1
REVIEW_VERDICT = ENTRY_TYPES.index("review_verdict") + 1
SCRATCHPAD = ENTRY_TYPES.index("scratchpad") + 1
CODEBASE_ANALYSIS = ENTRY_TYPES.index("codebase_analysis") + 1
BUG = ENTRY_TYPES.index("bug") + 1

# Types compared for near-duplicates; scratchpads, reviews and analyses are naturally alike.
COMPARED_TYPES = (ENTRY_TYPES.index("discovery") + 1, ERROR, ENTRY_TYPES.index("decision") + 1)

# Types with an object as content, see :mod:`satchel.keep.entries.structured`.
STRUCTURED_TYPES = ("review_issue", "review_verdict", "scratchpad", "codebase_analysis", "bug")


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry to be written.

    Attributes:
        content: text; for a structured type an object or its JSON. A scratchpad may be text too.
        file: the file it is about, inside the project, also with its line or lines behind it.
        supersedes: the short id of the entry that it replaces, as in ``e12``.
    """

    type: str
    content: str | Mapping[str, object]
    task_id: str | None = None
    loop_id: str | None = None
    file: str | None = None
    line: int | None = None
    supersedes: str | int | None = None


_MAX_NAMES = 5


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored entry.

    Attributes:
        id: the store's number; ``ref`` is its short id.
        uid: 32 hexadecimal digits, stable across export and import.
        content: text; for a structured type compact JSON.
        superseded_by: the number of its replacement; its own if retracted; None while it is live.
        notes: remarks for the writer, such as what was cleaned or redacted; empty when read.
        last_line: the last line of a range that starts at ``line``.
        citation: the state of its file compared with the cited content; None when written or unknown.
        seen: how often it was written, by anyone; None if once.
    """

    id: int
    uid: str
    seq: int
    run_id: str
    type: str
    content: str
    task_id: str | None
    loop_id: str | None
    file: str | None
    line: int | None
    last_line: int | None
    agent: str | None
    superseded_by: int | None
    created_at: int
    seen: int | None = None
    score: float | None = None
    notes: tuple[str, ...] = ()
    citation: Citation | None = None
    seen_by: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        return Kind.ENTRY.ref(self.id)

    @property
    def seen_text(self) -> str:
        """Return how often it was written and by whom, as in ``seen 3 times by ann, ben``; empty if once."""
        if self.seen is None:
            return ""
        others = len(self.seen_by) - _MAX_NAMES
        names = ", ".join(self.seen_by[:_MAX_NAMES]) + (f" and {others} more" if others > 0 else "")
        return f"seen {self.seen} times" + (f" by {names}" if names else "")


@dataclass(frozen=True, slots=True)
class Writer:
    """The author of entries, with run and time; ``passes`` tells whether it may change what a person wrote."""

    project_id: int
    run: int
    agent: int | None
    now: int
    session: int | None = None
    passes: Callable[[str], bool] = lambda _: False


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked entry, ready to be stored; ``cited`` is None if the content could not be read."""

    type: int
    content: str
    searchable: str
    task_id: str | None
    loop_id: str | None
    file: str | None
    line: int | None
    notes: tuple[str, ...]
    supersedes: int | None = None
    last_line: int | None = None
    cited: Cited | None = None


@dataclass(frozen=True, slots=True)
class DuplicateDelivery:
    """Repetition of an entry that was delivered to the writer; an identical ``entry`` is not written again."""

    note: str
    entry: int | None = None


# A rule that returns the repetitions among entries about to be written, by place.
FindDuplicates = Callable[[Transaction, Writer, Sequence[Prepared]], Mapping[int, DuplicateDelivery]]

# Length of texts compared with deliveries: shorter ones repeat by chance, longer ones are in no briefing.
LEAST_CHARS, MAX_CHARS = 40, 4_000

# A rule for an entry just written; returns notes for its writer. Its errors undo the write.
AfterWrite = Callable[[Transaction, Writer, int, Prepared], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class EntryPage(KeptPage[Entry]):
    """A page of entries of a run, or of all runs of the project, counted and read in one snapshot."""

    run_id: str | None = None

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self.items


@dataclass(frozen=True, slots=True)
class PruneResult:
    """Result of pruning or its preview: pairs of entry type and count."""

    run_id: str
    removed: tuple[tuple[str, int], ...]
    done: bool

    @property
    def total(self) -> int:
        return sum(count for _, count in self.removed)


def type_number(name: object) -> int:
    return number_of("entry type", name, ENTRY_TYPES)
