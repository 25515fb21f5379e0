"""Items of any kind, whole, by their short ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from satchel.base.errors import InvalidInput, NotFound, SatchelError
from satchel.base.paging import check_whole
from satchel.base.records import NamedTuple, dataclass
from satchel.find.kind import Kind
from satchel.keep import pins, projects
from satchel.keep.constraints import updates as constraints
from satchel.keep.corrections.log import told_of
from satchel.keep.decisions import state as decision_states
from satchel.keep.decisions import updates as decisions
from satchel.keep.entries import queries as entries
from satchel.keep.entries.records import Entry
from satchel.keep.files import changes
from satchel.keep.kinds import KINDS, read_ref
from satchel.keep.messages import queries as messages
from satchel.keep.messages.records import Message
from satchel.keep.messages.service import Messages
from satchel.keep.messages.visibility import NOBODY, Reader, find_reader
from satchel.keep.moving.states import KeptState, kept_of
from satchel.keep.packages.service import Packages
from satchel.keep.patterns import updates as patterns
from satchel.keep.patterns.records import LEAST, SOLUTION_LETTER, Solution, solution_number
from satchel.keep.projects import Service
from satchel.keep.sessions.actors import reader_name
from satchel.keep.strategies import updates as strategies
from satchel.store.transaction import Transaction

MAX_ITEMS = 20
"""How many items one call opens at most."""

_MAX_OFFSET = 2**53
_SOLUTION = "solution"


@dataclass(frozen=True, slots=True)
class Item:
    """One item.

    Attributes:
        ref: its short id.
        kind: what it is, as search names kinds, or solution.
        record: its record; of a package what it holds.
        notes: what became of it: who replaced, retracted or confirmed it.
        kept_states: what it said before an import or sync, or in what was taken then, and says no more.
    """

    ref: str
    kind: str
    record: object
    notes: tuple[str, ...] = ()
    kept_states: tuple[KeptState, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenedItems:
    """Items that were asked for by their ids, in the order asked.

    Attributes:
        reader: whose messages are shown; None is nobody's.
        offset: how many characters of their text the reader has had.
        notes: which ids are unknown.
    """

    items: tuple[Item, ...]
    reader: str | None
    offset: int
    notes: tuple[str, ...] = ()


class _Wanted(NamedTuple):
    """What an id names: its short id as it is written, its kind, and its number."""

    ref: str
    kind: str
    number: int


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """Where items are looked up, for whom and when."""

    transaction: Transaction
    project_id: int
    reader: Reader


def _decision(at: _Snapshot, number: int) -> object:
    found = decision_states.load_number(at.transaction, at.project_id, number)
    return None if found is None else decisions.decision(found)


def _solution(at: _Snapshot, number: int) -> Solution | None:
    try:
        found = patterns.load_solution(at.transaction, at.project_id, number)
    except NotFound:
        return None
    # with its error what fixed it has expired
    return None if patterns.load(at.transaction, at.project_id, found.pattern_id, at.reader.now) is None else found


_LOADERS: Mapping[str, Callable[[_Snapshot, int], object]] = {
    KINDS[Kind.ENTRY].name: lambda at, number: entries.load(at.transaction, at.project_id, number),
    KINDS[Kind.DECISION].name: _decision,
    KINDS[Kind.CONSTRAINT].name: lambda at, number: constraints.load(at.transaction, at.project_id, number),
    KINDS[Kind.MESSAGE].name: lambda at, number: messages.load_alive(at.transaction, at.reader, number),
    KINDS[Kind.FILE_CHANGE].name: lambda at, number: changes.load(at.transaction, at.project_id, number, at.reader.now),
    KINDS[Kind.ERROR_PATTERN].name: lambda at, number: patterns.load(
        at.transaction, at.project_id, number, at.reader.now, LEAST
    ),
    KINDS[Kind.STRATEGY].name: lambda at, number: strategies.load(at.transaction, at.project_id, number),
    _SOLUTION: _solution,
}
"""What loads an item of a kind, or None where there is none; packages, whose files are read, load by themselves."""

_PACKAGE = KINDS[Kind.PACKAGE].name
_KINDS = {thing.name: kind for kind, thing in KINDS.items()}
_CORRECTED = {Kind.ENTRY, Kind.CONSTRAINT, Kind.STRATEGY}


class Items(Service):
    """What the project keeps, item by item."""

    def read(self, refs: Sequence[str], *, offset: int = 0, agent: str | None = None) -> OpenedItems:
        """Return items whole; messages to the agent that reads count as read from then on.

        Args:
            refs: 1 to 20 short ids of any kind; each is shown once, in the order given.
            offset: how many characters of their text the reader has had.
            agent: who reads; None takes the default, which may be nobody.

        Returns:
            The items; a note names the ids that are none, or of none that the project has.

        Raises:
            InvalidInput: no ids are given, or too many.
            NotFound: none of the items exists.
        """
        work = self._workplace
        if not isinstance(refs, (list, tuple)) or not 1 <= len(refs) <= MAX_ITEMS:
            raise InvalidInput("ids is no list of ids", f'Give 1 to {MAX_ITEMS}, as in ["e14", "d1"]')
        check_whole("offset", offset, _MAX_OFFSET)
        reader = reader_name(work, agent)
        wanted = {ref: _read(ref) for ref in dict.fromkeys(str(ref).strip().lower() for ref in refs)}
        found, reader = self._load([*dict.fromkeys(one for one in wanted.values() if one is not None)], reader)
        unknown = [repr(ref[:80]) for ref, one in wanted.items() if one not in found]
        told = f"the project has no {', '.join(unknown)}"
        if not found:
            raise NotFound(told, "Results of a search and lists show the ids, such as e14")
        if reader is not None and not work.engine.read_only:
            self._mark_read([one.ref for one in found.values() if _is_unread(one.record, reader)], reader)
        return OpenedItems(tuple(found.values()), reader, offset, (told,) if unknown else ())

    def _mark_read(self, messages: Sequence[str], reader: str) -> None:
        """Record that messages were read; where that fails, their reader has them all the same."""
        if messages:
            with suppress(SatchelError):
                Messages(self._workplace).mark_read(messages, agent=reader)

    def _load(self, wanted: Sequence[_Wanted], name: str | None) -> tuple[dict[_Wanted | None, Item], str | None]:
        """Return what there is of the items, in their order, and the reader's name as it was first written."""
        work = self._workplace
        records: dict[_Wanted, object] = {}
        told: dict[_Wanted, tuple[str, ...]] = {}
        kept: dict[_Wanted, tuple[KeptState, ...]] = {}
        with projects.reading(work) as (transaction, project):
            if project is not None:
                reader = Reader(project.id, NOBODY, work.clock())
                if name is not None:
                    reader, name = find_reader(transaction, project.id, name, reader.now)
                at = _Snapshot(transaction, project.id, reader)
                records |= {one: _LOADERS[one.kind](at, one.number) for one in wanted if one.kind != _PACKAGE}
                notes = {one: record for one, record in records.items() if isinstance(record, Entry)}
                records |= zip(notes, entries.completed(transaction, work.files_root, notes.values()), strict=True)
                for one in wanted:
                    kind = _KINDS.get(one.kind)
                    if kind is not None:
                        corrected = kind in _CORRECTED and records[one] is not None
                        said = told_of(transaction, kind, one.number) if corrected else ()
                        told[one] = (*said, *pins.told_of(transaction, project.id, kind, one.number))
                        kept[one] = kept_of(transaction, project.id, kind.table, one.number)
        # files are read after the snapshot was let go: a slow disk holds up nobody
        packages = [one for one in wanted if one.kind == _PACKAGE]
        for content in Packages(work).read_many([one.number for one in packages]) if packages else ():
            one = next(one for one in packages if one.ref == content.ref)
            records[one] = None if content.package is None else content
        found = [one for one in wanted if records.get(one) is not None]
        return {one: Item(one.ref, one.kind, records[one], told.get(one, ()), kept.get(one, ())) for one in found}, name


def _is_unread(record: object, reader: str) -> bool:
    if not isinstance(record, Message) or record.sender == reader or record.read_at is not None:
        return False
    return record.to in {None, reader}


def _read(ref: str) -> _Wanted | None:
    """Return what an id names, or None where it is none."""
    try:
        if ref.startswith(SOLUTION_LETTER):
            number = solution_number(ref)
            return _Wanted(f"{SOLUTION_LETTER}{number}", _SOLUTION, number)
        kind, number = read_ref(ref)
    except InvalidInput:
        return None
    return _Wanted(kind.ref(number), KINDS[kind].name, number)
