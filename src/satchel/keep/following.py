"""Following a project: changes and events after a cursor, in complete pages."""

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
"""The kinds of changes and events that can be followed."""

MOST_MISSED = 5_000
"""Maximum number of missed items before a client must reload."""

_REMEDY = "Reload, then follow without a cursor; each message and page has the cursor to continue from"
_MAX_DIGITS = 18


class Cursor(NamedTuple):
    """Position in a project: its change counter and an event's number."""

    changes: int
    events: int

    def __str__(self) -> str:
        return f"{self.changes}.{self.events}"


START = Cursor(0, 0)


@dataclass(frozen=True, slots=True)
class StreamItem:
    """A change or event with its cursor.

    Attributes:
        of: the change or event.
        cursor: the cursor after it.
    """

    of: Change | Happening
    cursor: Cursor


@dataclass(frozen=True, slots=True)
class Page:
    """Changes and events after a cursor.

    Attributes:
        items: in cursor order.
        cursor: the next cursor.
        is_last: whether there is nothing after it yet.
    """

    items: tuple[StreamItem, ...]
    cursor: Cursor
    is_last: bool


def read_cursor(text: str) -> Cursor:
    """Parse a cursor."""
    parts = text.split(".")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) <= _MAX_DIGITS for part in parts):
        raise InvalidInput(f"{text[:80]!r} is no cursor", _REMEDY)
    return Cursor(int(parts[0]), int(parts[1]))


def read_kinds(text: str) -> frozenset[str]:
    """Parse a comma-separated list of names of :data:`KINDS`."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in KINDS:
            raise unknown_name("kind", name, KINDS)
    return frozenset(names)


def now(transaction: Transaction, project: Project | None) -> Cursor:
    """Return the current cursor."""
    if project is None:
        return START
    swept = event_log.swept_until(transaction, project.id)
    return Cursor(project.seq, max(swept, event_log.last(transaction, project.id)))


def check(transaction: Transaction, project: Project | None, cursor: Cursor) -> None:
    """Refuse a cursor that the project has not reached."""
    reached = now(transaction, project)
    if cursor.changes > reached.changes or cursor.events > reached.events:
        raise InvalidInput(f"the project has not reached the cursor {cursor}; it is at {reached}", _REMEDY)


def missed_too_much(
    transaction: Transaction, project: Project | None, cursor: Cursor, kinds: Collection[str] | None = None
) -> bool:
    """Return whether a cursor is too old: later events may be deleted, or there are more than 5,000 items."""
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
    """Return the items after a cursor: changes, then events.

    Items that share a change number may exceed ``limit``; ``kinds`` None takes all.
    """
    if project is None:
        return Page((), cursor, is_last=True)
    changed = change_log.after(transaction, project.id, cursor.changes, limit, kinds)
    items = list(_stream_changes(changed, cursor))
    reached = items[-1].cursor if items else cursor
    if len(items) >= limit and change_log.count_after(transaction, project.id, reached.changes, 1, kinds):
        return Page(tuple(items), reached, is_last=False)
    reached = Cursor(max(reached.changes, project.seq), reached.events)
    room = max(limit - len(items), 0)
    happened = event_log.after(transaction, project.id, cursor.events, room + 1, kinds)
    for one in happened[:room]:
        reached = Cursor(reached.changes, one.seq)
        items.append(StreamItem(one, reached))
    return Page(tuple(items), reached, is_last=len(happened) <= room)


def _stream_changes(changed: Sequence[Change], cursor: Cursor) -> list[StreamItem]:
    # of changes that share a number only the last advances the cursor, so that none is skipped
    items = []
    for place, one in enumerate(changed):
        if place + 1 == len(changed) or changed[place + 1].seq != one.seq:
            cursor = Cursor(one.seq, cursor.events)
        items.append(StreamItem(one, cursor))
    return items
