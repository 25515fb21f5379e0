"""Writes of messages, of the marks that they were read, and of their search documents."""

from __future__ import annotations

import json
from collections.abc import Sequence

from satchel.base.errors import Conflict, InvalidInput, NotFound, Refused
from satchel.base.records import NamedTuple, dataclass
from satchel.base.retention import Retention
from satchel.base.vocabulary import PRIORITIES
from satchel.find import documents
from satchel.find.kind import Kind
from satchel.keep.messages.records import MESSAGE_TYPES
from satchel.keep.texts import check_json, check_size, json_texts, map_texts, parse_json, storable_json, to_json
from satchel.store.transaction import Transaction, update_row


class Draft(NamedTuple):
    """The columns of a checked message.

    Attributes:
        from_agent_id: None for Satchel itself.
        to_agent_id: None for all.
        type, priority: numbers from 1.
        payload: JSON text, or None.
        thread_id: the number of the message that began the thread, or None for this one.
        answer_by: when an answer is needed, or None.
        session_id: the sender's session, or None.
    """

    from_agent_id: int | None
    to_agent_id: int | None
    type: int
    priority: int
    message: str
    payload: str | None = None
    reply_to: int | None = None
    thread_id: int | None = None
    answer_by: int | None = None
    session_id: int | None = None


@dataclass(frozen=True, slots=True)
class Unread:
    """An unread message, with the facts needed to mark it as read.

    Attributes:
        is_to_all: whether it is to all, or to all persons and its reader is a person with a name.
        is_to_persons: whether it is to ``human``, the name for all persons.
    """

    id: int
    is_to_all: bool
    expires_at: int
    read_expires_at: int
    is_to_persons: bool = False

    @property
    def stays(self) -> bool:
        """Whether it remains for others after this reader."""
        return self.is_to_all or self.is_to_persons


def storable_payload(payload: object, limit: int) -> tuple[str | None, tuple[str, ...]]:
    """Return a payload as storable JSON text, with notes on its changes.

    ``payload`` is any JSON value; the JSON text of an object or list is parsed, and None is no payload. ``limit`` is
    the maximum number of bytes in UTF-8.
    """
    if payload is None:
        return None, ()
    if isinstance(payload, str):
        check_size(payload, limit, "payload")
        payload = _parsed(payload)
    check_json(payload, "payload")
    check_size(to_json(map_texts(payload, str)), limit, "payload")
    cleaned, notes = storable_json(payload)
    text = to_json(cleaned)
    check_size(text, limit, "payload")
    return text, notes


def _parsed(text: str) -> object:
    if text.lstrip()[:1] not in {"{", "["}:
        return text
    try:
        return parse_json(text)
    except json.JSONDecodeError:
        return text
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"payload cannot be read: {error}", "Give what JSON can hold") from None


def insert(transaction: Transaction, project_id: int, draft: Draft, now: int, retention: Retention) -> int:
    """Insert a message with its search document, and return its number."""
    expires = retention.expires_at(now, retention.unread_messages_hours)
    row = {
        **draft._asdict(),
        "project_id": project_id,
        "expires_at": expires,
        "read_expires_at": min(expires, retention.expires_at(now, retention.messages_hours)),
        "created_at": now,
    }
    return DOCUMENTS.insert(transaction, row, _searchable(draft.message, draft.payload))[0]


def post(
    transaction: Transaction,
    project_id: int,
    text: str,
    now: int,
    retention: Retention,
    *,
    sender: int | None,
    to: int | None,
    type: str = "warning",  # noqa: A002 -- the field's own name
    priority: str = "medium",
    answers: tuple[int, int] | None = None,
) -> int:
    """Send a message within a transaction and return its number; the text is storable.

    Without a sender it is Satchel's own, without an addressee it is to all. ``answers`` is the message that it answers
    and the one that began that thread.
    """
    ranks = MESSAGE_TYPES.index(type) + 1, PRIORITIES.index(priority) + 1
    draft = Draft(sender, to, *ranks, text, None, *(answers or (None, None)))
    return insert(transaction, project_id, draft, now, retention)


