"""Reading of whole items of any kind by short id."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from satchel.base.clock import DAY_MS
from satchel.base.errors import InvalidInput, NotFound, SatchelError
from satchel.base.paging import check_whole
from satchel.base.records import NamedTuple, dataclass, replace
from satchel.find.kind import KIND_NAMED, Kind
from satchel.keep import deliveries, kept, pins, projects
from satchel.keep.constraints import Constraint
from satchel.keep.corrections.log import ending_of, history_notes
from satchel.keep.decisions import proposals
from satchel.keep.decisions.records import STATUSES, Decision, DecisionHistory
from satchel.keep.decisions.service import Decisions
from satchel.keep.documents import states as documents
from satchel.keep.entries import kind as entries
from satchel.keep.entries.records import Entry
from satchel.keep.kinds import KINDS, read_ref
from satchel.keep.messages.records import Message
from satchel.keep.messages.service import Messages
from satchel.keep.messages.visibility import NOBODY, Reader, find_reader
from satchel.keep.moving.states import KeptState, kept_of
from satchel.keep.names import shown_name
from satchel.keep.packages.service import Packages
from satchel.keep.paths import FILE_REF, check_lines
from satchel.keep.patterns import updates as patterns
from satchel.keep.patterns.records import SOLUTION_LETTER, solution_number
from satchel.keep.projects import Service, Workplace
from satchel.keep.sessions.actors import UNKNOWN, reader_name, reading
from satchel.store.transaction import Transaction, set_of

if TYPE_CHECKING:
    from satchel.keep.binding import BoundItem
    from satchel.keep.files.records import FileChange, FilesChecked

MAX_ITEMS = 20  # maximum number of items opened by one call

_MAX_OFFSET = 2**53
_SOLUTION, _HISTORY, _FILE = "solution", "decision_history", "file"
_DECISION_REF = "decision:"
_MOST_STATES = 500
# An answer with more text may be cut, so its items do not count as shown; and how long marking waits for a writer.
_SHOWN_CHARS, _WAIT_MS = 8_000, 250
_MOST_BOUND, _MOST_NOTES, _MOST_CHANGES = 20, 10, 3


@dataclass(frozen=True, slots=True)
class Item:
    """An item.

    Attributes:
        kind: its kind as in search, solution, decision_history or file.
        record: its record; of a package its content, of a file a :class:`FileView`.
        notes: who replaced, retracted or confirmed it.
        kept_states: other states of it that lost in an import or sync.
    """

    ref: str
    kind: str
    record: object
    notes: tuple[str, ...] = ()
    kept_states: tuple[KeptState, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenedItems:
    """Requested items, in order.

    Attributes:
        reader: the agent whose messages are included; None is nobody.
        notes: unknown ids.
    """

    items: tuple[Item, ...]
    reader: str | None
    offset: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileView:
    """A file or folder with what the store knows about it.

    Attributes:
        bindings: the first rules and decisions that bind it, the most urgent first, of ``bound`` in all.
        entries: the newest live notes on it, of ``noted`` in all.
        changes: its newest recorded changes, which ``checked`` leaves out.
        drafts: ids and keys of the decisions that are proposed for it.
    """

    file: str
    checked: FilesChecked
    bindings: tuple[BoundItem, ...]
    entries: tuple[Entry, ...]
    bound: int
    noted: int
    changes: tuple[FileChange, ...]
    drafts: tuple[str, ...]

    @property
    def created_at(self) -> int:
        """Return when it was looked at, which the year of its times is taken from."""
        return self.checked.checked_at


class _Wanted(NamedTuple):
    ref: str
    kind: str
    number: int = 0
    is_guess: bool = False


def _open(transaction: Transaction, reader: Reader, wanted: _Wanted) -> object:
    if wanted.kind != _SOLUTION:
        return kept.open_item(KINDS[KIND_NAMED[wanted.kind]], transaction, reader, wanted.number)
    try:
        solution = patterns.load_solution(transaction, reader.project_id, wanted.number)
    except NotFound:
        return None
    # a solution expires with its error
    return patterns.load(transaction, reader.project_id, solution.pattern_id, reader.now) and solution


_PACKAGE = Kind.PACKAGE.name.lower()

_MARKED: dict[type[Any], Kind] = {Decision: Kind.DECISION, Constraint: Kind.CONSTRAINT, Entry: Kind.ENTRY}


class Items(Service):
    """Reading of the project's items."""

    def read(self, refs: Sequence[str], *, offset: int = 0, agent: str | None = None) -> OpenedItems:
        """Return whole items; messages to the reading agent are marked as read.

        Args:
            refs: 1 to 20 short ids of any kind, or ``decision:KEY`` or ``KEY`` for a decision with its history, or
                ``file:PATH`` for what is known of a file; each is returned once, in the order given.
            offset: number of characters of their text already read.
            agent: the reader; None takes the default, which may be nobody.

        Returns:
            The items; a note names invalid and unknown ids.

        Raises:
            InvalidInput: no ids are given, or too many.
            NotFound: none of the items exists.
        """
        work = self._workplace
        if not isinstance(refs, (list, tuple)) or not 1 <= len(refs) <= MAX_ITEMS:
            raise InvalidInput("ids is no list of ids", f'Give 1 to {MAX_ITEMS}, as in ["e14", "d1"]')
        check_whole("offset", offset, _MAX_OFFSET)
        reader = reader_name(work, agent)
        wanted = {ref: _read(ref) for ref in dict.fromkeys(str(ref).strip() for ref in refs)}
        items, reader = self._load([*dict.fromkeys(one for one in wanted.values() if one is not None)], reader)
        unknown = [repr(ref[:80]) for ref, one in wanted.items() if one not in items]
        note = f"the project has no {', '.join(unknown)}"
        if not items:
            raise NotFound(note, "Results of a search and lists show the ids, such as e14")
        if reader is not None and not work.engine.read_only:
            self._mark_read([item.ref for item in items.values() if _is_unread(item.record, reader)], reader)
        if work.caller is not None and not work.engine.read_only and not offset:
            self._mark_shown([one.record for one in items.values()], agent)
        return OpenedItems(tuple(items.values()), reader, offset, (note,) if unknown else ())

    def _mark_read(self, messages: Sequence[str], reader: str) -> None:
        # a failure here does not withhold the messages
        if messages:
            with suppress(SatchelError):
                Messages(self._workplace).mark_read(messages, agent=reader)

    def _mark_shown(self, records: Sequence[object], agent: str | None) -> None:
        # no notice or hook of the session repeats a rule, decision or note that was read here
        opened: list[Any] = [one.decision if isinstance(one, DecisionHistory) else one for one in records]
        shown = [one for one in opened if type(one) in _MARKED]
        if not shown or sum(len(f"{one}") for one in opened) > _SHOWN_CHARS:
            return
        work = self._workplace
        with suppress(SatchelError), work.engine.write(_WAIT_MS) as transaction:
            project = projects.find(transaction, work)
            actor = reading(transaction, work, project.id, agent)
            if actor.session is not None and actor.number not in {None, UNKNOWN}:
                window = deliveries.Window(project.id, actor.session, actor.window, actor.number, 0)
                items = [(_MARKED[type(one)].number, one.id, one.seq) for one in shown]
                # before its first briefing nothing counts as shown, so that what is new is not reckoned from here
                if deliveries.delivered(transaction, window):
                    deliveries.record(transaction, window, items, work.clock())

    def _load(self, wanted: Sequence[_Wanted], name: str | None) -> tuple[dict[_Wanted | None, Item], str | None]:
        work = self._workplace
        records: dict[_Wanted, object] = {}
        history: dict[_Wanted, tuple[str, ...]] = {}
        states: dict[_Wanted, tuple[KeptState, ...]] = {}
        with projects.reading(work) as (transaction, project):
            reader = Reader(project.id, NOBODY, work.clock())
            if name is not None:
                reader, name = find_reader(transaction, project.id, name, reader.now)
            numbered = [one for one in wanted if one.number and one.kind != _PACKAGE]
            records |= {one: _open(transaction, reader, one) for one in numbered}
            notes = {one: record for one, record in records.items() if isinstance(record, Entry)}
            records |= zip(notes, entries.completed(transaction, work.files_root, notes.values()), strict=True)
            for one in wanted:
                kind = KIND_NAMED.get(one.kind)
                if kind is not None and one.number:
                    corrected = kind.text is not None and records[one] is not None
                    ending = ending_of(records.get(one))
                    corrections_of = history_notes(transaction, kind, one.number, ending) if corrected else ()
                    place = (transaction, project.id, kind, one.number)
                    proposed = _proposal_notes(transaction, project.id, records.get(one))
                    history[one] = (*proposed, *corrections_of, *documents.notes_of(*place), *pins.notes_of(*place))
                    states[one] = kept_of(transaction, project.id, kind.table, one.number)
        # files are read outside the transaction, so that a slow disk delays nobody
        packages = [one for one in wanted if one.kind == _PACKAGE]
        for content in Packages(work).read_many([package.number for package in packages]) if packages else ():
            one = next(package for package in packages if package.ref == content.ref)
            records[one] = None if content.package is None else content
        for one in wanted:
            if one.kind == _FILE:
                records[one] = _file_view(work, one.ref, name)
            elif one.kind == _HISTORY:
                try:
                    records[one] = Decisions(work).get(one.ref.removeprefix(_DECISION_REF), limit=_MOST_STATES)
                except NotFound:
                    if len(wanted) == 1 and not one.is_guess:
                        raise
        existing = [one for one in wanted if records.get(one) is not None]
        return {
            one: Item(one.ref, one.kind, records[one], history.get(one, ()), states.get(one, ())) for one in existing
        }, name


