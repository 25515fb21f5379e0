"""The records of packages, and how rows become them."""

from __future__ import annotations

from satchel.base.paging import KeptPage
from satchel.base.records import dataclass
from satchel.base.vocabulary import PRIORITIES, number_of, priority_number
from satchel.find.kind import Kind
from satchel.store.transaction import Row

TYPES = ("research", "failures", "decisions", "handoff", "investigation")
"""What packages hold; the number of one in the tables is its place here, from 1."""

STATUSES = ("live", "superseded")
"""The states of a package; the number of one in the documents is its place here, from 1."""

DEFAULT_TYPE = "research"
DEFAULT_PRIORITY = "medium"

MAX_SUMMARY_CHARS = 200

RISES = {"error": "critical", "blocker": "critical", "finding": "high"}
"""What makes a package more urgent, and how urgent at least."""

FALLS = {"resolved": "low", "stale": "low"}
"""What makes it less urgent."""

EVENTS = (*RISES, *FALLS)
"""What changes a package's priority by rule."""


def priority_after(event: str, before: int) -> int:
    """Return the number of the priority that a package has after an event, by the number of the one before it.

    Args:
        event: one of :data:`EVENTS`.
    """
    if event in RISES:
        return max(before, priority_number(RISES[event]))
    return priority_number(FALLS[event])


@dataclass(frozen=True, slots=True)
class Package:
    """One package: a file of the project or a stored text, under a summary.

    Attributes:
        id: the store's number; ``ref`` is its short id.
        uid: 32 hexadecimal digits, stable across export and import.
        seq: the number of its last change.
        type: one of :data:`TYPES`.
        priority: low, medium, high or critical.
        summary: one line.
        path: the file, relative to the project's root; None for a stored text.
        content_bytes: the size of the stored text in UTF-8; None for a file.
        consumers: the roles that it is meant for, sorted; none means any role.
        task_id: the task it belongs to; None is the whole run.
        agent: who produced it, or None.
        superseded_by: the number of the package that replaced it, or None while it is live.
        created_at: milliseconds UTC; so for ``updated_at``, when its priority or state last changed.
        score: how well it matched a search, higher is better; None without one.
        notes: what the writer should know; empty when read.
    """

    id: int
    uid: str
    seq: int
    run_id: str
    type: str
    priority: str
    summary: str
    path: str | None
    content_bytes: int | None
    consumers: tuple[str, ...]
    task_id: str | None
    agent: str | None
    superseded_by: int | None
    created_at: int
    updated_at: int
    score: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        """The short id, as in ``p7``."""
        return Kind.PACKAGE.ref(self.id)

    @property
    def status(self) -> str:
        """One of :data:`STATUSES`."""
        return STATUSES[self.superseded_by is not None]


@dataclass(frozen=True, slots=True)
class PackagePage(KeptPage[Package]):
    """Part of the packages of a run or of the project, counted and read in one snapshot.

    Attributes:
        run_id: the run they were read from; None for all runs of the project.
        by_priority: pairs of priority and how many of the whole list have it, the most urgent first.
    """

    run_id: str | None = None
    by_priority: tuple[tuple[str, int], ...] = ()

    @property
    def packages(self) -> tuple[Package, ...]:
        """The part."""
        return self.items


@dataclass(frozen=True, slots=True)
class PackageContent:
    """What a package holds, or why that cannot be had.

    Attributes:
        ref: the package that was asked for.
        package: None where the project has no such one.
        text: what it holds; None where there is a reason.
        reason: why there is no text.
        notes: what was cleaned or redacted.
    """

    ref: str
    package: Package | None
    text: str | None
    reason: str | None
    notes: tuple[str, ...] = ()


def type_number(name: object) -> int:
    """Return the number of a package type, as :func:`number_of` does."""
    return number_of("package type", name, TYPES)


COLUMNS = """
    c.id, c.uid, c.seq, r.run_id, c.type, c.priority, c.summary, c.content_path, octet_length(c.content), c.task_id,
    a.name, c.superseded_by, c.created_at, c.updated_at
"""
"""The columns :func:`package_of` reads, from :data:`SOURCE`."""

SOURCE = "context_packages c JOIN runs r ON r.id = c.run_id LEFT JOIN agents a ON a.id = c.producer_id"


def package_of(
    row: Row, consumers: tuple[str, ...], *, score: float | None = None, notes: tuple[str, ...] = ()
) -> Package:
    """Turn a row of :data:`COLUMNS`, which stand in the order of the fields, into a record."""
    number, uid, seq, run, kind, priority, summary, path, size, *rest = row[:14]
    rest += [score, notes]
    names = TYPES[kind - 1], PRIORITIES[priority - 1]
    return Package(number, uid.hex(), seq, run, *names, summary, path, size, consumers, *rest)
