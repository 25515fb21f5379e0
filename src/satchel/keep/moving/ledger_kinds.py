"""Kinds of lines for decisions, constraints, messages and file changes."""

from __future__ import annotations

from typing import Any

from satchel.base.errors import InvalidInput
from satchel.base.records import replace
from satchel.base.vocabulary import HUMAN, PRIORITIES
from satchel.find.kind import Kind
from satchel.keep.constraints.records import STATUSES as RULE_STATUSES
from satchel.keep.decisions import tables as decision_tables
from satchel.keep.decisions.records import DEFAULT_VERSION
from satchel.keep.decisions.records import STATUSES as DECISION_STATUSES
from satchel.keep.files.records import CHANGES
from satchel.keep.messages import updates as message_writing
from satchel.keep.messages.records import MESSAGE_TYPES
from satchel.keep.moving import histories, marks
from satchel.keep.moving.fields import (
    ADDRESSEE,
    AGENT,
    CATEGORY,
    COUNT,
    FILE_NUMBER,
    FILL,
    JSON,
    LAYER,
    MAX,
    NAME,
    SCOPE,
    SOFT,
    TAG,
    TEXT,
    TIME,
    Codec,
    Field,
    Part,
    Rows,
    link_field,
    name_field,
    one_of,
)
from satchel.keep.moving.kind import AUTHOR, BEGAN, CREATED, SESSION, LineKind
from satchel.keep.moving.reading import Reading
from satchel.keep.names import find_agent


def _names(of: str, names: str, codec: Codec) -> Part:
    name = names[:-1]
    fields = (name_field(name, codec, names, f"{name}_id", required=True),)
    return Part(names, f"{of}_{names}", f"{of}_id", fields, is_own=True, order="1")


def _decision_names(names: str, codec: Codec) -> Part:
    # a decision's state and age are stored with each of its names
    part = _names("decision", names, codec)
    table, column = part.table, part.fields[0].column_name

    def add(reading: Reading, number: int, row: dict[str, Any], rows: Rows) -> None:
        reading.transaction.many(
            f"INSERT INTO {table} ({column}, status, created_at, decision_id) "
            "VALUES (:name, :status, :created, :decision) ON CONFLICT DO NOTHING",
            [
                {"name": one[column], "status": row["status"], "created": row["created_at"], "decision": number}
                for one in rows
            ],
        )

    return replace(part, add=add)


DECISION_KIND = LineKind(
    "decision",
    Kind.DECISION.table,
    "a decision under a key, with its history",
    (
        BEGAN,
        Field("key", NAME, required=True),
        Field("value", histories.VALUE, sql=histories.VALUE_SQL, either=2, required=True),
        Field("status", one_of(DECISION_STATUSES), required=True),
        Field("version", NAME, default=DEFAULT_VERSION),
        name_field("layer", LAYER, "layers", "layer_id"),
        Field("rationale", TEXT),
        name_field("agent", AGENT, "agents", "agent_id", merge=FILL),
        Field("revision", COUNT, default=1, merge=MAX),
        Field("updated_at", TIME, required=True, merge=SOFT),
    ),
    (
        _decision_names("tags", TAG),
        _decision_names("scopes", SCOPE),
        histories.HISTORY,
        marks.pin_of(Kind.DECISION),
    ),
    letter=Kind.DECISION.letter,
    key=("key", "key"),
    documents=Kind.DECISION,
    derive=lambda _, row: histories.split_value(row),
    enter=decision_tables.enter,
    withdraw=decision_tables.withdraw,
    keep_old=histories.keep_old,
    rank=("updated_at",),
)


def _rule_status(value: Any, _: Reading, name: str) -> int:
    if value not in RULE_STATUSES:
        raise InvalidInput(f"its {name} is {repr(value)[:60]}", f"Valid: {', '.join(RULE_STATUSES)}")
    return int(value == RULE_STATUSES[0])


