"""Bare apsw on Satchel's own tables: what SQLite itself costs, with nothing around it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import apsw

from benchmarks.content import Note, batches
from satchel.find.index_sqlite import scope_tokens
from satchel.find.kind import Kind
from satchel.find.words import parts_text
from satchel.keep.entries.records import ENTRY_TYPES
from satchel.store.schema import MIGRATIONS

_ROW = """
    INSERT INTO context
        (uid, seq, project_id, run_id, type, content, task_id, loop_id, file, line, agent_id, created_at)
    VALUES (?, ?, 1, 1, ?, ?, ?, ?, ?, ?, 1, ?)
"""
_TEXT = "INSERT INTO documents_fts (rowid, text, parts, scope) VALUES (?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A note as it is bound to the statements: all that Satchel would index, worked out beforehand."""

    row: tuple[int | str, ...]
    text: tuple[str, str, str]


def prepared(made: Sequence[Note]) -> list[Prepared]:
    """Work out what goes into the tables, so that no measured time is spent on it."""
    return [_prepared(note) for note in made]


class BareStore:
    """One connection with full durability to a file with the tables and indexes of a store.

    Args:
        file: the database file; made where it is missing.
        with_text: index each row's text too, as FTS5 in the store does.
    """

    def __init__(self, file: Path, *, with_text: bool) -> None:
        fresh = not file.exists()
        self.connection = apsw.Connection(str(file))
        self.connection.set_busy_timeout(10_000)
        self.connection.pragma("journal_mode", "wal")
        self.connection.pragma("synchronous", "FULL")
        self._with_text = with_text
        self._seq = 0
        if fresh:
            self._make_tables()

    def fill(self, made: Sequence[Note]) -> None:
        """Write notes in batches, each one transaction."""
        for batch in batches(made):
            self.connection.execute("BEGIN IMMEDIATE")
            for note in prepared(batch):
                self._insert(note)
            self.connection.execute("COMMIT")

    def write(self, note: Prepared) -> None:
        """Write one note durably.

        Raises:
            apsw.BusyError: other processes kept the file locked for ten seconds.
        """
        self.connection.execute("BEGIN IMMEDIATE")
        self._insert(note)
        self.connection.execute("COMMIT")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    def _insert(self, note: Prepared) -> None:
        self._seq += 1
        self.connection.execute(_ROW, (os.urandom(16), self._seq, *note.row, time.time_ns() // 1_000_000))
        if self._with_text:
            self.connection.execute(_TEXT, (self.connection.last_insert_rowid(), *note.text))

    def _make_tables(self) -> None:
        execute = self.connection.execute
        execute("BEGIN IMMEDIATE")
        for migration in MIGRATIONS:
            for statement in migration.statements:
                execute(statement)
        execute("COMMIT")


def _prepared(note: Note) -> Prepared:
    number = ENTRY_TYPES.index(note.type) + 1
    return Prepared(
        (number, note.content, note.task_id, note.loop_id, note.file, note.line),
        (note.content, parts_text(note.content), scope_tokens(1, 1, Kind.ENTRY.number, number)),
    )
