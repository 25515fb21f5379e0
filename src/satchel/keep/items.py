"""Reading of whole items of any kind by short id."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from satchel.base.errors import InvalidInput, NotFound, SatchelError
from satchel.base.paging import check_whole
from satchel.base.records import NamedTuple, dataclass
from satchel.find.kind import KIND_NAMED, Kind
from satchel.keep import kept, pins, projects
from satchel.keep.corrections.log import history_notes
from satchel.keep.decisions.service import Decisions
from satchel.keep.documents import states as documents
from satchel.keep.entries import queries as entries
from satchel.keep.entries.records import Entry
from satchel.keep.kinds import KINDS, read_ref
from satchel.keep.messages.records import Message
from satchel.keep.messages.service import Messages
from satchel.keep.messages.visibility import NOBODY, Reader, find_reader
from satchel.keep.moving.states import KeptState, kept_of
from satchel.keep.packages.service import Packages
from satchel.keep.paths import FILE_REF
from satchel.keep.patterns import updates as patterns
from satchel.keep.patterns.records import SOLUTION_LETTER, solution_number
from satchel.keep.projects import Service
from satchel.keep.sessions.actors import reader_name
from satchel.store.transaction import Transaction

MAX_ITEMS = 20  # maximum number of items opened by one call

_MAX_OFFSET = 2**53
_SOLUTION, _HISTORY, _FILE = "solution", "decision_history", "file"
_DECISION_REF = "decision:"
_MOST_STATES = 500


@dataclass(frozen=True, slots=True)
class Item:
    """An item.

    Attributes:
        kind: its kind as in search, solution, decision_history or file.
        record: its record; of a package its content, of a file a :class:`satchel.keep.file_views.FileView`.
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
        return OpenedItems(tuple(items.values()), reader, offset, (note,) if unknown else ())

    def _mark_read(self, messages: Sequence[str], reader: str) -> None:
        # a failure here does not withhold the messages
        if messages:
            with suppress(SatchelError):
                Messages(self._workplace).mark_read(messages, agent=reader)

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
                    corrections_of = history_notes(transaction, kind, one.number) if corrected else ()
                    place = (transaction, project.id, kind, one.number)
                    history[one] = (*corrections_of, *documents.notes_of(*place), *pins.notes_of(*place))
                    states[one] = kept_of(transaction, project.id, kind.table, one.number)
        # files are read outside the transaction, so that a slow disk delays nobody
        packages = [one for one in wanted if one.kind == _PACKAGE]
        for content in Packages(work).read_many([package.number for package in packages]) if packages else ():
            one = next(package for package in packages if package.ref == content.ref)
            records[one] = None if content.package is None else content
        for one in wanted:
            if one.kind == _FILE:
                from satchel.keep.file_views import view  # few ask for files

                records[one] = view(work, one.ref, name)
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
