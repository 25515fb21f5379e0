"""The records of entries, and how rows become them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.base.paging import KeptPage
from satchel.base.records import dataclass
from satchel.base.vocabulary import number_of
from satchel.find.kind import Kind
from satchel.store.transaction import Row, Transaction

if TYPE_CHECKING:
    from satchel.keep.citations import Citation, Cited

DEFAULT_KEEP = 500
"""How many of each type and loop pruning keeps."""

ENTRY_TYPES = (
    "discovery",
    "error",
    "decision",
    "review_issue",
    "review_verdict",
    "scratchpad",
    "codebase_analysis",
)
"""The types of entries; the number of a type in the table is its place here, from 1."""

ERROR = ENTRY_TYPES.index("error") + 1
REVIEW_ISSUE = ENTRY_TYPES.index("review_issue") + 1
REVIEW_VERDICT = ENTRY_TYPES.index("review_verdict") + 1
SCRATCHPAD = ENTRY_TYPES.index("scratchpad") + 1
CODEBASE_ANALYSIS = ENTRY_TYPES.index("codebase_analysis") + 1

COMPARED_TYPES = (ENTRY_TYPES.index("discovery") + 1, ERROR, ENTRY_TYPES.index("decision") + 1)
"""What may say nearly the same as another note; scratchpads, reviews and analyses are alike by their nature."""

STRUCTURED_TYPES = ("review_issue", "review_verdict", "scratchpad", "codebase_analysis")
"""The entry types whose content is an object, as :mod:`satchel.keep.entries.structured` reads it."""


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry to be written.

    Attributes:
        type: one of :data:`ENTRY_TYPES`.
        content: text; for a structured type an object or its JSON. A scratchpad may be text too.
        task_id: the task it belongs to.
        loop_id: the loop it belongs to.
        file: the file it is about, inside the project, also with its line or lines behind it.
        line: the line in that file, from 1.
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
    """One entry as it is kept.

    Attributes:
        id: the store's number; ``ref`` is its short id.
        uid: 32 hexadecimal digits, stable across export and import.
        seq: the number of its last change.
        content: text; for a structured type compact JSON.
        agent: who wrote it, or None.
        superseded_by: the number of the entry that replaced it, its own where it was retracted, None while it is live.
        created_at: milliseconds UTC.
        score: how well it matched a search, higher is better; None without one.
        notes: what the writer should know, such as what was cleaned or redacted; empty when read.
        last_line: the last line where several are cited, of which ``line`` is the first.
        citation: how the file stands by what was cited of it; None when written, and where that is not known.
        seen: how often it was written, by anyone; None where once.
        seen_by: who wrote it, the first first, where that is more than once.
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
    agent: str | None
    superseded_by: int | None
    created_at: int
    score: float | None = None
    notes: tuple[str, ...] = ()
    last_line: int | None = None
    citation: Citation | None = None
    seen: int | None = None
    seen_by: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        """The short id, as in ``e812``."""
        return Kind.ENTRY.ref(self.id)

    @property
    def seen_text(self) -> str:
        """How often it was written and by whom, as in ``seen 3 times by ann, ben``; empty where once."""
        if self.seen is None:
            return ""
        others = len(self.seen_by) - _MAX_NAMES
        names = ", ".join(self.seen_by[:_MAX_NAMES]) + (f" and {others} more" if others > 0 else "")
        return f"seen {self.seen} times" + (f" by {names}" if names else "")


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes entries, in which run and when, by the store's numbers.

    Attributes:
        agent: None for nobody.
        now: milliseconds UTC.
        session: None without one.
        is_person: whether it is a person at a terminal.
    """

    project_id: int
    run: int
    agent: int | None
    now: int
    session: int | None = None
    is_person: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """An entry that passed every check and is ready to be stored as it is.

    Attributes:
        type: its number.
        notes: what was cleaned or redacted.
        supersedes: the number of the entry that it replaces.
        last_line: the last line where several are cited.
        cited: what the file held there; None where it could not be read.
    """

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
    """What a new entry repeats of what its writer was told before.

    Attributes:
        note: says so.
        entry: the number of the entry that says the very same, which is why the new one is not written; or None.
    """

    note: str
    entry: int | None = None


FindDuplicates = Callable[[Transaction, Writer, Sequence[Prepared]], Mapping[int, DuplicateDelivery]]
"""A rule for entries that are about to be written: what they repeat, by their place."""

LEAST_CHARS, MAX_CHARS = 40, 4_000
"""Of a text that is compared with what was delivered: shorter ones are said by many, longer ones no briefing shows."""

AfterWrite = Callable[[Transaction, Writer, int, Prepared], tuple[str, ...]]
"""A rule for an entry that was just written, with its number: notes for its writer. Its errors undo the write."""


@dataclass(frozen=True, slots=True)
class EntryPage(KeptPage[Entry]):
    """Part of the entries of a run or of the project, counted and read in one snapshot.

    Attributes:
        run_id: the run they were read from; None for all runs of the project.
    """

    run_id: str | None = None

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The part."""
        return self.items


@dataclass(frozen=True, slots=True)
class PruneResult:
    """What pruning removed, or would remove.

    Attributes:
        removed: pairs of entry type and how many.
        done: False for a preview.
    """

    run_id: str
    removed: tuple[tuple[str, int], ...]
    done: bool

    @property
    def total(self) -> int:
        """How many entries in all."""
        return sum(count for _, count in self.removed)


COLUMNS = """
    c.id, c.uid, c.seq, r.run_id, c.type, c.content, c.task_id, c.loop_id, c.file, c.line, a.name, c.superseded_by,
    c.created_at, c.last_line, c.seen
"""
"""The columns :func:`entry_of` reads, in its order, from :data:`SOURCE`."""

# LEFT: the planner must not begin with the runs
SOURCE = "context c LEFT JOIN runs r ON r.id = c.run_id LEFT JOIN agents a ON a.id = c.agent_id"


def entry_of(row: Row, score: float | None = None) -> Entry:
    """Turn a row of :data:`COLUMNS`, which stand in the order of the fields but for the last two, into a record."""
    number, uid, seq, run_id, kind, *rest = row[:13]
    rest += [score, (), row[13], None, row[14]]
    return Entry(number, uid.hex(), seq, run_id, ENTRY_TYPES[kind - 1], *rest)


def type_number(name: object) -> int:
    """Return the number of an entry type, as :func:`number_of` does."""
    return number_of("entry type", name, ENTRY_TYPES)
