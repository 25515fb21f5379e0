"""Reader for sqlew databases of any version."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from satchel.base.clock import iso
from satchel.base.vocabulary import PRIORITIES
from satchel.keep.files.records import CHANGES
from satchel.keep.importing.sqlew_decisions import DecisionReader
from satchel.keep.importing.sqlew_tables import SqlewTables, optional_name, required_name, time
from satchel.keep.importing.tables import Fields, Row, column, columns
from satchel.keep.importing.values import Unreadable, identity, number_of, optional_text, text_of, whole
from satchel.keep.kind import Line
from satchel.keep.messages.records import MESSAGE_TYPES
from satchel.keep.moving.records import Arriving
from satchel.keep.texts import parse_json, to_json
from satchel.store.foreign import Value, open_foreign

_MEDIUM = 2
_PRIORITY = partial(whole, least=1, most=4, default=_MEDIUM)
_INACTIVE = "inactive in sqlew"
_NO_TEXT = "(sqlew stored no text of this message)"
"""The text of a message stored without one."""

_Lines = Iterator[tuple[str, str, Line]]
_Describe = Callable[[Fields], tuple[tuple[object, ...], Line]]


def read_sqlew(file: Path, source_project: str | None = None) -> Arriving:
    """Read all readable items of one project of a sqlew database; None as ``source_project`` takes the only project."""
    with open_foreign(file) as database:
        tables = SqlewTables(database, str(file))
        tables.choose_project(source_project)
        reader = DecisionReader(tables)
        # problems with the file surface before anything is imported
        lines = [*reader.lines(), *_constraints(tables)]
        messages = tables.read(_MESSAGE, "agent_messages", "id")
        lines += [*_messages(tables, messages), *_changes(tables)]
        noted = _noted(tables, reader, messages)
        return tables.arriving(file, f"sqlew, project {tables.project_id}", lines, noted)


def _noted(tables: SqlewTables, reader: DecisionReader, messages: list[Fields]) -> tuple[tuple[object, str], ...]:
    silent = sum(message["text"] is None for message in messages)
    announced = sum(message["read"] and message["to"] is None for message in messages)
    return (
        (tables.has_older_set, "the database also has tables of an older sqlew, which were skipped"),
        (not tables.has("agents"), "this sqlew records no agents, so imported items have no authors"),
        (
            reader.unchanged,
            f"earlier states of decisions equal to the next state, dropped: {reader.unchanged}",
        ),
        (
            reader.unknown,
            "earlier states stored with value, version, author and time only, imported as active without layer, "
            f"tags and scopes: {reader.unknown}",
        ),
        (
            reader.without_value,
            f"earlier states of numbers without a recorded value, left out: {reader.without_value}",
        ),
        (silent, f"messages without a stored text, imported with their payload only: {silent}"),
        (announced, f"messages to all that were read; sqlew does not record by whom, so they stay unread: {announced}"),
    )


_CONSTRAINT = {
    "id": column("id", whole),
    "category": required_name("category_id", "constraint_categories"),
    "text": column("constraint_text", text_of),
    "priority": column("priority", _PRIORITY),
    "layer": optional_name("layer_id", "layers"),
    "agent": optional_name("created_by|agent_id", "agents"),
    "active": column("active|is_active", partial(whole, most=1, default=1)),
    "reason": column("reason", optional_text),
    "at": time(),
}


def _lines(tables: SqlewTables, table: str, kind: str, rows: list[Fields], describe: _Describe) -> _Lines:
    for one in sorted(rows, key=lambda one: (one["at"], one["id"])):
        parts, fields = describe(one)
        uid = identity("sqlew", kind, tables.project_id, one["id"], one["at"], *parts).hex()
        line = {"kind": kind, "uid": uid, "created_at": iso(one["at"]), **fields}
        yield tables.name(table), one["row"], line


def _constraints(tables: SqlewTables) -> _Lines:
    numbers = {number_of(number) for (number,) in tables.rows("constraints", "id")}
    tags = tables.linked("constraint", "tag", lambda number: number if number in numbers else None)

    def describe(one: Fields) -> tuple[tuple[object, ...], Line]:
        # here a reason explains why a rule ended
        text = one["text"] if one["reason"] is None else f"{one['text']}\n\nWhy: {one['reason']}"
        fields = {name: one[name] for name in ("category", "layer", "agent")}
        fields |= {"text": text, "priority": PRIORITIES[one["priority"] - 1], "tags": tags.get(one["id"])}
        if one["active"]:
            return (text.strip(),), fields | {"status": "active"}
        return (text.strip(),), fields | {"status": "inactive", "reason": _INACTIVE}

    return _lines(tables, "constraints", "constraint", tables.read(_CONSTRAINT, "constraints", "id"), describe)


def _payload(row: Row, payload: Value) -> object:
    text = optional_text(payload, "payload")
    if text is None:
        value: object = None
    else:
        try:
            value = parse_json(text)
        except (ValueError, RecursionError):
            row.problems.append("its payload is not JSON; it was imported as text")
            value = text
    if value is None and row.fields["text"] is None:
        raise Unreadable("it has neither a text nor a payload")
    return value


_MESSAGE = {
    "text": column("message", optional_text),
    "payload": columns("payload", read=_payload),
    "id": column("id", whole),
    "from": optional_name("from_agent_id", "agents"),
    "to": required_name("to_agent_id", "agents", is_optional=True),
    "type": column("msg_type", partial(whole, least=1, most=4)),
    "priority": column("priority", _PRIORITY),
    "read": column("read", partial(whole, most=1, default=0)),
    "at": time(),
}


def _messages(tables: SqlewTables, messages: list[Fields]) -> _Lines:
    def describe(one: Fields) -> tuple[tuple[object, ...], Line]:
        text = _NO_TEXT if one["text"] is None else one["text"].strip()
        fields = {name: one[name] for name in ("from", "to", "payload")} | {"message": text}
        fields |= {"type": MESSAGE_TYPES[one["type"] - 1], "priority": PRIORITIES[one["priority"] - 1]}
        if one["read"] and one["to"] is not None:
            # sqlew's read flag belongs to the addressee, at the message's own time; to all, it belongs to nobody
            fields["reads"] = [{"agent": one["to"], "read_at": iso(one["at"])}]
        return (text, None if one["payload"] is None else to_json(one["payload"])), fields

    return _lines(tables, "agent_messages", "message", messages, describe)


_CHANGE = {
    "id": column("id", whole),
    "file": required_name("file_id", "files"),
    "change": column("change_type", partial(whole, least=1, most=3)),
    "agent": optional_name("agent_id", "agents"),
    "layer": optional_name("layer_id", "layers"),
    "description": column("description", optional_text),
    "at": time(),
}


def _changes(tables: SqlewTables) -> _Lines:
    def describe(one: Fields) -> tuple[tuple[object, ...], Line]:
        fields = {name: one[name] for name in ("file", "agent", "layer", "description")}
        return (one["file"], one["change"]), fields | {"change": CHANGES[one["change"] - 1]}

    return _lines(tables, "file_changes", "file_change", tables.read(_CHANGE, "file_changes", "id"), describe)
