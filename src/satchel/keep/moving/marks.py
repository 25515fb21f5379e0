"""Lines that only an import as written takes: pins, what persons have seen, states of shared and document texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from hashlib import blake2b
from typing import Any

from satchel.base.errors import InvalidInput
from satchel.find.kind import KIND_NAMED, KIND_OF, Kind
from satchel.keep import deliveries, fields
from satchel.keep.deliveries import Window
from satchel.keep.fields import Codec, Field, read_uid
from satchel.keep.kind import Line, LineKind, Part, Rows
from satchel.keep.moving.reading import Reading
from satchel.store.damage import is_damaged
from satchel.store.transaction import Transaction, first_number, insert_rows

EVERYTHING = 0
# what the table `seen` holds besides each Kind: a solution, the edits of an agent, a correction, a failure of a hook,
# the strategy that a verdict lets a run propose, which anybody accepts or rejects for all, and an action that only a
# person may do or that ends a protection
SOLUTION, FILES, CORRECTION, HOOK, PROPOSAL, ACTION = 20, 21, 22, 23, 24, 25

NOBODY = -1  # the agent of edits whose author is unknown; 0 is all of a kind


def _add_pin(kind: Kind, reading: Reading, number: int, _row: dict[str, Any], rows: Rows) -> None:
    if reading.is_as_written:
        pin = {"project_id": reading.project, "kind": kind.number, "item_id": number}
        insert_rows(reading.transaction, "pins", [{**pin, **row} for row in rows])


def pin_of(kind: Kind) -> Part:
    """Return the part of an item's line that says who pinned it."""
    return Part(
        "pinned",
        f"(SELECT * FROM pins WHERE kind = {kind.number})",
        "item_id",
        (
            fields.name_field("agent", fields.AGENT, "agents", "agent_id"),
            Field("created_at", fields.TIME, required=True),
        ),
        order="i.item_id",
        is_single=True,
        add=partial(_add_pin, kind),
    )


_TABLES = {
    **{kind.number: kind.table for kind in Kind},
    SOLUTION: "error_solutions",
    FILES: "agents",
    CORRECTION: "corrections",
    PROPOSAL: Kind.ENTRY.table,
}
_OF = {
    "everything": EVERYTHING,
    **{kind.name.lower(): kind.number for kind in Kind},
    "solution": SOLUTION,
    "files": FILES,
    "correction": CORRECTION,
    "proposal": PROPOSAL,
    "files without author": NOBODY,
}
_FOREVER = 2**62


def _expiry(number: int, table: str) -> str:
    if number == SOLUTION:
        return (
            "SELECT n.expires_at FROM error_patterns n JOIN error_solutions o ON o.pattern_id = n.id "
            "WHERE o.id = s.item_id"
        )
    return f"SELECT n.expires_at FROM {table} n WHERE n.id = s.item_id"


_EXPIRING = (Kind.MESSAGE.number, Kind.FILE_CHANGE.number, Kind.ERROR_PATTERN.number, SOLUTION)


def of_item(column: str, numbers: Iterable[int] = KIND_OF, kind: str = "s.kind", item: str = "s.item_id") -> str:
    """Return SQL for a column of the item, of one of the kinds, that two columns of a row name."""
    cases = (
        f"WHEN {number} THEN (SELECT n.{column} FROM {_TABLES[number]} n WHERE n.id = {item})" for number in numbers
    )
    return f"CASE {kind} {' '.join(cases)} END"


_EXPIRIES = " ".join(f"WHEN {number} THEN ({_expiry(number, _TABLES[number])})" for number in _EXPIRING)

# marks of items that are gone, and of failures of hooks and actions, which are events, stay behind
_MARKS = f"""(
    SELECT * FROM (
        SELECT row_number() OVER (ORDER BY s.person_id, s.kind, s.item_id) AS id, a.uid, s.project_id, s.person_id,
            CASE s.item_id WHEN {NOBODY} THEN {NOBODY} ELSE s.kind END AS kind, s.item_id,
            {of_item("uid", _TABLES)} AS item, CASE s.kind {_EXPIRIES} ELSE {_FOREVER} END AS expires_at,
            s.seq, s.created_at
        FROM seen s JOIN agents a ON a.id = s.person_id WHERE s.kind IN ({", ".join(map(str, _OF.values()))})
    ) x WHERE item_id <= 0 OR item IS NOT NULL
)"""


