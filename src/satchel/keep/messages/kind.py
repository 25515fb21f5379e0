"""Declaration of messages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from satchel.base.vocabulary import HUMAN, PRIORITIES
from satchel.find.kind import Kind
from satchel.keep import fields
from satchel.keep.fields import Codec, Field
from satchel.keep.kind import ItemKind, Part, Rows
from satchel.keep.messages import updates
from satchel.keep.messages.queries import load_alive
from satchel.keep.messages.records import MESSAGE_TYPES
from satchel.keep.names import find_agent
from satchel.keep.texts import storable, to_json

if TYPE_CHECKING:
    from satchel.keep.moving.reading import Reading


def _json(value: Any, reading: Reading, _: str) -> str | None:
    if isinstance(value, str):
        # a string that looks like JSON is still a string
        cleaned = storable(value)
        reading.notes += cleaned.notes
        return to_json(cleaned.text)
    text, notes = updates.storable_payload(value, reading.workplace.max_content_bytes)
    reading.notes += notes
    return text


_JSON = Codec("any JSON value", json.loads, _json)


def _message_derived(reading: Reading, row: dict[str, Any]) -> None:
    retention = reading.workplace.retention
    row["expires_at"] = retention.expires_at(reading.now, retention.unread_messages_hours)
    row["read_expires_at"] = min(row["expires_at"], retention.expires_at(reading.now, retention.messages_hours))


def _add_reads(reading: Reading, number: int, row: dict[str, Any], reads: Rows) -> None:
    if not reads:
        return
    to, persons = row["to_agent_id"], find_agent(reading.transaction, reading.project, HUMAN)
    for read in reads:
        is_to_all = to is None or (to == persons and to != read["agent_id"])
        unread = updates.Unread(number, is_to_all, row["expires_at"], row["read_expires_at"], to == persons)
        updates.mark(reading.transaction, read["agent_id"], [unread], read["read_at"])


MESSAGE: ItemKind[Any] = ItemKind(
    "a message to an agent or to all, with its readers",
    (
        fields.CREATED,
        Field("type", fields.one_of(MESSAGE_TYPES), required=True),
        Field("priority", fields.one_of(PRIORITIES), required=True),
        fields.name_field("from", fields.AGENT, "agents", "from_agent_id", merge=fields.FILL),
        fields.name_field("to", fields.ADDRESSEE, "agents", "to_agent_id"),
        fields.name_field("first_to", fields.ADDRESSEE, "agents", "first_to_id"),
        Field("message", fields.TEXT, required=True),
        Field("payload", _JSON),
        Field("answer_by", fields.TIME),
        fields.SESSION,
        fields.link_field("reply_to", "agent_messages"),
        fields.link_field("thread", "agent_messages", "thread_id"),
    ),
    (
        Part(
            "reads",
            "message_reads",
            "message_id",
            (
                fields.name_field("agent", fields.ADDRESSEE, "agents", "agent_id", required=True),
                Field("read_at", fields.TIME, required=True),
            ),
            same=("agent_id",),
            order="i.agent_id",
            add=_add_reads,
        ),
    ),
    documents=Kind.MESSAGE,
    expires=True,
    derive=_message_derived,
    types=MESSAGE_TYPES,
    source=updates.DOCUMENTS,
    open=load_alive,
)
