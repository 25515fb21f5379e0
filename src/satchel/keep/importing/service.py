"""Taking over the store of another tool: everything of it that can be read, once, with its own times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from satchel.base.records import replace
from satchel.base.redaction import redact
from satchel.keep import projects
from satchel.keep.importing.records import ForeignStore, Imported, KindImported
from satchel.keep.importing.taking import Outcome, Ready, Taking, Verdict
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction

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
        dry_run: bool = False,
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
            dry_run: only say what would happen.
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
        from satchel.keep.importing.sqlew_taking import SqlewTaking

        now = self._workplace.clock()
        store = read_sqlew(file, source_project)
        taking = SqlewTaking(store, self._workplace, now, write=not dry_run)
        return self._take(file, store, taking, progress)

    def bazinga(
        self,
        path: Path,
        *,
        source_project: str | None = None,
        dry_run: bool = False,
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
            dry_run: only say what would happen.
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
        from satchel.keep.importing.bazinga_tables import find_database
        from satchel.keep.importing.bazinga_taking import BazingaTaking

        now = self._workplace.clock()
        file = find_database(path)
        store = read_bazinga(file, source_project)
        taking = BazingaTaking(store, self._workplace, now, write=not dry_run)
        return self._take(file, store, taking, progress)

    def _take(self, file: Path, store: ForeignStore, taking: Taking, progress: Progress | None) -> Imported:
        steps = taking.steps()
        outcomes: dict[str, Counter[Outcome]] = {kind: Counter() for kind in store.kinds}
        verdicts: list[Verdict] = []
        total = sum(len(step.items) for step in steps if step.kind is not None)
        for step in steps:
            for batch in _batches(step.items):
                with self._transaction(taking) as (transaction, project_id):
                    done = taking.take(transaction, project_id, step, batch)
                if step.kind is None:
                    continue
                outcomes[step.kind].update(verdict.outcome for verdict in done)
                verdicts += done
                if progress is not None:
                    progress(len(verdicts), total)
        return Imported(
            source=file,
            format=store.format,
            source_project=store.project,
            states=sum(verdict.states for verdict in verdicts),
            kinds=tuple(map(_counted, store.kinds, store.rows, outcomes.values())),
            conflicts=tuple(verdict.conflict for verdict in verdicts if verdict.conflict is not None),
            # what was refused for the secret in it is quoted here
            troubles=tuple(
                replace(one, row=redact(one.row).text, reason=redact(one.reason).text) for one in taking.troubles
            ),
            notes=(*store.notes, *taking.notes),
            not_taken=store.not_taken,
            done=taking.write,
        )

    @contextmanager
    def _transaction(self, taking: Taking) -> Iterator[tuple[Transaction, int | None]]:
        """Open a transaction, and find the project that it is about; before the first write there may be none."""
        work = self._workplace
        if taking.write:
            with work.engine.write() as transaction:
                yield transaction, projects.ensure(transaction, work, taking.now).id
        else:
            with work.engine.read() as transaction:
                found = projects.find(transaction, work)
                yield transaction, None if found is None else found.id


def _batches(items: Sequence[Ready[Any, Any]]) -> Iterable[list[Ready[Any, Any]]]:
    """Split items into batches, each of at most :data:`CHANGES_PER_TRANSACTION` changes, or of one item."""
    batch: list[Ready[Any, Any]] = []
    weight = 0
    for item in items:
        if batch and weight + item.weight > CHANGES_PER_TRANSACTION:
            yield batch
            batch, weight = [], 0
        batch.append(item)
        weight += item.weight
    if batch:
        yield batch


def _counted(kind: str, rows: int, outcomes: Counter[Outcome]) -> KindImported:
    return KindImported(
        kind=kind,
        rows=rows,
        added=outcomes[Outcome.ADDED],
        updated=outcomes[Outcome.UPDATED],
        present=outcomes[Outcome.PRESENT],
        conflicts=outcomes[Outcome.CONFLICT],
        left_out=rows - outcomes.total(),
    )