def item_codec(kind: str, what: str = "the uid of an item") -> Codec:
    """Return the codec of an item's uid, whose kind is in another column of the row."""

    def read(value: Any, reading: Reading, name: str) -> int:
        table = _TABLES.get(reading.row[kind])
        read_uid(value, name)
        number = None if table is None else reading.number_of(table, value)
        if number is None:
            raise InvalidInput(f"its {name} {value} is missing", "Export the item with it")
        return number

    return Codec(what, bytes.hex, read, is_number=True)


def _take_seen(reading: Reading, line: Line) -> bool:
    row = reading.fields(SEEN_KIND.fields, line, reading.row)
    if row["kind"] == NOBODY:
        row.update(kind=FILES, item_id=NOBODY)
    insert_rows(reading.transaction, "seen", [{"project_id": reading.project, **row}])
    return True


SEEN_KIND = LineKind(
    "how far a person has seen the changes of a project, all of a kind, or one item; for `import --as-written`",
    (
        fields.name_field("person", fields.ADDRESSEE, "agents", "person_id", required=True),
        Field("of", fields.choice(_OF), "kind", required=True),
        Field("item", item_codec("kind", "the uid of an item or of an agent"), "item_id", "i.item", default=0),
        Field("seq", fields.WHOLE, required=True),
        Field("created_at", fields.TIME, required=True),
    ),
    name="seen",
    table=_MARKS,
    expires=True,
    take=_take_seen,
    only_as_written=True,
)

_NUMBERED = "SELECT row_number() OVER (ORDER BY project_id, uid) AS id, s.* FROM shared_texts s"


def _take_text(reading: Reading, line: Line) -> bool:
    item = {"project_id": reading.project, "uid": read_uid(line.get("uid"))}
    row = reading.fields(TEXT_KIND.fields, line, reading.row)
    (part,) = TEXT_KIND.parts
    digests = reading.part_rows(part, line.get(part.name) or [])
    insert_rows(reading.transaction, "shared_texts", [{**item, **row}])
    insert_rows(reading.transaction, "shared_seen", [{**item, **digest} for digest in digests])
    return True


TEXT_KIND = LineKind(
    "which text in the repository was accepted, rejected or waits, by the uid of its item; for `import --as-written`",
    (
        Field("of", fields.choice({name: name for name in KIND_NAMED}), "kind", required=True),
        *(Field(name, fields.HEX) for name in ("in_step", "taken", "tip", "waiting")),
        Field("why", fields.WHOLE),
        Field("stood", fields.TIME),
        Field("merged", fields.FLAG, default=0),
    ),
    (
        Part(
            "seen",
            f"(SELECT t.id, d.digest FROM shared_seen d JOIN ({_NUMBERED}) t "
            "ON t.project_id = d.project_id AND t.uid = d.uid)",
            "id",
            (Field("digest", fields.HEX, required=True),),
            is_own=True,
            order="i.digest",
        ),
    ),
    name="shared_text",
    table=f"({_NUMBERED})",
    take=_take_text,
    only_as_written=True,
)


# what texts of documents became: the kind of an item, or rejected
_OUTCOMES = {"rejected": 0, **{kind.name.lower(): kind.number for kind in (Kind.CONSTRAINT, Kind.DECISION, Kind.ENTRY)}}

_DOCUMENT_TEXTS = f"""(
    SELECT * FROM (
        SELECT row_number() OVER (ORDER BY s.project_id, s.path, s.digest) AS id, s.digest AS uid,
            {of_item("uid", filter(None, _OUTCOMES.values()))} AS item, s.*
        FROM document_texts s
    ) x WHERE item_id = 0 OR item IS NOT NULL
)"""


def _take_document(reading: Reading, line: Line) -> bool:
    row = reading.fields(DOCUMENT_KIND.fields, line, reading.row)
    digest = {"project_id": reading.project, "digest": read_uid(line.get("uid"))}
    insert_rows(reading.transaction, "document_texts", [{**digest, **row}])
    return True


