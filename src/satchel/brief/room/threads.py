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
from satchel.store.transaction import grouped, set_of

# How many messages of one thread are shown.
MOST_OF_ONE = 200


@dataclass(frozen=True, slots=True)
class Thread:
    """A message and its answers, in order.

    Attributes:
        thread: the short id of the first message, which may have expired.
        messages: the first of ``total``.
        total: how many there are.
    """

    thread: str
    messages: tuple[Message, ...]
    total: int


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
    messages = []
    for number, to, text, at in rows:
        answer = answer_of.get(number, (None, None, None))
        line, came_to = shortened(text, LINE_CHARS), tuple(receipts.get(number, ()))
        messages.append(SentMessage(Kind.MESSAGE.ref(number), to, line, came_to, *answer, at))
    return SentMessages(tuple(messages), look.now)


# In how many windows, newest first, deliveries of messages are looked for.
_WINDOWS = 500


def one(look: Look, number: int) -> Thread:
    """Return the thread of a message."""
    rows = look.rows(
        "SELECT COALESCE(thread_id, id) FROM agent_messages "
        "WHERE id = :id AND project_id = :project AND expires_at > :now",
        id=number,
    )
    if not rows:
        raise NotFound(
            f"there is no message {Kind.MESSAGE.ref(number)} in this project, or it has expired",
            "Lists of messages have the ids",
        )
    ((thread,),) = rows
    messages = load_thread(look.transaction, Reader(look.project_id, NOBODY, look.now), thread, MOST_OF_ONE)
    total = len(messages)
    if total == MOST_OF_ONE:
        [[total]] = look.rows(
            "SELECT count(*) FROM agent_messages WHERE (id = :thread OR thread_id = :thread) AND +expires_at > :now",
            thread=thread,
        )
    return Thread(Kind.MESSAGE.ref(thread), tuple(messages), total)
