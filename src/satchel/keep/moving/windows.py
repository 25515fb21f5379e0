"""Deliveries in lines: items delivered per context window, so that briefings do not repeat them."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from satchel.base.errors import InvalidInput
from satchel.find.kind import Kind
from satchel.keep import deliveries, fields
from satchel.keep.deliveries import Window
from satchel.keep.fields import Field, read_uid
from satchel.keep.kind import Line
from satchel.keep.moving.reading import Reading
from satchel.store.damage import is_damaged
from satchel.store.transaction import Transaction

NAME_OF_KIND = "delivery"
_NAMES = {kind.number: kind.name.lower() for kind in Kind}
_KINDS = {name: number for number, name in _NAMES.items()}
_TABLES = {kind.number: kind.table for kind in Kind}
_UIDS = " ".join(f"WHEN {kind.number} THEN (SELECT n.uid FROM {kind.table} n WHERE n.id = d.item_id)" for kind in Kind)
_SEQS = " ".join(f"WHEN {kind.number} THEN (SELECT n.seq FROM {kind.table} n WHERE n.id = d.item_id)" for kind in Kind)

FIELDS = (
    Field("session", fields.link("sessions"), "session_id"),
    Field("number", fields.WHOLE, default=0),
    Field("run", fields.RUN, "run_id"),
    Field("task_id", fields.NAME),
    Field("role", fields.NAME),
    Field("agent", fields.AGENT, "agent_id"),
    Field("iteration", fields.WHOLE, default=0),
)
ITEM_FIELDS = (
    Field("kind", fields.one_of(tuple(_KINDS)), required=True),
    Field("item", fields.link("the table of its kind"), required=True),
    Field("delivered_at", fields.TIME, required=True),
)

_SELECT = f"""
    SELECT w.id, s.uid, w.number, r.run_id, w.task_id, w.role, a.name, w.iteration,
        d.kind, CASE d.kind {_UIDS} END, d.created_at, d.seq < CASE d.kind {_SEQS} END
    FROM windows w JOIN deliveries d ON d.window_id = w.id LEFT JOIN sessions s ON s.id = w.session_id
    LEFT JOIN runs r ON r.id = w.run_id LEFT JOIN agents a ON a.id = w.agent_id
    WHERE w.project_id = :project AND w.id > :after AND w.id <= :last ORDER BY w.id, d.kind, d.item_id
"""
_PER_PAGE = 100


def all_lines(transaction: Transaction, project_id: int) -> Iterator[Line]:
    """Yield a line for each window with deliveries of existing items."""
    after = 0
    while True:
        row = transaction.one(
            "SELECT max(id) FROM "
            "(SELECT id FROM windows WHERE project_id = :project AND id > :after ORDER BY id LIMIT :most) AS page",
            {"project": project_id, "after": after, "most": _PER_PAGE},
        )
        if row is None or row[0] is None:
            return
        lines: dict[int, Line] = {}
        for number, *where, kind, item, at, is_stale in transaction.all(
            _SELECT, {"project": project_id, "after": after, "last": row[0]}
        ):
            if item is None or is_damaged(where):
                continue
            if number not in lines:
                lines[number] = _line(*where)
            delivery: Line = {
                "kind": _NAMES[kind],
                "item": item.hex(),
                "delivered_at": fields.TIME.show(at) if fields.TIME.show else at,
            }
            lines[number]["items"].append(delivery | ({"is_stale": True} if is_stale else {}))
        yield from lines.values()
        after = row[0]


def _line(*where: Any) -> Line:
    shown = ((one.name, value) for one, value in zip(FIELDS, where, strict=True) if value)
    return line_of_window({name: value.hex() if isinstance(value, bytes) else value for name, value in shown})


def line_of_window(fields: Line) -> Line:
    """Return the line of a window without deliveries; its fields determine its uid."""
    identity = repr(sorted(fields.items())).encode("utf-8", "surrogatepass")
    uid = blake2b(identity, digest_size=16, person=b"window").hexdigest()
    return {"kind": NAME_OF_KIND, "uid": uid, **fields, "items": []}


def take(reading: Reading, line: Line) -> bool:
    """Record new deliveries of a window and return whether there were any.

    Items changed since their delivery count as news here too.
    """
    row = reading.fields(FIELDS, line, {})
    if reading.links:
        raise InvalidInput("its session is not here", "Import the session with it")
    items = line.get("items")
    if not isinstance(items, list):
        raise InvalidInput("its items are not a list", "Give items as [...]")
    columns = ("session_id", "number", "agent_id", "iteration", "run_id", "task_id", "role")
    window = Window(reading.project, *(row[column] for column in columns))
    delivered = deliveries.delivered(reading.transaction, window)
    missing = 0
    is_news = False
    for item in items:
        if not isinstance(item, dict):
            raise InvalidInput("its items are not objects", "Each has kind, item and delivered_at")
        kind = ITEM_FIELDS[0].codec.read(item.get("kind"), reading, "kind")
        read_uid(item.get("item"), "item")
        number = reading.number_of(_TABLES[kind], item["item"])
        if number is None:
            missing += 1
        elif number not in delivered.get(kind, {}):
            at = fields.TIME.read(item.get("delivered_at"), reading, "delivered_at")
            seq = 0 if item.get("is_stale") else _seq(reading, kind, number)
            deliveries.record(reading.transaction, window, [(kind, number, seq)], at)
            is_news = True
    if missing and missing == len(items):
        raise InvalidInput("none of its items exist here", "Import the items with it")
    if missing:
        reading.notes.append(f"{missing} delivered items do not exist here")
    return is_news


def _seq(reading: Reading, kind: int, number: int) -> int:
    row = reading.transaction.one(f"SELECT seq FROM {_TABLES[kind]} WHERE id = :id", {"id": number})
    return 0 if row is None else int(row[0])
