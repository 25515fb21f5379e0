"""Following a project: what was changed and what happened after a cursor, in pages that leave nothing out."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from satchel.base.errors import InvalidInput, unknown_name
from satchel.base.records import NamedTuple, dataclass
from satchel.keep import change_log, event_log, events
from satchel.keep.change_log import Change
from satchel.keep.event_log import Happening
from satchel.keep.projects import Project
from satchel.store.transaction import Transaction

KINDS = (*change_log.KINDS, *events.KINDS)
"""What can be followed: the kinds of items that change, and those of events."""

MOST_MISSED = 5_000
"""Who has missed more is told to read anew."""

_REMEDY = "Read anew, and follow without a cursor; each message and page names the cursor that goes on after it"
_MAX_DIGITS = 18


class Cursor(NamedTuple):
    """How far somebody has followed a project: its change counter, and the number of an event."""

    changes: int
    events: int

    def __str__(self) -> str:
        """Return it as listeners keep it."""
        return f"{self.changes}.{self.events}"


START = Cursor(0, 0)


@dataclass(frozen=True, slots=True)
class Told:
    """One thing that a listener is told.

    Attributes:
        of: what was changed or happened.
        cursor: where to go on after it.
    """

    of: Change | Happening
    cursor: Cursor


@dataclass(frozen=True, slots=True)
class Page:
    """What follows a cursor.

    Attributes:
        told: in the order of their cursors.
        cursor: where to go on.
        is_last: whether nothing else has followed yet.
    """

    told: tuple[Told, ...]
    cursor: Cursor
    is_last: bool


def read_cursor(text: str) -> Cursor:
    """Read a cursor.

    Raises:
        InvalidInput: it is none.
    """
    parts = text.split(".")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) <= _MAX_DIGITS for part in parts):
        raise InvalidInput(f"{text[:80]!r} is no cursor", _REMEDY)
    return Cursor(int(parts[0]), int(parts[1]))


def read_kinds(text: str) -> frozenset[str]:
    """Read names of :data:`KINDS` with commas between them.

    Raises:
        InvalidInput: there is none, or one is unknown.
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in KINDS:
            raise unknown_name("kind", name, KINDS)
    return frozenset(names)


def now(transaction: Transaction, project: Project | None) -> Cursor:
    """Return the cursor after which nothing has followed yet."""
    if project is None:
        return START
    swept = event_log.swept_until(transaction, project.id)
    return Cursor(project.seq, max(swept, event_log.last(transaction, project.id)))


def check(transaction: Transaction, project: Project | None, cursor: Cursor) -> None:
    """Refuse a cursor that the project has not reached.

    Raises:
        InvalidInput: it lies in the future, as one of another store or project does, or of before a restore.
    """
    reached = now(transaction, project)
    if cursor.changes > reached.changes or cursor.events > reached.events:
        raise InvalidInput(f"the project has not reached the cursor {cursor}; it stands at {reached}", _REMEDY)


def missed_too_much(
    transaction: Transaction, project: Project | None, cursor: Cursor, kinds: Collection[str] | None = None
) -> bool:
    """Whether what follows a cursor cannot be told: events after it may be swept, or it is more than 5,000."""
    if project is None:
        return False
    if cursor.events < event_log.swept_until(transaction, project.id):
        return True
    most = MOST_MISSED + 1
    changed = change_log.count_after(transaction, project.id, cursor.changes, most, kinds)
    return changed + event_log.count_after(transaction, project.id, cursor.events, most, kinds) > MOST_MISSED


def read(
    transaction: Transaction, project: Project | None, cursor: Cursor, limit: int, kinds: Collection[str] | None = None
) -> Page:
    """Return what follows a cursor: items with the last of their changes, then events.

    Args:
        project: as it stands in this transaction; None where nothing was written for it yet.
        limit: how much at most; only items that share a number of the change counter make it more.
        kinds: names of :data:`KINDS`, others are left out; None takes all.
    """
    if project is None:
        return Page((), cursor, is_last=True)
    changed = change_log.after(transaction, project.id, cursor.changes, limit, kinds)
    told = list(_changes_told(changed, cursor))
    reached = told[-1].cursor if told else cursor
    if len(told) >= limit and change_log.count_after(transaction, project.id, reached.changes, 1, kinds):
        return Page(tuple(told), reached, is_last=False)
    reached = Cursor(max(reached.changes, project.seq), reached.events)
    room = max(limit - len(told), 0)
    happened = event_log.after(transaction, project.id, cursor.events, room + 1, kinds)
    for one in happened[:room]:
        reached = Cursor(reached.changes, one.seq)
        told.append(Told(one, reached))
    return Page(tuple(told), reached, is_last=len(happened) <= room)


def _changes_told(changed: Sequence[Change], cursor: Cursor) -> list[Told]:
    """Give each its cursor; of those that share a number only the last goes past it, so that none is passed over."""
    told = []
    for place, one in enumerate(changed):
        if place + 1 == len(changed) or changed[place + 1].seq != one.seq:
            cursor = Cursor(one.seq, cursor.events)
        told.append(Told(one, cursor))
    return told
