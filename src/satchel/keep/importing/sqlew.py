"""Reading a sqlew database as lines, whichever version made it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from satchel.base.clock import iso
from satchel.base.vocabulary import PRIORITIES
from satchel.keep.files.records import CHANGES
from satchel.keep.importing.sqlew_decisions import DecisionReader
from satchel.keep.importing.sqlew_tables import SqlewTables, named, needed, time
from satchel.keep.importing.tables import Fields, Row, column, columns
from satchel.keep.importing.values import Unreadable, identity, number_of, optional_text, text_of, whole
from satchel.keep.messages.records import MESSAGE_TYPES
from satchel.keep.moving.fields import Line
from satchel.keep.moving.records import Arriving
from satchel.keep.texts import parse_json, to_json
from satchel.store.foreign import Value, opened_foreign

_MEDIUM = 2
_PRIORITY = partial(whole, least=1, most=4, default=_MEDIUM)
_INACTIVE = "inactive in sqlew"
_NO_TEXT = "(no text was kept of this message)"
"""What a message says that another tool kept without its text."""

_Lines = Iterator[tuple[str, str, Line]]
_Say = Callable[[Fields], tuple[tuple[object, ...], Line]]


def read_sqlew(file: Path, source_project: str | None = None) -> Arriving:
    """Read everything of one project of a sqlew database that can be read.

    Args:
        file: the database file.
        source_project: the project's name there; None takes the only one.

    Raises:
        As :meth:`satchel.keep.importing.service.Importing.take`.
    """
    with opened_foreign(file) as database:
        tables = SqlewTables(database, str(file))
        tables.choose_project(source_project)
        reader = DecisionReader(tables)
        # what is wrong with the file is met before anything of it is taken
        lines = [*reader.lines(), *_constraints(tables)]
        messages = tables.read(_MESSAGE, "agent_messages", "id")
        lines += [*_messages(tables, messages), *_changes(tables)]
        noted = _noted(tables, reader, messages)
        return tables.arriving(file, f"sqlew, project {tables.project_id}", lines, noted)


def _noted(tables: SqlewTables, reader: DecisionReader, messages: list[Fields]) -> tuple[tuple[object, str], ...]:
    silent = sum(message["text"] is None for message in messages)
    announced = sum(message["read"] and message["to"] is None for message in messages)
    return (
        (tables.has_older_set, "tables of an older sqlew stand beside those that were read, and were passed over"),
        (not tables.has("agents"), "this sqlew records no agents, so what came along has no authors"),
        (
            reader.unchanged,
            f"earlier states of decisions that the next repeats, and that were dropped: {reader.unchanged}",
        ),
        (
            reader.unknown,
            "earlier states of which sqlew kept value, version, author and time alone, so they have no layer, tags or "
            f"scopes here and count as active: {reader.unknown}",
        ),
        (
            reader.without_value,
            f"earlier states of numbers of which sqlew recorded no value, and that stayed out: {reader.without_value}",
        ),
        (silent, f"messages whose text sqlew did not keep, so that only their payload came along: {silent}"),
        (announced, f"messages to all that somebody has read; sqlew does not say who, so nobody counts: {announced}"),
    )


_CONSTRAINT = {
    "id": column("id", whole),
    "category": needed("category_id", "constraint_categories"),
    "text": column("constraint_text", text_of),
    "priority": column("priority", _PRIORITY),
    "layer": named("layer_id", "layers"),
    "agent": named("created_by|agent_id", "agents"),
    "active": column("active|is_active", partial(whole, most=1, default=1)),
    "reason": column("reason", optional_text),
    "at": time(),
}


def _lines(tables: SqlewTables, table: str, kind: str, rows: list[Fields], said: _Say) -> _Lines:
    """Yield a line of each row of a table, the oldest first.

    Args:
        said: returns what makes the uid of a row, beside its number, and the fields of its line.
    """
    for one in sorted(rows, key=lambda one: (one["at"], one["id"])):
        parts, fields = said(one)
        uid = identity("sqlew", kind, tables.project_id, one["id"], one["at"], *parts).hex()
        line = {"kind": kind, "uid": uid, "created_at": iso(one["at"]), **fields}
        yield tables.name(table), one["row"], line


def _constraints(tables: SqlewTables) -> _Lines:
    known = {number_of(number) for (number,) in tables.rows("constraints", "id")}
    tags = tables.linked("constraint", "tag", lambda number: number if number in known else None)

    def said(one: Fields) -> tuple[tuple[object, ...], Line]:
        # here a reason says why a rule ended
        text = one["text"] if one["reason"] is None else f"{one['text']}\n\nWhy: {one['reason']}"
        fields = {name: one[name] for name in ("category", "layer", "agent")}
        fields |= {"text": text, "priority": PRIORITIES[one["priority"] - 1], "tags": tags.get(one["id"])}
        if one["active"]:
            return (text.strip(),), fields | {"status": "active"}
        return (text.strip(),), fields | {"status": "inactive", "reason": _INACTIVE}

    return _lines(tables, "constraints", "constraint", tables.read(_CONSTRAINT, "constraints", "id"), said)


def _payload(row: Row, payload: Value) -> object:
    text = optional_text(payload, "payload")
    if text is None:
        value: object = None
    else:
        try:
            value = parse_json(text)
        except (ValueError, RecursionError):
            row.problems.append("its payload is no JSON; it was kept as text")
            value = text
    if value is None and row.fields["text"] is None:
        raise Unreadable("it has neither a text nor a payload")
    return value


_MESSAGE = {
    "text": column("message", optional_text),
    "payload": columns("payload", read=_payload),
    "id": column("id", whole),
    "from": named("from_agent_id", "agents"),
    "to": needed("to_agent_id", "agents", is_optional=True),
    "type": column("msg_type", partial(whole, least=1, most=4)),
    "priority": column("priority", _PRIORITY),
    "read": column("read", partial(whole, most=1, default=0)),
    "at": time(),
}


def _messages(tables: SqlewTables, messages: list[Fields]) -> _Lines:
    def said(one: Fields) -> tuple[tuple[object, ...], Line]:
        text = _NO_TEXT if one["text"] is None else one["text"].strip()
        fields = {name: one[name] for name in ("from", "to", "payload")} | {"message": text}
        fields |= {"type": MESSAGE_TYPES[one["type"] - 1], "priority": PRIORITIES[one["priority"] - 1]}
        if one["read"] and one["to"] is not None:
            # the one mark of sqlew is the addressee's, at the message's own time; of one to all it is nobody's
            fields["reads"] = [{"agent": one["to"], "read_at": iso(one["at"])}]
        return (text, None if one["payload"] is None else to_json(one["payload"])), fields

    return _lines(tables, "agent_messages", "message", messages, said)


_CHANGE = {
    "id": column("id", whole),
    "file": needed("file_id", "files"),
    "change": column("change_type", partial(whole, least=1, most=3)),
    "agent": named("agent_id", "agents"),
    "layer": named("layer_id", "layers"),
    "description": column("description", optional_text),
    "at": time(),
}


def _changes(tables: SqlewTables) -> _Lines:
    def said(one: Fields) -> tuple[tuple[object, ...], Line]:
        fields = {name: one[name] for name in ("file", "agent", "layer", "description")}
        return (one["file"], one["change"]), fields | {"change": CHANGES[one["change"] - 1]}

    return _lines(tables, "file_changes", "file_change", tables.read(_CHANGE, "file_changes", "id"), said)