CONSTRAINT_KIND = LineKind(
    "constraint",
    Kind.CONSTRAINT.table,
    "a rule",
    (
        CREATED,
        Field("text", TEXT, required=True),
        name_field("category", CATEGORY, "categories", "category_id", required=True),
        Field("priority", one_of(PRIORITIES), required=True),
        name_field("layer", LAYER, "layers", "layer_id"),
        name_field("agent", AGENT, "agents", "created_by", merge=FILL),
        Field(
            "status",
            Codec(f"one of {', '.join(RULE_STATUSES)}", lambda active: RULE_STATUSES[1 - active], _rule_status),
            "active",
            default=1,
            merge=SOFT,
        ),
        Field("reason", TEXT, merge=SOFT),
        name_field("deactivated_by", AGENT, "agents", "deactivated_by", merge=SOFT),
        Field("deactivated_at", TIME, merge=SOFT),
    ),
    (_names("constraint", "tags", TAG), marks.pin_of(Kind.CONSTRAINT)),
    letter=Kind.CONSTRAINT.letter,
    documents=Kind.CONSTRAINT,
    rank=("deactivated_at",),
)


def _message_derived(reading: Reading, row: dict[str, Any]) -> None:
    retention = reading.workplace.retention
    row["expires_at"] = retention.expires_at(reading.now, retention.unread_messages_hours)
    row["read_expires_at"] = min(row["expires_at"], retention.expires_at(reading.now, retention.messages_hours))


def _read(reading: Reading, number: int, row: dict[str, Any], reads: Rows) -> None:
    if not reads:
        return
    to, persons = row["to_agent_id"], find_agent(reading.transaction, reading.project, HUMAN)
    for one in reads:
        is_to_all = to is None or (to == persons and to != one["agent_id"])
        unread = message_writing.Unread(number, is_to_all, row["expires_at"], row["read_expires_at"], to == persons)
        message_writing.mark(reading.transaction, one["agent_id"], [unread], one["read_at"])


MESSAGE_KIND = LineKind(
    "message",
    Kind.MESSAGE.table,
    "a message to an agent or to all, with its readers",
    (
        CREATED,
        Field("type", one_of(MESSAGE_TYPES), required=True),
        Field("priority", one_of(PRIORITIES), required=True),
        name_field("from", AGENT, "agents", "from_agent_id", merge=FILL),
        name_field("to", ADDRESSEE, "agents", "to_agent_id"),
        name_field("first_to", ADDRESSEE, "agents", "first_to_id"),
        Field("message", TEXT, required=True),
        Field("payload", JSON),
        link_field("reply_to", "agent_messages"),
        link_field("thread", "agent_messages", "thread_id"),
    ),
    (
        Part(
            "reads",
            "message_reads",
            "message_id",
            (
                name_field("agent", ADDRESSEE, "agents", "agent_id", required=True),
                Field("read_at", TIME, required=True),
            ),
            same=("agent_id",),
            order="i.agent_id",
            add=_read,
        ),
    ),
    letter=Kind.MESSAGE.letter,
    documents=Kind.MESSAGE,
    expires=True,
    derive=_message_derived,
)


def _change_derived(reading: Reading, row: dict[str, Any]) -> None:
    retention = reading.workplace.retention
    row["expires_at"] = retention.expires_at(reading.now, retention.file_changes_hours)


FILE_CHANGE_KIND = LineKind(
    "file_change",
    Kind.FILE_CHANGE.table,
    "a recorded edit",
    (
        CREATED,
        name_field("file", FILE_NUMBER, "files", "file_id", "path", required=True),
        Field("change", one_of(CHANGES), required=True),
        AUTHOR,
        SESSION,
        name_field("layer", LAYER, "layers", "layer_id"),
        Field("description", TEXT),
    ),
    letter=Kind.FILE_CHANGE.letter,
    documents=Kind.FILE_CHANGE,
    expires=True,
    derive=_change_derived,
)
