"""Service for exporting a project as lines, and importing lines and the stores of other tools into any store."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from satchel.base.clock import iso
from satchel.base.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    StoreDamaged,
    unknown_name,
)
from satchel.base.records import replace
from satchel.keep import projects
from satchel.keep.kind import Line, called
from satchel.keep.messages import updates as messages
from satchel.keep.moving import lines as moving
from satchel.keep.moving import marks
from satchel.keep.moving.files import END, read_lines
from satchel.keep.moving.kinds import LINE_KINDS
from satchel.keep.moving.records import (
    Arriving,
    Exported,
    ImportConflict,
    Imported,
    ImportedAsWritten,
    KindImported,
    KindLines,
    Trouble,
)
from satchel.keep.moving.taking import PER_TRANSACTION, Outcome, Taking
from satchel.keep.projects import NOTHING_YET, Service, Workplace
from satchel.keep.sessions import standing
from satchel.keep.sessions.actors import record_action, record_passage, require_person
from satchel.redaction import redact
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.keep.moving.reading import OnProposed

Progress = Callable[[int, int], None]  # called with the lines done and the total

# substrings of kinds and tables whose troubles are listed first, in this order
_IMPORTANT = ("decision", "constraint", "error", "entry", "orchestration", "strateg", "package", "message")

_ONLY_AS_WRITTEN = frozenset(name for name, kind in LINE_KINDS.items() if kind.only_as_written)
_AS_WRITTEN = tuple(name for name in LINE_KINDS if name != marks.DELIVERY)

_MAX_SEQ = 2**53
_MAX_TROUBLES = 10_000
_MAX_CONFLICTS_SAID = 5


READERS = {
    "sqlew": "sqlew:read_sqlew",
    "bazinga": "bazinga:read_bazinga",
    "server-memory": "memories:read_server_memory",
    "claude": "memories:read_claude_memory",
    "claude-mem": "memories:read_claude_mem",
    "basic-memory": "memories:read_basic_memory",
}  # of other tools: module and function in keep.importing
_WITH_PROJECTS = ("sqlew", "bazinga", "claude-mem")


class Moving(Service):
    """Export and import of a project; ``on_proposed`` is that of :class:`satchel.keep.moving.reading.Reading`."""

    def __init__(self, workplace: Workplace, on_proposed: OnProposed) -> None:
        super().__init__(workplace)
        self._on_proposed = on_proposed

    def export(
        self, target: BinaryIO, *, kinds: Sequence[str] | None = None, progress: Progress | None = None
    ) -> Exported:
        """Write all items of the project as JSON lines.

        Everything is read in one snapshot. Expired items and machine-specific data are left out: claims, client
        windows, processes and folders. ``kinds`` are of :data:`satchel.keep.moving.kinds.LINE_KINDS`; None is all.

        Raises:
            InvalidInput: a kind is unknown.
            NotFound: the project has no items yet.
        """
        selected = tuple(LINE_KINDS) if kinds is None else tuple(kinds)
        for kind in selected:
            if kind not in LINE_KINDS:
                raise unknown_name("kind of lines", kind, LINE_KINDS)
        work = self._workplace
        now = work.clock()
        damaged: list[str] = []
        tally = moving.Tally()
        done = 0
        encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        with work.engine.without_deadline(), work.engine.read() as transaction:
            project = projects.find(transaction, work)
            if not project.id:
                raise NotFound(NOTHING_YET, "Write something first, or name the project with --project")
            [row] = transaction.all("SELECT uid FROM projects WHERE id = :id", {"id": project.id})
            total = moving.count(transaction, project.id, now, selected)
            header = {
                "kind": moving.HEADER,
                "schema": moving.SCHEMA,
                "project": {"name": project.name, "uid": row[0].hex()},
                "exported_at": iso(now),
                "lines": total,
                "seq": project.seq,
                "kinds": selected,
            }
            target.write(encode(header).encode() + b"\n")
            every = moving.all_lines(transaction, project.id, now, selected, damaged=damaged)
            while batch := list(islice(every, PER_TRANSACTION)):
                for line in batch:
                    tally.add(line)
                done += len(batch)
                text = "\n".join(map(encode, batch))
                target.write(text.encode("utf-8", "backslashreplace") + b"\n")
                if progress is not None:
                    progress(done, max(total, done))
            counted = tally.result()
            digests = {one.kind: [one.lines, one.digest] for one in counted}
            target.write(encode({"kind": END, "lines": done, "kinds": digests}).encode() + b"\n")
        return Exported(project.name, done, counted, tuple(damaged))

    def import_file(
        self, file: Path, *, stream: BinaryIO | None = None, dry_run: bool = False, progress: Progress | None = None
    ) -> Imported:
        """Import an export file of any project or store.

        Importing it again updates the same items, matched by uid. Authors that are persons are claims, as in
        "ann (imported)"; an agent's import changes nothing that persons wrote here.

        ``stream`` is read in place of the file, which then only names it; ``dry_run`` only reports what would happen.

        Raises:
            NotFound, StoreForeign, StoreNewer: the file is missing, not an export, or written by a newer version;
                nothing was changed.
        """
        return self.take(read_lines(file, stream), dry_run=dry_run, progress=progress)

    def import_from(
        self,
        tool: str,
        path: Path,
        *,
        source_project: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """Import everything readable from another tool's store, with its own times; the source is only read.

        Imported items get a stable identity, so importing again adds and updates items; where an item also changed
        here, the later state wins and the other one is kept. Retention starts at the import.

        Raises:
            NotFound, StoreForeign, StoreDamaged, Refused, Busy: the store cannot be read or belongs to another
                tool; nothing was written.
            Conflict: it holds several projects and no ``source_project`` was named.
            InvalidInput: the project or tool is unknown.
        """
        if tool not in READERS:
            raise unknown_name("tool", tool, READERS)
        if source_project is not None and tool not in _WITH_PROJECTS:
            raise InvalidInput(f"{tool} has no projects", "Leave the source project out")
        module, function = READERS[tool].split(":")
        read = vars(import_module(f"satchel.keep.importing.{module}"))[function]
        arriving = read(path, source_project) if tool in _WITH_PROJECTS else read(path)
        return self.take(arriving, dry_run=dry_run, progress=progress)

    def import_as_written(
        self, file: Path, *, stream: BinaryIO | None = None, progress: Progress | None = None
    ) -> ImportedAsWritten:
        """Import an export of a whole project into an empty one, in one transaction.

        Unlike :meth:`import_file` this takes what the lines say of persons as true: pins, what they have seen, and
        which shared texts they have accepted. Afterwards the lines of both sides are compared.

        Raises:
            Conflict: the project is not empty.
            Refused: the caller is not a person.
            InvalidInput: the export holds some kinds only.
            NotFound, StoreForeign, StoreNewer, StoreDamaged: the file is missing, not an export, written by a newer
                version, or cut; nothing was changed.
        """
        require_person(self._workplace, "import as written", "Leave out --as-written")
        arriving = read_lines(file, stream)
        last_seq, kinds = arriving.header.get("seq"), arriving.header.get("kinds")
        if not isinstance(last_seq, int) or not isinstance(kinds, list) or not all(one in kinds for one in _AS_WRITTEN):
            raise InvalidInput(
                f"{file} is no export of a whole project", "Write it with `satchel export`, without --kinds"
            )
        taking = Taking(
            self._workplace,
            source=arriving.name,
            written_at=arriving.written_at,
            last_seq=min(max(last_seq, 0), _MAX_SEQ),
        )
        return _Import(taking, arriving).run_as_written(progress)

    def take(self, arriving: Arriving, *, dry_run: bool = False, progress: Progress | None = None) -> Imported:
        """Import lines from any reader.

        If an item was changed on both sides since they were last in step, the later state wins, the other one is kept,
        and all agents get a message.
        """
        is_by_agent = not standing.standing_of(self._workplace.caller).may_pass
        copy = self._workplace.engine.upkeep.temporary_copy(self._workplace.clock) if dry_run else nullcontext(None)
        with copy as engine:
            taking = Taking(
                self._workplace if engine is None else replace(self._workplace, engine=engine, caller=None),
                source=arriving.name,
                written_at=arriving.written_at,
                is_by_agent=is_by_agent,
                on_proposed=None if dry_run else self._on_proposed,
            )
            imported = replace(_Import(taking, arriving).run(progress), done=not dry_run)
        if not (is_by_agent or dry_run):
            with projects.writing(self._workplace) as (transaction, project, now):
                record_passage(transaction, self._workplace, project.id, f"imported {arriving.name}", now)
        return imported


class _Import:
    def __init__(self, taking: Taking, arriving: Arriving) -> None:
        self._workplace = taking.workplace
        self._taking = taking
        self._arriving = arriving
        self._outcomes: dict[str, Counter[Outcome]] = {}
        self._conflicts: list[ImportConflict] = []
        self._troubles: list[Trouble] = []
        self._more = 0

    def run(self, progress: Progress | None) -> Imported:
        work, arriving, now = self._workplace, self._arriving, self._taking.now
        for batch in self._batches(_ONLY_AS_WRITTEN, progress):
            with work.engine.write() as transaction:
                self._take(transaction, projects.ensure(transaction, work, now).id, batch)
        if self._conflicts:
            self._tell(now)
        for trouble in arriving.troubles:
            self._trouble(trouble)
        return self._result()

    def run_as_written(self, progress: Progress | None) -> ImportedAsWritten:
        work, arriving, now = self._workplace, self._arriving, self._taking.now
        with work.engine.without_deadline(), work.engine.write() as transaction:
            project = projects.ensure(transaction, work, now)
            if moving.count(transaction, project.id, 0):
                raise Conflict(
                    f"the project {project.name} of {work.engine.location} is not empty",
                    "Nothing was imported; name an empty store with --db, or leave out --as-written to merge",
                )
            transaction.next_seq(project.id, self._taking.last_seq or 0)
            for batch in self._batches({marks.DELIVERY}, progress):
                self._take(transaction, project.id, batch)
            exported = _digests(arriving.end)
            if exported is None:
                raise StoreDamaged(
                    f"{arriving.source} is cut: its last line is missing", "Nothing was imported; export it again"
                )
            tally = moving.Tally()
            for line in moving.all_lines(transaction, project.id, now, _AS_WRITTEN, damaged=[]):
                tally.add(line)
            record_action(transaction, work, project.id, "imported an export as written", now)
        for trouble in arriving.troubles:
            self._trouble(trouble)
        here = tally.result()
        return ImportedAsWritten(
            arriving.source,
            arriving.project,
            here,
            exported,
            tuple(dict.fromkeys(one.kind for one in (*exported, *here) if one not in here or one not in exported)),
            tuple(self._troubles),
            self._more,
        )

    def _batches(self, left_out: Collection[str], progress: Progress | None) -> Iterator[list[tuple[str, str, Line]]]:
        lines = (line for line in self._arriving.lines if line[2].get("kind") not in left_out)
        done = 0
        while batch := list(islice(lines, PER_TRANSACTION)):
            yield batch
            done += len(batch)
            if progress is not None:
                progress(done, max(done, self._arriving.total))

    def _take(self, transaction: Transaction, project_id: int, batch: Sequence[tuple[str, str, Line]]) -> None:
        verdicts = self._taking.take(transaction, project_id, [line for _, _, line in batch])
        for (table, row, line), verdict in zip(batch, verdicts, strict=True):
            self._outcomes.setdefault(verdict.kind, Counter())[verdict.outcome] += 1
            if verdict.outcome is Outcome.CONFLICT:
                if len(self._conflicts) < _MAX_TROUBLES:
                    self._conflicts.append(ImportConflict(verdict.ref or verdict.uid, called(line), verdict.note or ""))
            elif verdict.note is not None:
                self._trouble(Trouble(table, row, verdict.note, left_out=verdict.outcome is Outcome.LEFT_OUT))

    def _trouble(self, trouble: Trouble) -> None:
        if len(self._troubles) >= _MAX_TROUBLES:
            self._more += 1
            return
        # a refused secret may be quoted here
        row, reason = redact(trouble.row).text, redact(trouble.reason).text
        self._troubles.append(replace(trouble, row=row, reason=reason))

    def _tell(self, now: int) -> None:
        work = self._workplace
        conflicts = [f"{one.ref} {one.item}: {one.reason}" for one in self._conflicts[:_MAX_CONFLICTS_SAID]]
        more = len(self._conflicts) - len(conflicts)
        text = redact(
            f"An import from {self._arriving.format} found items changed on both sides; both states are kept. "
            + "; ".join(conflicts)
            + (f"; and {more} more" if more > 0 else "")
        ).text
        with work.engine.write() as transaction:
            project_id = projects.ensure(transaction, work, now).id
            messages.post(transaction, project_id, text, now, work.retention, sender=None, to=None)

    def _result(self) -> Imported:
        arriving, taking = self._arriving, self._taking
        notes = list(arriving.notes)
        if taking.new_layers:
            notes.append(f"new layers: {', '.join(taking.new_layers.values())}")
        if taking.new_runs:
            notes.append(f"runs known only by name, created as ended: {', '.join(taking.new_runs)}")
        return Imported(
            source=arriving.source,
            format=arriving.format,
            source_project=arriving.project,
            kinds=tuple(_counted(kind, outcomes) for kind, outcomes in sorted(self._outcomes.items(), key=_by_kind)),
            conflicts=tuple(self._conflicts),
            troubles=tuple(sorted(self._troubles, key=_by_importance)),
            more_troubles=self._more,
            notes=tuple(notes),
            not_taken=tuple(arriving.not_taken),
            done=True,
        )


def _digests(end: Line | None) -> tuple[KindLines, ...] | None:
    kinds = None if end is None else end.get("kinds")
    if not isinstance(kinds, dict):
        return None
    values = ((kind, value) for kind, value in kinds.items() if isinstance(value, list) and len(value) == 2)
    return tuple(KindLines(kind, *value) for kind, value in values if kind in _AS_WRITTEN)


def _by_kind(item: tuple[str, object]) -> int:
    kinds = list(LINE_KINDS)
    return kinds.index(item[0]) if item[0] in LINE_KINDS else len(kinds)


def _by_importance(trouble: Trouble) -> tuple[bool, int]:
    places = (place for place, word in enumerate(_IMPORTANT) if word in trouble.table)
    return not trouble.left_out, next(places, len(_IMPORTANT))


def _counted(kind: str, outcomes: Counter[Outcome]) -> KindImported:
    return KindImported(
        kind=kind,
        rows=outcomes.total(),
        added=outcomes[Outcome.ADDED],
        updated=outcomes[Outcome.UPDATED],
        present=outcomes[Outcome.PRESENT],
        conflicts=outcomes[Outcome.CONFLICT],
        left_out=outcomes[Outcome.LEFT_OUT],
    )
