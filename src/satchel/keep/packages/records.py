"""Records of packages."""

from __future__ import annotations

from satchel.base.paging import KeptPage
from satchel.base.records import dataclass
from satchel.base.vocabulary import number_of, priority_number
from satchel.find.kind import Kind

# The package types, stored by their position, from 1.
TYPES = ("research", "failures", "decisions", "handoff", "investigation")

# The statuses of a package, stored by their position, from 1.
STATUSES = ("live", "superseded")

DEFAULT_TYPE = "research"
DEFAULT_PRIORITY = "medium"

MAX_SUMMARY_CHARS = 200

# Events that raise a package's priority, and to what at least.
RISES = {"error": "critical", "blocker": "critical", "finding": "high"}

# Events that lower it.
FALLS = {"resolved": "low", "stale": "low"}

# Events that change a package's priority.
EVENTS = (*RISES, *FALLS)


def priority_after(event: str, before: int) -> int:
    if event in RISES:
        return max(before, priority_number(RISES[event]))
    return priority_number(FALLS[event])


@dataclass(frozen=True, slots=True)
class Package:
    """A file of the project or a stored text, with a summary.

    Attributes:
        id: the store's number; ``ref`` is its short id.
        uid: 32 hexadecimal digits, stable across export and import.
        path: the file, relative to the project's root; None for a stored text, whose size is ``content_bytes``.
        consumers: the roles that it is meant for; none means any role.
        superseded_by: the number of the package that replaced it, or None while it is live.
        updated_at: when its priority or state last changed.
        notes: remarks for the writer; empty when read.
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
        return Kind.PACKAGE.ref(self.id)

    @property
    def status(self) -> str:
        return STATUSES[self.superseded_by is not None]


@dataclass(frozen=True, slots=True)
class PackagePage(KeptPage[Package]):
    """A page of packages of a run or project, with the count of each priority, most urgent first."""

    run_id: str | None = None
    by_priority: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Consumption:
    agent: str | None
    role: str | None
    task_id: str | None
    iteration: int
    at: int


@dataclass(frozen=True, slots=True)
class PackageContent:
    """A package's content, or the reason it is missing; ``consumed`` are its newest deliveries, the last one first."""

    ref: str
    package: Package | None
    text: str | None
    reason: str | None
    notes: tuple[str, ...] = ()
    consumed: tuple[Consumption, ...] = ()


def type_number(name: object) -> int:
    return number_of("package type", name, TYPES)
