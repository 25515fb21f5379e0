"""Taking over the store of another tool: everything of it that can be read, once, with its own times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from satchel.keep import projects
from satchel.keep.importing.keeping import Keeping, Outcome, Verdict
from satchel.keep.importing.preparing import Preparation, ReadyItem, batches
from satchel.keep.importing.records import (
    ITEM_KINDS,
    ForeignStore,
    ImportConflict,
    Imported,
    KindImported,
)
from satchel.keep.importing.sqlew import read_sqlew
from satchel.keep.projects import Workplace

CHANGES_PER_TRANSACTION = 300
"""How much is written in one transaction: an import keeps nobody waiting, and what it did stays done if it stops."""

Progress = Callable[[int, int], None]
"""Called with the items done and the items in all."""


class Importing:
    """Imports from other tools."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    def sqlew(
        self,
        file: Path,
        *,
        source_project: str | None = None,
        preview: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """Take over a sqlew database of any version: decisions with history, constraints, messages, file changes.

        Everything keeps its own time and gets an identity that follows from it, so that importing again adds only what
        is missing here. What is newer there replaces what an earlier import brought and nobody changed here since;
        whatever else differs is left alone and reported. Nothing is too old: retention counts from the import, and what
        has gone by a later one comes back with it. The file is only read.

        Args:
            file: the database file.
            source_project: the project to take, where the file holds several.
            preview: only say what would happen.
            progress: told about the items done.

        Returns:
            What was taken, what was not, and why.

        Raises:
            NotFound, StoreForeign, StoreDamaged, Refused, Busy: the file cannot be read, or is no sqlew database;
                nothing was written.
            Conflict: it holds several projects, and none was named.
            InvalidInput: it holds no such project.
        """
        work = self._workplace
        now = work.clock()
        store = read_sqlew(file, source_project)
        ready = Preparation(store, work)
        tally = _Tally(write=not preview, progress=progress, total=ready.total)
        self._take(ready.decisions, Keeping.decisions, 0, now, tally)
        self._take(ready.constraints, Keeping.constraints, 1, now, tally)
        self._take(ready.messages, Keeping.messages, 2, now, tally)
        self._take(ready.file_changes, Keeping.file_changes, 3, now, tally)
        return _report(file, store, ready, tally)

    def _take(
        self,
        items: list[ReadyItem],
        keep: Callable[[Keeping, list[ReadyItem]], list[Verdict]],
        kind: int,
        now: int,
        tally: _Tally,
    ) -> None:
        for batch in batches(items, CHANGES_PER_TRANSACTION):
            with self._keeping(now, tally) as keeping:
                verdicts = keep(keeping, batch)
            tally.add(kind, verdicts)

    @contextmanager
    def _keeping(self, now: int, tally: _Tally) -> Iterator[Keeping]:
        work = self._workplace
        if tally.write:
            with work.engine.write() as transaction:
                project = projects.ensure(transaction, work, now)
                yield Keeping(transaction, work, project.id, now, tally.new_layers, write=True)
        else:
            with work.engine.read() as transaction:
                found = projects.find(transaction, work)
                number = None if found is None else found.id
                yield Keeping(transaction, work, number, now, tally.new_layers, write=False)


class _Tally:
    """What has become of the items so far."""

    def __init__(self, *, write: bool, progress: Progress | None, total: int) -> None:
        self.write = write
        self.outcomes: list[Counter[Outcome]] = [Counter() for _ in ITEM_KINDS]
        self.conflicts: list[ImportConflict] = []
        self.new_layers: dict[str, str] = {}
        self.states = 0
        self._progress = progress
        self._total = total

    def add(self, kind: int, verdicts: list[Verdict]) -> None:
        self.outcomes[kind].update(verdict.outcome for verdict in verdicts)
        self.conflicts.extend(verdict.conflict for verdict in verdicts if verdict.conflict is not None)
        self.states += sum(verdict.states for verdict in verdicts)
        if self._progress is not None:
            self._progress(sum(counter.total() for counter in self.outcomes), self._total)


def _report(file: Path, store: ForeignStore, ready: Preparation, tally: _Tally) -> Imported:
    kinds: list[KindImported] = []
    for place, (name, rows) in enumerate(zip(ITEM_KINDS, store.rows, strict=True)):
        outcomes = tally.outcomes[place]
        kinds.append(
            KindImported(
                kind=name,
                rows=rows,
                added=outcomes[Outcome.ADDED],
                updated=outcomes[Outcome.UPDATED],
                present=outcomes[Outcome.PRESENT],
                conflicts=outcomes[Outcome.CONFLICT],
                left_out=rows - outcomes.total(),
            )
        )
    notes = store.notes
    if tally.new_layers:
        notes += (f"layers that this project did not have: {', '.join(tally.new_layers.values())}",)
    return Imported(
        source=file,
        format=store.format,
        source_project=store.project,
        states=tally.states,
        kinds=tuple(kinds),
        conflicts=tuple(tally.conflicts),
        troubles=tuple(ready.troubles),
        notes=notes,
        not_taken=store.not_taken,
        done=tally.write,
    )
