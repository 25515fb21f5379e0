"""Bare apsw on Satchel's own tables: what SQLite itself costs, with nothing around it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import apsw

from benchmarks.content import Note, batches
from satchel.keep.entries import ENTRY_TYPES
from satchel.store.schema import MIGRATIONS

_ROW = """
    INSERT INTO context (uid, seq, project_id, run_id, type, content, task_id, loop_id, file, line, agent_id, created_at)
    VALUES (?, ?, 1, 1, ?, ?, ?, ?, ?, ?, 1, ?)
"""
_TEXT = "INSERT INTO documents_fts (rowid, text, parts, scope) VALUES (?, ?, '', 'p1 r1 k1')"
_SPINE = """
    INSERT INTO documents (seq, project_id, run_id, kind, item_id, type, agent_id, task_id, loop_id, file, created_at)
    VALUES (?, 1, 1, 1, ?, ?, 1, ?, ?, ?, ?)
"""


class BareStore:
    """One connection with full durability to a file with the tables and indexes of a store.

    Args:
        file: the database file; made where it is missing.
        with_text: index each row's text too, as FTS5 in the store does.
        with_spine: keep everything else that a store keeps of an entry too: its row in the spine, and the counter.
    """

    def __init__(self, file: Path, *, with_text: bool, with_spine: bool = False) -> None:
        fresh = not file.exists()
        self.connection = apsw.Connection(str(file))
        self.connection.set_busy_timeout(10_000)
        self.connection.pragma("journal_mode", "wal")
        self.connection.pragma("synchronous", "FULL")
        self._with_text = with_text
        self._with_spine = with_spine
        self._seq = 0
        if fresh:
            self._make_tables()

    def fill(self, made: Sequence[Note]) -> None:
        """Write notes in batches, each one transaction."""
        for batch in batches(made):
            self.connection.execute("BEGIN IMMEDIATE")
            for note in batch:
                self._insert(note)
            self.connection.execute("COMMIT")

    def write(self, note: Note) -> None:
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

    def _insert(self, note: Note) -> None:
        execute = self.connection.execute
        self._seq += 1
        now = time.time_ns() // 1_000_000
        number = ENTRY_TYPES.index(note.type) + 1
        where = (note.task_id, note.loop_id, note.file)
        if self._with_spine:
            execute("UPDATE projects SET seq = seq + 1 WHERE id = 1")
        execute(_ROW, (os.urandom(16), self._seq, number, note.content, *where, note.line, now))
        if self._with_spine:
            execute(_SPINE, (self._seq, self.connection.last_insert_rowid(), number, *where, now))
        if self._with_text:
            execute(_TEXT, (self.connection.last_insert_rowid(), note.content))

    def _make_tables(self) -> None:
        execute = self.connection.execute
        execute("BEGIN IMMEDIATE")
        for migration in MIGRATIONS:
            for statement in migration.statements:
                execute(statement)
        execute("INSERT INTO projects (uid, name, created_at) VALUES (x'00', 'bench', 0)")
        execute("INSERT INTO runs (uid, seq, project_id, run_id, created_at) VALUES (x'00', 0, 1, 'bench', 0)")
        execute("COMMIT")
