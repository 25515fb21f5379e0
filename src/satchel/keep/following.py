"""Following a project: changes and events after a cursor, in complete pages."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from satchel.base.errors import InvalidInput, unknown_name
from satchel.base.records import NamedTuple, dataclass
from satchel.find.kind import KIND_OF, Kind
from satchel.keep import events
from satchel.keep.projects import Project
from satchel.store.transaction import NO_LIMIT, Transaction, first_number, set_of


@dataclass(frozen=True, slots=True)
class Change:
    """An item's latest change.

    Attributes:
        item: its short id, or a run's name; None for a claim.
        at: when it changed, or was written if its kind records nothing later, in milliseconds UTC.
    """

    seq: int
    kind: str
    item: str | None
    agent: str | None
    at: int


class _Source(NamedTuple):
    table: str
    agent: str
    at: str
    letter: str = ""
    name: str = "NULL"


_SOURCES = {
    **{kind.name.lower(): _Source(kind.table, kind.changed_by, kind.changed_at, kind.letter) for kind in Kind},
    "claim": _Source("file_claims", "i.agent_id", "i.created_at"),
    "run": _Source("runs", "CAST(NULL AS BIGINT)", "COALESCE(i.ended_at, i.created_at)", name="i.run_id"),
}
CHANGE_KINDS = tuple(_SOURCES)  # the kinds with listed changes


def changes_after(
    transaction: Transaction, project_id: int, seq: int, limit: int, kinds: Collection[str] | None = None
) -> list[Change]:
    """Return the items changed after a number, in order; those that share a number exceed ``limit`` together."""
    values = {"project": project_id, "seq": seq, "limit": limit + 1}
    rows = _read_changes(transaction, _union(kinds), values)
    if len(rows) > limit:
        rows = [row for row in rows if row.seq != rows[-1].seq] or _read_changes(
            transaction, _union(kinds, until=True), {**values, "until": rows[-1].seq, "limit": NO_LIMIT}
        )
    return rows


def count_changes(
    transaction: Transaction, project_id: int, seq: int, limit: int, kinds: Collection[str] | None = None
) -> int:
    union = _union(kinds)
    if not union:
        return 0
    sql = f"SELECT count(*) FROM (SELECT 1 FROM ({union}) AS every LIMIT :limit) AS counted"
    return first_number(transaction, sql, {"project": project_id, "seq": seq, "limit": limit})


def _read_changes(transaction: Transaction, union: str, values: dict[str, int]) -> list[Change]:
    if not union:
        return []
    rows = transaction.all(
        f"""
        SELECT c.seq, c.kind, CASE c.letter WHEN '' THEN c.name ELSE c.letter || c.id END, a.name, c.at
        FROM ({union}) c LEFT JOIN agents a ON a.id = c.agent ORDER BY c.seq, c.kind, c.id LIMIT :limit
        """,
        values,
    )
    return [Change(*row) for row in rows]


def _union(kinds: Collection[str] | None, *, until: bool = False) -> str:
    parts = []
    for kind, source in _SOURCES.items():
        if kinds is not None and kind not in kinds:
            continue
        columns = (
            f"i.seq AS seq, '{kind}' AS kind, i.id AS id, '{source.letter}' AS letter, {source.name} AS name, "
            f"{source.agent} AS agent, {source.at} AS at"
        )
        where = "i.project_id = :project AND i.seq > :seq" + (" AND i.seq <= :until" if until else "")
        rows = f"SELECT {columns} FROM {source.table} i WHERE {where}"
        if source.table == Kind.MESSAGE.table:
            # messages are indexed by receiver and seq, not by seq alone
            rows = (
                f"SELECT {columns} FROM agents t CROSS JOIN {source.table} i "
                f"WHERE t.project_id = :project AND {where} AND i.to_agent_id = t.id "
                f"UNION ALL {rows} AND i.to_agent_id IS NULL"
            )
        parts.append(f"SELECT * FROM ({rows} ORDER BY seq LIMIT :limit) AS of_kind")
    return " UNION ALL ".join(parts)


KINDS = (*CHANGE_KINDS, *events.KINDS)  # the kinds of changes and events that can be followed

MOST_MISSED = 5_000  # maximum number of missed items before a client must reload

_REMEDY = "Reload, then follow without a cursor; each message and page has the cursor to continue from"
_MAX_DIGITS = 18

_CLAIM_EVENTS = (events.REFUSAL, events.RELEASE, events.EXPIRY, events.EXTENSION)
_CLAIM_DETAILS = ("path", "paths", "holders", "until")


@dataclass(frozen=True, slots=True)
class Happening:
    """An event.

    Attributes:
        item: the short id of the item concerned.
        session, client: the session's uid in hexadecimal, and its client.
        details: of claims only paths, holders and ``until``, no folder of this machine and no reason.
    """

    seq: int
    kind: str
    item: str | None
    agent: str | None
    session: str | None
    client: str | None
    details: Mapping[str, object] | None
    created_at: int


class Cursor(NamedTuple):
    changes: int
    events: int

    def __str__(self) -> str:
        return f"{self.changes}.{self.events}"


START = Cursor(0, 0)


@dataclass(frozen=True, slots=True)
class StreamItem:
    """A change or event with its cursor.

    Attributes:
        cursor: the cursor after it.
    """

    of: Change | Happening
    cursor: Cursor


@dataclass(frozen=True, slots=True)
class Page:
    """Changes and events after a cursor."""

    items: tuple[StreamItem, ...]
    cursor: Cursor
    is_last: bool


def read_cursor(text: str) -> Cursor:
    parts = text.split(".")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) <= _MAX_DIGITS for part in parts):
        raise InvalidInput(f"{text[:80]!r} is not a cursor", _REMEDY)
    return Cursor(int(parts[0]), int(parts[1]))


def read_kinds(text: str) -> frozenset[str]:
    """Parse a comma-separated list of names of :data:`KINDS`."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in KINDS:
            raise unknown_name("kind", name, KINDS)
    return frozenset(names)


