"""The records of an export and of an import: what was written, what arrived, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from satchel.base.records import dataclass, field
from satchel.keep.moving.fields import Line


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote.

    Attributes:
        project: the project's name.
        lines: how many, without the first and the last one.
        kinds: how many of each kind.
    """

    project: str
    lines: int
    kinds: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that could not be taken as it is.

    Attributes:
        table: where it stands: a kind of lines, or a table of another tool as it is called there.
        row: what tells it from others, such as ``line 12`` or ``id 12``.
        reason: what is wrong with it, and what was done instead where anything was.
        left_out: whether it was left out; False where only part of it was.
    """

    table: str
    row: str
    reason: str
    left_out: bool = True


@dataclass(slots=True)
class Arriving:
    """What a reader has to give: lines, and what it could not read.

    Attributes:
        source: the file.
        name: what the source is called, whose states are the base of a later merge.
        format: which format it is in.
        project: the project that is read there, or None where it names none.
        lines: each with the table and the row that it was read of.
        troubles, notes: what was found while it was read; complete once the lines are over.
        not_taken: tables with rows that nothing here corresponds to, and how many rows.
        total: how many lines there are, or 0 where that is not known.
        written_at: when it was written, in milliseconds UTC; None where that tells nothing of what it holds.
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


@dataclass(frozen=True, slots=True)
class ImportConflict:
    """An item that was changed on both sides, of which both states are kept.

    Attributes:
        ref: its short id here, or its uid where its kind has none.
        item: what it is called.
        reason: which state holds.
    """

    ref: str
    item: str
    reason: str


@dataclass(frozen=True, slots=True)
class KindImported:
    """What became of the lines of one kind.

    Attributes:
        kind: such as ``decision``.
        rows: how many arrived.
        added: how many are new here.
        updated: how many were here and took something from the other side.
        present: how many were here already, or are newer here.
        conflicts: how many were changed on both sides.
        left_out: how many could not be taken.
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
    """What an import did, or would do.

    Attributes:
        source: the file.
        format: which format it is in.
        source_project: the project that was read there, or None where the file knows none.
        kinds: what became of each kind.
        conflicts: what was changed on both sides.
        troubles: what could not be taken, or only in part, the important first; at most 10,000.
        more_troubles: how many beyond those.
        notes: what else should be known.
        not_taken: tables with rows that nothing here corresponds to, and how many rows.
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
        """Whether anything was left out that should have been taken."""
        return any(kind.left_out for kind in self.kinds) or any(trouble.left_out for trouble in self.troubles)