def mark(transaction: Transaction, agent_id: int, unread: Sequence[Unread], now: int) -> None:
    """Record that an agent has read unread messages.

    A message to the agent alone then expires as read ones do. One to all, or to all persons, remains for the others;
    its expiry for this reader is recorded with the reading.
    """
    expiry = {message.id: min(message.expires_at, max(message.read_expires_at, now)) for message in unread}
    transaction.many(
        """
        INSERT INTO message_reads (agent_id, message_id, read_at, expires_at, gone_at)
        VALUES (:agent, :message, :now, :expires, :gone)
        """,
        [
            {
                "agent": agent_id,
                "message": message.id,
                "now": now,
                "expires": message.expires_at if message.stays else expiry[message.id],
                "gone": expiry[message.id] if message.is_to_all else None,
            }
            for message in unread
        ],
    )
    sooner = [
        (message.id, expiry[message.id])
        for message in unread
        if not message.stays and expiry[message.id] < message.expires_at
    ]
    transaction.many(
        "UPDATE agent_messages SET expires_at = :expires WHERE id = :id",
        [{"expires": expires, "id": number} for number, expires in sooner],
    )
    documents.set_expiry(transaction, Kind.MESSAGE, sooner)


def withdraw(transaction: Transaction, project_id: int, sender: int | None, number: int, now: int) -> str:
    """Withdraw a message that nobody has read or was shown, and return its text."""
    ref = Kind.MESSAGE.ref(number)
    row = transaction.one(
        "SELECT from_agent_id, message FROM agent_messages "
        "WHERE id = :id AND project_id = :project AND expires_at > :now",
        {"id": number, "project": project_id, "now": now},
    )
    if row is None:
        raise NotFound(f"there is no message {ref} in this project, or it has expired", "Nothing was changed")
    if row[0] is None or row[0] != sender:
        raise Refused(f"{ref} was sent by another", "Only its sender withdraws a message; answer it with reply_to")
    names = readers(transaction, project_id, sender, number)
    if names:
        raise Conflict(f"{ref} was read by {names}", f"Send a correction with reply_to={ref}")
    expire(transaction, project_id, number, now)
    return str(row[1])


def expire(transaction: Transaction, project_id: int, number: int, now: int) -> None:
    """End a message: from now on it is in no list, search or count, nor are its readers."""
    update_row(transaction, "agent_messages", number, expires_at=now, seq=transaction.next_seq(project_id))
    transaction.run(
        "UPDATE message_reads SET expires_at = :now WHERE message_id = :id AND expires_at > :now",
        {"id": number, "now": now},
    )
    documents.set_expiry(transaction, Kind.MESSAGE, [(number, now)])


def readers(transaction: Transaction, project_id: int, sender: int | None, number: int) -> str:
    """Return the names of those who have read a message or were shown it, but for its sender."""
    rows = transaction.all(
        """
        SELECT a.name FROM message_reads r JOIN agents a ON a.id = r.agent_id WHERE r.message_id = :id
        UNION
        SELECT a.name FROM deliveries d JOIN windows w ON w.id = d.window_id JOIN agents a ON a.id = w.agent_id
        WHERE w.project_id = :project AND d.kind = :kind AND d.item_id = :id AND w.agent_id <> :sender
        """,
        {"id": number, "project": project_id, "kind": Kind.MESSAGE.number, "sender": sender},
    )
    return ", ".join(sorted(name for (name,) in rows))


def _searchable(message: str, payload: str | None) -> str:
    # of a payload only the values are searched, not the names in its objects
    if payload is None:
        return message
    try:
        return "\n".join((message, *json_texts(json.loads(payload))))
    except (ValueError, RecursionError):
        return f"{message}\n{payload}"


DOCUMENTS = documents.Source(
    Kind.MESSAGE, "message, payload", _searchable, type="type", agent_id="from_agent_id", expires_at="expires_at"
)
