"""The records of an import: what another tool's store holds, and what became of it here."""

from __future__ import annotations

from pathlib import Path

from satchel.base.records import dataclass


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something in the other store that could not be taken as it is.

    Attributes:
        table: as it is called there.
        row: what tells the row from others, such as ``id 12``.
        reason: what is wrong with it, and what was done instead where anything was.
        left_out: whether the row was left out; False where only part of it was.
    """

    table: str
    row: str
    reason: str
    left_out: bool = True


@dataclass(frozen=True, slots=True)
class ForeignStore:
    """What is known of any tool's store that was read.

    Attributes:
        format: which of the tool's formats it is.
        project: the project that was read, or None where the store knows none.
        kinds: what is imported, in the order it is done.
        rows: how many of each of ``kinds`` there are, readable or not.
        tables: what the table of each is called.
        troubles: what could not be read, or only in part.
        notes: what else should be known.
        not_taken: tables with rows that nothing here corresponds to, and how many rows.
    """

    format: str
    project: str | None
    kinds: tuple[str, ...]
    rows: tuple[int, ...]
    tables: tuple[str, ...]
    troubles: tuple[Trouble, ...]
    notes: tuple[str, ...]
    not_taken: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ImportConflict:
    """An item that stands here otherwise than in the other store, and was left alone.

    Attributes:
        ref: its short id here.
        item: what it is called.
        reason: what differs.
    """

    ref: str
    item: str
    reason: str


@dataclass(frozen=True, slots=True)
class KindImported:
    """What became of the items of one kind.

    Attributes:
        kind: such as ``decisions``.
        rows: how many the other store has.
        added: how many are new here.
        updated: how many were here and are newer in the other store.
        present: how many were here already.
        conflicts: how many stand here otherwise, and were left alone.
        left_out: how many could not be read.
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
        format: which of the other tool's formats it is in.
        source_project: the project that was read there, or None where the file knows none.
        states: how many earlier states of decisions came along.
        kinds: what became of each kind.
        conflicts: what stands here otherwise.
        troubles: what could not be taken, or only in part.
        notes: what else should be known.
        not_taken: tables with rows that nothing here corresponds to, and how many rows.
        done: False for a preview.
    """

    source: Path
    format: str
    source_project: str | None
    states: int
    kinds: tuple[KindImported, ...]
    conflicts: tuple[ImportConflict, ...]
    troubles: tuple[Trouble, ...]
    notes: tuple[str, ...]
    not_taken: tuple[tuple[str, int], ...]
    done: bool
