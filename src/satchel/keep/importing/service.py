"""Taking over the store of another tool: everything of it that can be read, once, with its own times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeVar

from satchel.base.redaction import redact
from satchel.keep import projects
from satchel.keep.importing.records import ForeignStore, ImportConflict, Imported, KindImported, Trouble
from satchel.keep.importing.verdicts import Outcome, Verdict
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction

CHANGES_PER_TRANSACTION = 300
"""How much is written in one transaction: an import keeps nobody waiting, and what it did stays done if it stops."""

Progress = Callable[[int, int], None]
"""Called with the items done and the items in all."""


class _Weighed(Protocol):
    @property
    def weight(self) -> int:
        """How many changes of the store an item takes."""


Item = TypeVar("Item", bound=_Weighed)


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
        from satchel.keep.importing.sqlew import read_sqlew
        from satchel.keep.importing.sqlew_keeping import SqlewKeeping
        from satchel.keep.importing.sqlew_preparing import SqlewPreparation

        work = self._workplace
        now = work.clock()
        store = read_sqlew(file, source_project)
        ready = SqlewPreparation(store, work)
        tally = _Tally(store.kinds, write=not preview, progress=progress, total=ready.total)
        new_layers: dict[str, str] = {}

        def keeping(transaction: Transaction, project_id: int | None) -> SqlewKeeping:
            return SqlewKeeping(transaction, work, project_id, now, new_layers, write=not preview)

        self._take("decisions", ready.decisions, lambda *at: keeping(*at).decisions, now, tally)
        self._take("constraints", ready.constraints, lambda *at: keeping(*at).constraints, now, tally)
        self._take("messages", ready.messages, lambda *at: keeping(*at).messages, now, tally)
        self._take("file_changes", ready.file_changes, lambda *at: keeping(*at).file_changes, now, tally)
        notes = store.notes
        if new_layers:
            notes += (f"layers that this project did not have: {', '.join(new_layers.values())}",)
        return _report(file, store, ready.troubles, notes, tally)

    def bazinga(
        self,
        path: Path,
        *,
        source_project: str | None = None,
        preview: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """Take over a bazinga database: sessions as runs, packages, error patterns with what solved them, strategies,
        and which packages were delivered to whom.

        Importing again adds only what is missing here. What was seen later there replaces what an earlier import
        brought and nobody has tried here since; whatever else differs is left alone and reported. The life of an error
        counts from the import. No run becomes active. The database is only read.

        Args:
            path: the database file, or a folder that holds ``bazinga/bazinga.db`` or ``bazinga.db``.
            source_project: the ``project_id`` there to take, where the error patterns and strategies have several.
            preview: only say what would happen.
            progress: told about the items done.

        Returns:
            What was taken, what was not, and why.

        Raises:
            NotFound, StoreForeign, StoreDamaged, Refused, Busy: there is no database, it cannot be read, or is none of
                bazinga; nothing was written.
            Conflict: it holds several projects, and none was named.
            InvalidInput: it holds no such project.
        """
        from satchel.keep.importing.bazinga import read_bazinga
        from satchel.keep.importing.bazinga_keeping import BazingaKeeping, Links
        from satchel.keep.importing.bazinga_preparing import BazingaPreparation
        from satchel.keep.importing.bazinga_tables import find_database

        work = self._workplace
        now = work.clock()
        file = find_database(path)
        store = read_bazinga(file, source_project)
        ready = BazingaPreparation(store, work)
        tally = _Tally(store.kinds, write=not preview, progress=progress, total=ready.total)
        links = Links()

        def keeping(transaction: Transaction, project_id: int | None) -> BazingaKeeping:
            return BazingaKeeping(transaction, project_id, now, links, write=not preview)

        self._take("runs", ready.runs, lambda *at: keeping(*at).runs, now, tally)
        self._take("packages", ready.packages, lambda *at: keeping(*at).packages, now, tally)
        for batch in _batches(ready.superseding):
            with self._transaction(now, write=not preview) as at:
                keeping(*at).supersede(batch)
        self._take("error_patterns", ready.patterns, lambda *at: keeping(*at).patterns, now, tally)
        self._take("strategies", ready.strategies, lambda *at: keeping(*at).strategies, now, tally)
        self._take("deliveries", ready.deliveries, lambda *at: keeping(*at).deliveries, now, tally)
        return _report(file, store, ready.troubles, (*store.notes, *ready.notes), tally)

    def _take(
        self,
        kind: str,
        items: Sequence[Item],
        keeper: Callable[[Transaction, int | None], Callable[[Sequence[Item]], list[Verdict]]],
        now: int,
        tally: _Tally,
    ) -> None:
        for batch in _batches(items):
            with self._transaction(now, write=tally.write) as at:
                verdicts = keeper(*at)(batch)
            tally.add(kind, verdicts)

    @contextmanager
    def _transaction(self, now: int, *, write: bool) -> Iterator[tuple[Transaction, int | None]]:
        """Open a transaction, and find the project that it is about; before the first write there may be none."""
        work = self._workplace
        if write:
            with work.engine.write() as transaction:
                yield transaction, projects.ensure(transaction, work, now).id
        else:
            with work.engine.read() as transaction:
                found = projects.find(transaction, work)
                yield transaction, None if found is None else found.id


class _Tally:
    """What has become of the items so far."""

    def __init__(self, kinds: Sequence[str], *, write: bool, progress: Progress | None, total: int) -> None:
        self.write = write
        self.outcomes: dict[str, Counter[Outcome]] = {kind: Counter() for kind in kinds}
        self.conflicts: list[ImportConflict] = []
        self.states = 0
        self._progress = progress
        self._total = total

    def add(self, kind: str, verdicts: list[Verdict]) -> None:
        self.outcomes[kind].update(verdict.outcome for verdict in verdicts)
        self.conflicts.extend(verdict.conflict for verdict in verdicts if verdict.conflict is not None)
        self.states += sum(verdict.states for verdict in verdicts)
        if self._progress is not None:
            self._progress(sum(counter.total() for counter in self.outcomes.values()), self._total)


def _batches(items: Sequence[Item]) -> Iterable[list[Item]]:
    """Split items into batches, each of at most :data:`CHANGES_PER_TRANSACTION` changes, or of one item."""
    batch: list[Item] = []
    weight = 0
    for item in items:
        if batch and weight + item.weight > CHANGES_PER_TRANSACTION:
            yield batch
            batch, weight = [], 0
        batch.append(item)
        weight += item.weight
    if batch:
        yield batch


def _report(
    file: Path, store: ForeignStore, troubles: Sequence[Trouble], notes: Sequence[str], tally: _Tally
) -> Imported:
    kinds: list[KindImported] = []
    for name, rows in zip(store.kinds, store.rows, strict=True):
        outcomes = tally.outcomes[name]
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
    return Imported(
        source=file,
        format=store.format,
        source_project=store.project,
        states=tally.states,
        kinds=tuple(kinds),
        conflicts=tuple(tally.conflicts),
        # what was refused for the secret in it is quoted here
        troubles=tuple(replace(one, row=redact(one.row).text, reason=redact(one.reason).text) for one in troubles),
        notes=tuple(notes),
        not_taken=store.not_taken,
        done=tally.write,
    )