def _proposal_notes(transaction: Transaction, project_id: int, record: object) -> tuple[str, ...]:
    # what a draft would change, so that a person can decide without a second look
    if not isinstance(record, Decision) or record.status != "draft":
        return ()
    persons = proposals.target(transaction, project_id, record.key, exact=True)
    if persons is None:
        return ()
    what = "the end" if proposals.ends(record.metadata) else "a change"
    why = f", because: {persons.rationale}" if persons.rationale else ""
    value = json.dumps(persons.value, ensure_ascii=False)
    decided = f"which {shown_name(persons.agent or '')} decided as {value}{why}"
    return (f"proposes {what} of {persons.ref} {persons.key}, {decided}",)


def _file_view(work: Workplace, ref: str, agent: str | None) -> FileView:
    # what is known of the file of a request such as ``file:src/a.py``; a line after the path is ignored
    from satchel.keep.binding import binding_of  # few ask for files
    from satchel.keep.entries.service import Entries
    from satchel.keep.files.checking import check
    from satchel.keep.files.places import check_place
    from satchel.keep.files.service import Files

    path = check_lines(ref.removeprefix(FILE_REF), work.files_root, "file")[0].removesuffix("**")
    checked = check(work, [check_place(work, path, "files[0]")], DAY_MS, agent)
    bindings = binding_of(work, path, _MOST_BOUND, 0).bindings
    page = Entries(work).read(file=path, limit=_MOST_NOTES)
    checked = replace(checked, files=tuple(replace(file, recent=()) for file in checked.files))
    changes = Files(work).changes(file=path, limit=_MOST_CHANGES).items
    return FileView(path, checked, bindings.items, page.items, bindings.total, page.total, changes, _drafts(work, path))