def now(transaction: Transaction, project: Project) -> Cursor:
    swept = swept_until(transaction, project.id)
    return Cursor(project.seq, max(swept, _last_event(transaction, project.id)))


def check(transaction: Transaction, project: Project, cursor: Cursor) -> None:
    """Refuse a cursor that the project has not reached."""
    reached = now(transaction, project)
    if cursor.changes > reached.changes or cursor.events > reached.events:
        raise InvalidInput(f"the project has not reached the cursor {cursor}; it is at {reached}", _REMEDY)


def missed_too_much(
    transaction: Transaction, project: Project, cursor: Cursor, kinds: Collection[str] | None = None
) -> bool:
    """Return whether a cursor is too old: later events may be deleted, or there are more than 5,000 items."""
    if cursor.events < swept_until(transaction, project.id):
        return True
    most = MOST_MISSED + 1
    changed = count_changes(transaction, project.id, cursor.changes, most, kinds)
    return changed + _count_events(transaction, project.id, cursor.events, most, kinds) > MOST_MISSED


def read(
    transaction: Transaction, project: Project, cursor: Cursor, limit: int, kinds: Collection[str] | None = None
) -> Page:
    """Return the items after a cursor: changes, which may exceed ``limit`` together, then events."""
    changed = changes_after(transaction, project.id, cursor.changes, limit, kinds)
    items = list(_stream_changes(changed, cursor))
    reached = items[-1].cursor if items else cursor
    if len(items) >= limit and count_changes(transaction, project.id, reached.changes, 1, kinds):
        return Page(tuple(items), reached, is_last=False)
    reached = Cursor(max(reached.changes, project.seq), reached.events)
    room = max(limit - len(items), 0)
    happened = events_after(transaction, project.id, cursor.events, room + 1, kinds)
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


def events_after(
    transaction: Transaction, project_id: int, seq: int, limit: int, kinds: Collection[str] | None = None
) -> list[Happening]:
    """Return up to ``limit`` events of a project after a number, in order; ``kinds`` None takes all."""
    rows = transaction.all(
        f"""
        SELECT e.seq, e.kind, e.item_kind, e.item_id, a.name, s.uid, s.client, e.details, e.created_at
        FROM events e LEFT JOIN agents a ON a.id = e.agent_id LEFT JOIN sessions s ON s.id = e.session_id
        WHERE {_kind_condition(kinds)} ORDER BY e.seq LIMIT :limit
        """,
        {"project": project_id, "seq": seq, "limit": limit},
    )
    return [
        Happening(
            number,
            # a later version's kinds have no name here
            events.KINDS[kind - 1] if 0 < kind <= len(events.KINDS) else f"kind_{kind}",
            KIND_OF[item_kind].ref(item) if item_kind in KIND_OF else None,
            agent,
            None if uid is None else uid.hex(),
            client,
            _public_details(kind, details),
            created,
        )
        for number, kind, item_kind, item, agent, uid, client, details, created in rows
    ]


def _public_details(kind: int, text: str | None) -> dict[str, object] | None:
    if text is None:
        return None
    details: dict[str, object] = json.loads(text)
    if kind not in _CLAIM_EVENTS:
        return details
    return {name: details[name] for name in _CLAIM_DETAILS if name in details}


def _count_events(
    transaction: Transaction, project_id: int, seq: int, limit: int, kinds: Collection[str] | None = None
) -> int:
    sql = f"SELECT count(*) FROM (SELECT 1 FROM events e WHERE {_kind_condition(kinds)} LIMIT :limit) AS counted"
    return first_number(transaction, sql, {"project": project_id, "seq": seq, "limit": limit})


def _last_event(transaction: Transaction, project_id: int) -> int:
    sql = "SELECT seq FROM events WHERE project_id = :project ORDER BY seq DESC LIMIT 1"
    return first_number(transaction, sql, {"project": project_id})


def swept_until(transaction: Transaction, project_id: int) -> int:
    sql = "SELECT events_swept FROM projects WHERE id = :project"
    return first_number(transaction, sql, {"project": project_id})


def _kind_condition(kinds: Collection[str] | None) -> str:
    numbers = [number for number, name in enumerate(events.KINDS, 1) if kinds is None or name in kinds]
    condition = "" if kinds is None else f" AND e.kind IN {set_of(numbers)}"
    return f"e.project_id = :project AND e.seq > :seq{condition}"
