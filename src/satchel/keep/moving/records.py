"""Records of exports and imports."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from satchel.base.records import dataclass, field
from satchel.keep.kind import Line


@dataclass(frozen=True, slots=True)
class KindLines:
    """The lines of one kind.

    Attributes:
        digest: of their content, the same in every store that holds the same.
    """

    kind: str
    lines: int
    digest: str


@dataclass(frozen=True, slots=True)
class Exported:
    """Result of an export.

    Attributes:
        lines: number of lines without header and end.
        damaged: the ids of items that were left out because their text is damaged.
    """

    project: str
    lines: int
    kinds: tuple[KindLines, ...]
    damaged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trouble:
    """A line or row that could not be imported completely.

    Attributes:
        table: its kind of lines, or the other tool's table.
        row: its position, such as ``line 12`` or ``id 12``.
        reason: the problem, and what was done instead, if anything.
    """

    table: str
    row: str
    reason: str
    left_out: bool = True


@dataclass(slots=True)
class Arriving:
    """Input of an import: lines, and the rows that could not be read.

    Attributes:
        name: the name of the source, whose states are the base of later merges.
        not_taken: tables with rows that have no counterpart here, and how many rows.
        written_at: when it was written, in milliseconds UTC; None if that says nothing about the age of its items.
        header, end: the first and the last line of an export; the end is None before it was read.
    """

    source: Path
    name: str
    format: str
    project: str | None
    lines: Iterator[tuple[str, str, Line]]
    troubles: list[Trouble] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    not_taken: list[tuple[str, int]] = field(default_factory=list)
    total: int = 0
    written_at: int | None = None
    header: Line = field(default_factory=dict)
    end: Line | None = None


@dataclass(frozen=True, slots=True)
class ImportConflict:
    """An item changed on both sides; both states are kept.

    Attributes:
        ref: its local short id, or its uid if its kind has none.
    """

    ref: str
    item: str
    reason: str


@dataclass(frozen=True, slots=True)
class KindImported:
    """Import counts of one kind.

    Attributes:
        present: number of items that existed already or are newer here.
    """

    kind: str
    rows: int
    added: int
    updated: int
    present: int
    conflicts: int
    left_out: int


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of an import or its preview.

    Attributes:
        troubles: rows not imported completely, important kinds first; at most 10,000.
        not_taken: tables with rows that have no counterpart here, and how many rows.
        done: False for a preview.
    """

    source: Path
    format: str
    source_project: str | None
    kinds: tuple[KindImported, ...]
    conflicts: tuple[ImportConflict, ...]
    troubles: tuple[Trouble, ...]
    more_troubles: int
    notes: tuple[str, ...]
    not_taken: tuple[tuple[str, int], ...]
    done: bool

    @property
    def is_incomplete(self) -> bool:
        return any(kind.left_out for kind in self.kinds) or any(trouble.left_out for trouble in self.troubles)


@dataclass(frozen=True, slots=True)
class ImportedAsWritten:
    """Result of an import as written.

    Attributes:
        kinds: number and digest of the lines of each kind that the project holds now.
        exported: the same of the source.
        differing: the kinds that are not the same on both sides.
    """

    source: Path
    source_project: str | None
    kinds: tuple[KindLines, ...]
    exported: tuple[KindLines, ...]
    differing: tuple[str, ...]
    troubles: tuple[Trouble, ...]
    more_troubles: int


class Outcome(Enum):
    ADDED = "added"
    UPDATED = "updated"
    PRESENT = "present"
    CONFLICT = "conflict"
    LEFT_OUT = "left_out"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict on one line.

    Attributes:
        outcome: ``present`` also if the local state is newer, ``conflict`` if both sides changed; both states are then
            kept and ``note`` names the winner.
        note: a remark, or the reason it was left out.
    """

    kind: str
    uid: str
    ref: str | None
    outcome: Outcome
    note: str | None = None
