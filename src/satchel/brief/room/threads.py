"""Threads of messages, whoever they are addressed to."""

from __future__ import annotations

from satchel.base.errors import NotFound
from satchel.base.records import dataclass
from satchel.find.kind import Kind
from satchel.keep.messages.queries import load_thread
from satchel.keep.messages.records import Message
from satchel.keep.messages.visibility import NOBODY, Reader
from satchel.store.transaction import Transaction, grouped

MOST = 50
"""How many threads are listed at once."""

MOST_OF_ONE = 200
"""How many messages of one thread are shown."""


@dataclass(frozen=True, slots=True)
class ThreadMessage:
    """One message in its thread.

    Attributes:
        depth: the number of messages between it and the first one shown; 0 for that.
        message: with its readers.
    """

    depth: int
    message: Message


@dataclass(frozen=True, slots=True)
class Thread:
    """A message and its answers, each after the message that it answers.

    Attributes:
        thread: the short id of the first message, which may have expired.
        messages: the first of ``total``.
        total: how many there are.
    """

    thread: str
    messages: tuple[ThreadMessage, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Threads:
    """Threads, the one with the latest message first.

    Attributes:
        before: the cursor for the next page; None at the end.
        asked_at: in milliseconds UTC.
    """

    items: tuple[Thread, ...]
    before: str | None
    asked_at: int


def find(
    transaction: Transaction, project_id: int, agent: int | None, before: int | None, limit: int, now: int
) -> Threads:
    """Return threads with messages from or to an agent (None is any), whose latest one is older than ``before``."""
    # threads are read by the id of their latest message, the order of their index
    of_agent = "" if agent is None else "AND :agent IN ({0}.from_agent_id, {0}.to_agent_id, {0}.first_to_id)"
    older = "" if before is None else "AND m.id < :before"
    rows = transaction.all(
        f"""
        SELECT m.id, COALESCE(m.thread_id, m.id) FROM agent_messages m
        WHERE +m.project_id = :project AND +m.expires_at > :now {older} {of_agent.format("m")}
            AND NOT EXISTS (
                SELECT 1 FROM agent_messages n WHERE n.thread_id = COALESCE(m.thread_id, m.id) AND n.id > m.id
                    AND +n.expires_at > :now {of_agent.format("n")}
            )
        ORDER BY m.id DESC LIMIT :limit
        """,
        {"project": project_id, "now": now, "agent": agent, "before": before, "limit": limit + 1},
    )
    reader = Reader(project_id, NOBODY, now)
    items = tuple(_thread(transaction, reader, thread, MOST_OF_ONE) for _, thread in rows[:limit])
    return Threads(items, Kind.MESSAGE.ref(rows[limit - 1][0]) if len(rows) > limit else None, now)


def one(transaction: Transaction, project_id: int, number: int, now: int) -> Thread:
    """Return the thread of a message.

    Raises:
        NotFound: the project has no such message, or it has expired.
    """
    row = transaction.one(
        "SELECT COALESCE(thread_id, id) FROM agent_messages "
        "WHERE id = :id AND project_id = :project AND expires_at > :now",
        {"id": number, "project": project_id, "now": now},
    )
    if row is None:
        raise no_message(number)
    return _thread(transaction, Reader(project_id, NOBODY, now), row[0], MOST_OF_ONE)


def no_message(number: int) -> NotFound:
    return NotFound(
        f"there is no message {Kind.MESSAGE.ref(number)} in this project, or it has expired",
        "The list of threads has the ids",
    )


def _thread(transaction: Transaction, reader: Reader, number: int, most: int) -> Thread:
    messages = load_thread(transaction, reader, number, most)
    total = len(messages)
    if total == most:
        row = transaction.one(
            "SELECT count(*) FROM agent_messages WHERE (id = :thread OR thread_id = :thread) AND +expires_at > :now",
            {"thread": number, "now": reader.now},
        )
        total = total if row is None else int(row[0])
    return Thread(Kind.MESSAGE.ref(number), tuple(_nested(messages)), total)


def _nested(messages: list[Message]) -> list[ThreadMessage]:
    """Return messages, each after the one that it answers; an answer to none of them has depth 0."""
    ids = {one.id for one in messages}
    answers = grouped((one.reply_to if one.reply_to in ids else None, one) for one in messages)
    nested: list[ThreadMessage] = []
    waiting = [(0, message) for message in reversed(answers.get(None, []))]
    while waiting:
        depth, message = waiting.pop()
        nested.append(ThreadMessage(depth, message))
        waiting += [(depth + 1, answer) for answer in reversed(answers.get(message.id, []))]
    return nested