def _drafts(work: Workplace, path: str) -> tuple[str, ...]:
    from satchel.keep.binding import matching_paths  # few ask for files

    with projects.reading(work) as (transaction, project):
        numbers = matching_paths(transaction, project.id, path).get(Kind.DECISION, ())
        rows = transaction.all(
            f"SELECT id, key FROM decisions WHERE id IN {set_of(numbers)} AND status = :draft ORDER BY id",
            {"draft": STATUSES.index("draft") + 1},
        ) if numbers else []  # fmt: skip
    return tuple(f"{Kind.DECISION.ref(number)} {key}" for number, key in rows)


def _is_unread(record: object, reader: str) -> bool:
    if not isinstance(record, Message) or record.sender == reader or record.read_at is not None:
        return False
    return record.to in {None, reader}


def _read(ref: str) -> _Wanted | None:
    if ref.startswith(FILE_REF):
        return _Wanted(ref, _FILE)
    if ref.startswith(_DECISION_REF):
        return _Wanted(ref, _HISTORY)
    key, ref = ref, ref.lower()
    try:
        if ref.startswith(SOLUTION_LETTER):
            number = solution_number(ref)
            return _Wanted(f"{SOLUTION_LETTER}{number}", _SOLUTION, number)
        kind, number = read_ref(ref)
    except InvalidInput:
        return _Wanted(f"{_DECISION_REF}{key}", _HISTORY, is_guess=True) if key else None
    return _Wanted(kind.ref(number), kind.name.lower(), number)
