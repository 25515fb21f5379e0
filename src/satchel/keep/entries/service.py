"""Service for the entries of a project's runs: write, read and prune, and the state of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

from satchel.base.errors import InvalidInput
from satchel.base.paging import check_whole
from satchel.base.records import replace
from satchel.find.kind import Kind
from satchel.keep import projects, runs
from satchel.keep.corrections.log import replaced_note
from satchel.keep.entries.records import (
    DEFAULT_KEEP,
    ENTRY_TYPES,
    AfterWrite,
    Entry,
    EntryPage,
    FindDuplicates,
    NewEntry,
    Prepared,
    PruneResult,
    Writer,
)
from satchel.keep.names import check_agent
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import acting, is_by_person, persons_gate
from satchel.keep.texts import placed
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.keep.citations import Cited, Citing
    from satchel.keep.entries.kind import EntryFilters
    from satchel.keep.entries.repeats import Matches
    from satchel.keep.entries.structured import RunState

MAX_BATCH = 500


class Entries:
    """Notes of agents for each other, in eight types."""

    def __init__(
        self, workplace: Workplace, after_write: AfterWrite | None = None, find_duplicates: FindDuplicates | None = None
    ) -> None:
        self._workplace = workplace
        self._after_write = after_write
        self._find_duplicates = find_duplicates

    def write(
        self,
        type: str,  # noqa: A002 -- the field's own name
        content: str | Mapping[str, object],
        *,
        task_id: str | None = None,
        loop_id: str | None = None,
        file: str | None = None,
        line: int | None = None,
        supersedes: str | int | None = None,
        run_id: str | None = None,
        agent: str | None = None,
    ) -> Entry:
        entry = NewEntry(type, content, task_id, loop_id, file, line, supersedes)
        return self.write_many([entry], run_id=run_id, agent=agent)[0]

    def write_many(
        self, entries: Sequence[NewEntry], *, run_id: str | None = None, agent: str | None = None
    ) -> tuple[Entry, ...]:
        """Write several entries in one transaction, all or none."""
        from satchel.keep.entries import repeats, updates

        work = self._workplace
        if not 1 <= len(entries) <= MAX_BATCH:
            raise InvalidInput(f"{len(entries)} entries were given", f"Write 1 to {MAX_BATCH} at once")

        citing: Citing | None = None

        def cite(path: str, line: int | None, last: int | None) -> Cited | None:
            nonlocal citing
            if citing is None:
                from satchel.keep.citations import Citing  # imported here: many notes name no file

                citing = Citing(work.files_root)
            return citing.cite(path, line, last)

        prepared = []
        for place, new in enumerate(entries):
            with placed("entries", place, len(entries)):
                prepared.append(updates.prepare(new, work, cite))
        agent = check_agent(work, agent)
        run_id = None if run_id is None else runs.check_run_id(run_id)
        matches = _find_near_duplicates(work, prepared)
        with projects.writing(work) as (transaction, project, now):
            run = runs.choose_for_writing(transaction, work, project.id, run_id, now)
            task = next((one.task_id for one in reversed(prepared) if one.task_id is not None), None)
            actor = acting(transaction, work, project.id, agent, now, task_id=task)
            passes = persons_gate(transaction, work, project.id, agent, now)
            writer = Writer(project.id, run.id, actor.number, now, actor.session, passes)
            transaction.expect(context=len(prepared), documents=len(prepared))
            if matches.project_id != project.id:
                matches = repeats.NO_MATCHES  # another process replaced the project
            reached = repeats.ask_reached(transaction, project.id, matches)
            repeated = repeats.Sightings(transaction, writer, prepared)
            duplicates = {} if self._find_duplicates is None else self._find_duplicates(transaction, writer, prepared)
            delivered = {
                place: _load(transaction, project.id, one.entry, (one.note,))
                for place, one in duplicates.items()
                if one.entry is not None
            }
            repeated.read(delivered.keys())
            for place, existing in repeated.known.items():
                delivered[place] = _count_repeat(transaction, writer, existing, prepared[place])
            places = [place for place in range(len(prepared)) if place not in delivered and place not in repeated.first]
            fresh = [prepared[place] for place in places]
            written = updates.insert(transaction, writer, fresh, [repeated.keys[place] for place in places])
            follow = self._after_write or (lambda *_: ())
            followed = {
                number: follow(transaction, writer, number, entry)
                for (number, *_), entry in zip(written, fresh, strict=True)
            }
            repeats.record_bands(transaction, project.id, matches, reached)
            numbers = {place: number for place, (number, *_) in zip(places, written, strict=True)}
            for place, first in repeated.first.items():
                delivered[place] = _count_repeat(transaction, writer, numbers[first], prepared[place])
            self._keep_to_limit(transaction, project.id, run.id, fresh)
        alike = matches.notes(run.id)
        for place, (number, uid, seq, replaced) in zip(places, written, strict=True):
            entry = prepared[place]
            near = (duplicates[place].note,) if place in duplicates else alike
            if place in repeated.ended:
                ref = Kind.ENTRY.ref(repeated.ended[place])
                near = (f"{ref} said the same but is no longer valid, so this was saved as a new note", *near)
            notes = (*entry.notes, *replaced_note(Kind.ENTRY, replaced), *run.notes, *near, *followed[number])
            delivered[place] = Entry(
                *(number, uid.hex(), seq, run.run_id, ENTRY_TYPES[entry.type - 1], entry.content, entry.task_id),
                *(entry.loop_id, entry.file, entry.line, entry.last_line, actor.name, None, now),
                notes=notes,
            )
        return tuple(delivered[place] for place in range(len(prepared)))

    def read(self, **filters: Unpack[EntryFilters]) -> EntryPage:
        """List entries of the project or of one run, newest first."""
        # imported here: writers do not need lists
        from satchel.keep import lists
        from satchel.keep.entries.kind import LISTING

        return lists.find(self._workplace, LISTING, EntryPage, filters)

    def prune(self, *, keep: int | None = None, run_id: str | None = None, dry_run: bool = False) -> PruneResult:
        """Delete all but the newest ``keep`` entries of each type and loop of a run; see ``context.max_per_loop``.

        The live analysis and the current review are never deleted, and what persons wrote only by a person.
        """
        from satchel.keep.entries import updates

        keep = self._workplace.max_per_loop or DEFAULT_KEEP if keep is None else keep
        check_whole("keep", keep, 1_000_000, smallest=1)
        engine = self._workplace.engine
        with engine.read() if dry_run else engine.write() as transaction:
            project = projects.find(transaction, self._workplace)
            run = runs.choose_one(transaction, self._workplace, project.id, run_id)
            is_person = is_by_person(self._workplace, self._workplace.agent)
            doomed = updates.prunable(transaction, project.id, run.id, keep, spares_persons=not is_person)
            if doomed and not dry_run:
                updates.delete(transaction, project.id, [number for number, _ in doomed])
        counts = dict.fromkeys(ENTRY_TYPES, 0)
        for _, number in doomed:
            counts[ENTRY_TYPES[number - 1]] += 1
        removed = tuple((name, count) for name, count in counts.items() if count)
        return PruneResult(run.run_id, removed, done=not dry_run)

    def load_state(self, run_id: str | None = None) -> RunState:
        """Load what an orchestrator needs to continue: the newest 500 entries of each type, oldest first."""
        from satchel.keep.entries.kind import load_state

        with projects.reading(self._workplace) as (transaction, project):
            run = runs.choose(transaction, self._workplace, project.id, run_id)
            return load_state(transaction, project.id, run)

    def _keep_to_limit(self, transaction: Transaction, project_id: int, run: int, written: Sequence[Prepared]) -> None:
        from satchel.keep.entries import updates

        limit = self._workplace.max_per_loop
        if limit is None:
            return
        for group in {(entry.type, entry.loop_id) for entry in written}:
            doomed = updates.prunable(transaction, project_id, run, limit, group)
            updates.delete(transaction, project_id, [number for number, _ in doomed])


def _find_near_duplicates(work: Workplace, prepared: Sequence[Prepared]) -> Matches:
    # outside the write lock; batches are not compared
    from satchel.keep.entries import repeats

    if len(prepared) > 1:
        return repeats.NO_MATCHES
    with work.engine.look() as transaction:
        return repeats.find_matches(transaction, projects.known_id(transaction, work), prepared[0])


def _count_repeat(transaction: Transaction, writer: Writer, number: int, entry: Prepared) -> Entry:
    from satchel.keep.entries import repeats
    from satchel.keep.entries.kind import completed

    counted = repeats.count_sighting(transaction, writer, number, entry)
    (stored,) = completed(transaction, None, [_load(transaction, writer.project_id, number, ())])
    suffix = f": {stored.seen_text}" if counted else ", and was delivered to you: nothing was written"
    return replace(stored, notes=(*entry.notes, f"{stored.ref} already says this{suffix}"))


def _load(transaction: Transaction, project_id: int, number: int, notes: tuple[str, ...]) -> Entry:
    from satchel.keep import kept  # imported here: few writes repeat a note
    from satchel.keep.entries.kind import ENTRY

    entry = kept.load(ENTRY, transaction, project_id, number, notes)
    assert entry is not None
    return entry