DOCUMENT_KIND = LineKind(
    "which text of a document was accepted, by the uid of its item, or rejected; its own uid is the text's digest; for "
    "`import --as-written`",
    (
        Field("path", fields.TEXT, required=True),
        Field("line", fields.WHOLE, required=True),
        Field("clients", fields.TEXT),
        Field("of", fields.choice(_OUTCOMES), "kind", required=True),
        Field("item", item_codec("kind"), "item_id", "i.item", default=0),
        Field("seq", fields.WHOLE, required=True),
        fields.name_field("agent", fields.AGENT, "agents", "agent_id"),
        Field("created_at", fields.TIME, required=True),
    ),
    name="document_text",
    table=_DOCUMENT_TEXTS,
    take=_take_document,
    only_as_written=True,
)


DELIVERY = "delivery"

WINDOW_FIELDS = (
    Field("session", fields.link("sessions"), "session_id"),
    Field("number", fields.WHOLE, default=0),
    Field("run", fields.RUN, "run_id"),
    Field("task_id", fields.NAME),
    Field("role", fields.NAME),
    Field("agent", fields.AGENT, "agent_id"),
    Field("iteration", fields.WHOLE, default=0),
)
DELIVERY_FIELDS = (
    Field("kind", fields.one_of(tuple(kind.name.lower() for kind in Kind)), required=True),
    Field("item", fields.link("the table of its kind"), required=True),
    Field("delivered_at", fields.TIME, required=True),
)

_SELECT = f"""
    SELECT w.id, o.uid, w.number, r.run_id, w.task_id, w.role, a.name, w.iteration,
        s.kind, {of_item("uid")}, s.created_at, s.seq < {of_item("seq")}
    FROM windows w JOIN deliveries s ON s.window_id = w.id LEFT JOIN sessions o ON o.id = w.session_id
    LEFT JOIN runs r ON r.id = w.run_id LEFT JOIN agents a ON a.id = w.agent_id
    WHERE w.project_id = :project AND w.id > :after AND w.id <= :last ORDER BY w.id, s.kind, s.item_id
"""
_WINDOWS_PER_PAGE = 100


def window_lines(transaction: Transaction, project_id: int) -> Iterator[Line]:
    """Yield a line for each window with deliveries of existing items."""
    after = 0
    while True:
        row = transaction.one(
            "SELECT max(id) FROM "
            "(SELECT id FROM windows WHERE project_id = :project AND id > :after ORDER BY id LIMIT :most) AS page",
            {"project": project_id, "after": after, "most": _WINDOWS_PER_PAGE},
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
                "kind": KIND_OF[kind].name.lower(),
                "item": item.hex(),
                "delivered_at": fields.TIME.show(at) if fields.TIME.show else at,
            }
            lines[number]["items"].append(delivery | ({"is_stale": True} if is_stale else {}))
        yield from lines.values()
        after = row[0]


def _line(*where: Any) -> Line:
    filled = ((one.name, value) for one, value in zip(WINDOW_FIELDS, where, strict=True) if value)
    return line_of_window({name: value.hex() if isinstance(value, bytes) else value for name, value in filled})


def line_of_window(fields: Line) -> Line:
    """Return the line of a window without deliveries; its fields determine its uid."""
    identity = repr(sorted(fields.items())).encode("utf-8", "surrogatepass")
    uid = blake2b(identity, digest_size=16, person=b"window").hexdigest()
    return {"kind": DELIVERY, "uid": uid, **fields, "items": []}


def take_window(reading: Reading, line: Line) -> bool:
    """Record new deliveries of a window and return whether there were any; items changed since are news here too."""
    row = reading.fields(WINDOW_FIELDS, line, {})
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
        kind = DELIVERY_FIELDS[0].codec.read(item.get("kind"), reading, "kind")
        read_uid(item.get("item"), "item")
        number = reading.number_of(_TABLES[kind], item["item"])
        if number is None:
            missing += 1
        elif number not in delivered.get(kind, {}):
            at = fields.TIME.read(item.get("delivered_at"), reading, "delivered_at")
            changed = f"SELECT seq FROM {_TABLES[kind]} WHERE id = :id"
            seq = 0 if item.get("is_stale") else first_number(reading.transaction, changed, {"id": number})
            deliveries.record(reading.transaction, window, [(kind, number, seq)], at)
            is_news = True
    if missing and missing == len(items):
        raise InvalidInput("none of its items exist here", "Import the items with it")
    if missing:
        reading.notes.append(f"{missing} delivered items do not exist here")
    return is_news
