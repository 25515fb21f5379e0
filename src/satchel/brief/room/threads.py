"""Threads of messages, whoever they are addressed to."""

from __future__ import annotations

from satchel.base.errors import NotFound
from satchel.base.records import dataclass
from satchel.base.text import shortened
from satchel.brief.room.looking import LINE_CHARS, Look
from satchel.find.kind import Kind
from satchel.keep.messages.queries import load_thread
from satchel.keep.messages.records import Message
from satchel.keep.messages.visibility import NOBODY, Reader
from satchel.store.transaction import Transaction, grouped, set_of

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


@dataclass(frozen=True, slots=True)
class Receipt:
    """An agent to whom a message came.

    Attributes:
        delivered_at: when it was first added to the agent's context, ``read_at`` when it was marked as read, in
            milliseconds UTC; None for not yet.
    """

    agent: str
    delivered_at: int | None
    read_at: int | None


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message that a person sent.

    Attributes:
        ref: its short id.
        to: its addressee, also where a later session took it over; None is everyone.
        text: one line.
        receipts: the agents to whom it came, the first first.
        answer: the short id of the first answer by another, with ``answered_by`` and ``answered_at``, in milliseconds
            UTC; None without one.
        sent_at: in milliseconds UTC.
    """

    ref: str
    to: str | None
    text: str
    receipts: tuple[Receipt, ...]
    answer: str | None
    answered_by: str | None
    answered_at: int | None
    sent_at: int


@dataclass(frozen=True, slots=True)
class SentMessages:
    """Messages that a person sent, the latest first; ``asked_at`` is in milliseconds UTC."""

    items: tuple[SentMessage, ...]
    asked_at: int


def sent_by(look: Look, most: int) -> SentMessages:
    rows = look.rows(
        """
        SELECT m.id, a.name, m.message, m.created_at FROM agent_messages m
        LEFT JOIN agents a ON a.id = COALESCE(m.first_to_id, m.to_agent_id)
        WHERE m.project_id = :project AND m.from_agent_id IN (:me, :former) AND m.expires_at > :now
        ORDER BY m.created_at DESC, m.id DESC LIMIT :most
        """,
        most=most,
    )
    numbers = set_of(row[0] for row in rows)
    came = look.rows(
        f"""
        SELECT message, agent, min(delivered_at), max(read_at) FROM (
            SELECT r.message_id AS message, r.agent_id AS agent, CAST(NULL AS BIGINT) AS delivered_at, r.read_at
            FROM message_reads r WHERE r.message_id IN {numbers}
            UNION ALL
            SELECT d.item_id, w.agent_id, d.created_at, NULL FROM (
                SELECT id, agent_id FROM windows WHERE project_id = :project ORDER BY id DESC LIMIT {_WINDOWS}
            ) w JOIN deliveries d ON d.window_id = w.id
            WHERE d.kind = {Kind.MESSAGE.number} AND d.item_id IN {numbers}
        ) AS receipts GROUP BY 1, 2
        """
    ) if rows else []  # fmt: skip
    names = dict(look.rows(f"SELECT id, name FROM agents WHERE id IN {set_of(row[1] for row in came)}")) if came else {}
    receipts = grouped(
        (message, Receipt(names[agent], delivered, read))
        for message, agent, delivered, read in sorted(came, key=lambda one: (one[3] or one[2], one[1]))
        if agent in names and agent != look.number
    )
    answers = look.rows(
        f"""
        SELECT m.reply_to, m.id, a.name, m.created_at FROM agent_messages m
        LEFT JOIN agents a ON a.id = m.from_agent_id
        WHERE m.reply_to IN {numbers} AND m.from_agent_id IS DISTINCT FROM :me ORDER BY m.id DESC
        """
    ) if rows else []  # fmt: skip
    answer_of: dict[int, tuple[str | None, str | None, int | None]] = {
        to: (Kind.MESSAGE.ref(number), agent, at) for to, number, agent, at in answers
    }
    nothing: tuple[str | None, str | None, int | None] = (None, None, None)
    sent = tuple(
        SentMessage(
            Kind.MESSAGE.ref(number),
            to,
            shortened(text, LINE_CHARS),
            tuple(receipts.get(number, ())),
            *answer_of.get(number, nothing),
            at,
        )
        for number, to, text, at in rows
    )
    return SentMessages(sent, look.now)


# In how many windows, newest first, deliveries of messages are looked for.
_WINDOWS = 500


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
    items = tuple(_thread(transaction, reader, thread) for _, thread in rows[:limit])
    return Threads(items, Kind.MESSAGE.ref(rows[limit - 1][0]) if len(rows) > limit else None, now)


def one(transaction: Transaction, project_id: int, number: int, now: int) -> Thread:
    """Return the thread of a message."""
    row = transaction.one(
        "SELECT COALESCE(thread_id, id) FROM agent_messages "
        "WHERE id = :id AND project_id = :project AND expires_at > :now",
        {"id": number, "project": project_id, "now": now},
    )
    if row is None:
        raise NotFound(
            f"there is no message {Kind.MESSAGE.ref(number)} in this project, or it has expired",
            "The list of threads has the ids",
        )
    return _thread(transaction, Reader(project_id, NOBODY, now), row[0])


def _thread(transaction: Transaction, reader: Reader, number: int) -> Thread:
    messages = load_thread(transaction, reader, number, MOST_OF_ONE)
    total = len(messages)
    if total == MOST_OF_ONE:
        row = transaction.one(
            "SELECT count(*) FROM agent_messages WHERE (id = :thread OR thread_id = :thread) AND +expires_at > :now",
            {"thread": number, "now": reader.now},
        )
        total = total if row is None else int(row[0])
    return Thread(Kind.MESSAGE.ref(number), tuple(_nested(messages)), total)


def _nested(messages: list[Message]) -> list[ThreadMessage]:
    ids = {one.id for one in messages}
    answers = grouped((one.reply_to if one.reply_to in ids else None, one) for one in messages)
    nested: list[ThreadMessage] = []
    waiting = [(0, message) for message in reversed(answers.get(None, []))]
    while waiting:
        depth, message = waiting.pop()
        nested.append(ThreadMessage(depth, message))
        waiting += [(depth + 1, answer) for answer in reversed(answers.get(message.id, []))]
    return nested
