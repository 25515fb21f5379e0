"""How messages are listed."""

from __future__ import annotations

import json
from collections.abc import Sequence

from satchel.base.errors import InvalidInput, nearest
from satchel.base.records import replace
from satchel.base.vocabulary import PRIORITIES, number_of
from satchel.find.kind import Kind
from satchel.keep import listing as filters
from satchel.keep.common_filters import ListFilters
from satchel.keep.listing import Filter, Listing, View
from satchel.keep.messages.records import MESSAGE_TYPES, Message
from satchel.keep.messages.updates import DOCUMENTS
from satchel.keep.messages.visibility import (
    ALIVE,
    ARMS,
    IS_MINE,
    IS_MINE_OR_SENT,
    NOT_GONE,
    UNREAD,
    Counts,
    Reader,
    count,
    find_reader,
)
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import find_authors
from satchel.store.transaction import Row, Transaction, set_of


class MessageFilters(ListFilters, total=False):
    """What messages are listed by.

    Keys:
        unread: only those that the reader has not marked as read.
        types: only these types; at least one.
        priority: only this one or a higher one.
        sender: only messages of this agent, or of a client's agents; ``me``, or the reader's own name, lists what it
            sent.
        thread: the id of any message of a thread: only that thread, and with what the reader sent in it.
    """

    unread: bool
    types: Sequence[str] | None
    priority: str | None
    sender: str | None
    thread: str | int | None


def type_number(name: object) -> int:
    """Return the number of a message type, as :func:`number_of` does."""
    return number_of("message type", name, MESSAGE_TYPES)


_MOST_NAMED = 5


def nearest_actor(transaction: Transaction, project_id: int, name: str) -> str | None:
    """Return the name, of an agent that has acted, which is nearest to one; None if none is near."""
    rows = transaction.all(
        "SELECT name FROM agents WHERE project_id = :project AND has_acted = 1", {"project": project_id}
    )
    return nearest(name, [row[0] for row in rows])


def others_hint(transaction: Transaction, project_id: int, agent: int | None) -> str:
    """Return a sentence's end that names the agents other than one that came last; empty if there are none."""
    rows = transaction.all(
        f"""
        SELECT name FROM agents WHERE project_id = :project AND has_acted = 1 AND id IS DISTINCT FROM :agent
        ORDER BY created_at DESC, id DESC LIMIT {_MOST_NAMED}
        """,
        {"project": project_id, "agent": agent},
    )
    return f"; known here: {', '.join(row[0] for row in rows)}" if rows else ""


def _check_unread(value: object, _: Workplace) -> bool | None:
    if not isinstance(value, bool):
        raise InvalidInput(f"unread {value!r} is neither true nor false", "Give true, or leave it out")
    return value


def _begin(view: View) -> None:
    """Look up whose messages these are, which the field ``agent`` says, and how many of them are unread."""
    if view.project_id is None:
        return
    reader, view.fields["agent"] = find_reader(
        view.transaction, view.project_id, view.fields["agent"], view.request.now
    )
    view.fields["asked_at"] = view.request.now
    view.values |= reader.values
    view.begun = count(view.transaction, reader)
    view.fields["unread"] = view.begun.unread
    chosen = view.request.chosen
    view.me = reader.agent_id
    is_of_reader = "sender" in chosen and reader.agent_id in find_authors(
        view.transaction, view.workplace, reader.project_id, chosen["sender"], me=reader.agent_id
    )
    with_sent = not chosen.get("unread") and ("thread" in chosen or is_of_reader)
    if view.request.query is not None or with_sent or "thread" in chosen:
        # not by walking the inbox; in a thread what the reader sent itself belongs to it
        view.base = ALIVE
        view.where(IS_MINE_OR_SENT if with_sent else IS_MINE)
        view.where(NOT_GONE)
    if is_of_reader:
        view.where("m.project_id = :project")


def _in_thread(view: View, number: int) -> None:
    row = view.transaction.one(
        """
        SELECT COALESCE(thread_id, id) FROM agent_messages
        WHERE (id = :number OR thread_id = :number) AND +project_id = :project AND +expires_at > :now LIMIT 1
        """,
        {**view.values, "number": number},
    )
    if row is None:
        view.is_empty = True
        view.notes.append(f"there is no message {Kind.MESSAGE.ref(number)} in this project, or it has expired")
    else:
        view.where(f"(m.id = {row[0]} OR m.thread_id = {row[0]})")


def _arms(view: View) -> tuple[Sequence[int], int] | None:
    """Return a page of an inbox: its parts are walked in order, each in an index of its own, and merged."""
    asked, counts = view.request, view.begun
    assert isinstance(counts, Counts)
    if view.base == ALIVE:
        return None
    unread = asked.chosen.get("unread", False)
    arms = [" AND ".join((arm, *view.conditions, ALIVE)) for arm in ARMS]
    if not unread:
        arms[1:] = [f"{arm} AND {NOT_GONE}" for arm in arms[1:]]
    tops = [asked.offset + asked.limit] * len(arms)
    if asked.chosen.keys() - {"unread"} or asked.common or asked.after_seq is not None:
        sums = " + ".join(f"(SELECT count(*) FROM agent_messages m WHERE {arm})" for arm in arms)
        row = view.transaction.one(f"SELECT {sums}", view.values)
        assert row is not None
        total = int(row[0])
    elif unread:
        # once the last unread one is found, nobody walks on through all that was read
        own, others = (min(tops[0], unread) for unread in (counts.unread_own, counts.unread_all))
        total, tops = counts.unread, [own, others, others]
    else:
        total = counts.total
    if not asked.limit or asked.offset >= total:
        return (), total
    way = "ASC" if asked.order == "asc" else "DESC"
    order = "seq" if asked.after_seq is not None else f"created_at {way}, id {way}"
    # no more columns than the indexes hold
    columns = "id, seq" if asked.after_seq is not None else "id, created_at"
    limited = " UNION ALL ".join(
        f"SELECT * FROM (SELECT {columns} FROM agent_messages m WHERE {arm} ORDER BY {order} LIMIT {top}) AS arm"
        for arm, top in zip(arms, tops, strict=True)
    )
    rows = view.transaction.all(
        f"SELECT id FROM ({limited}) AS merged ORDER BY {order} LIMIT :limit OFFSET :offset",
        {**view.values, "limit": asked.limit, "offset": asked.offset},
    )
    return [row[0] for row in rows], total


_COLUMNS = """
    m.id, m.uid, m.seq, s.name, t.name, m.type, m.priority, m.message, m.payload, p.id, COALESCE(m.thread_id, m.id),
    m.created_at, m.expires_at, r.read_at
"""
_SOURCE = """
    agent_messages m
    LEFT JOIN agents s ON s.id = m.from_agent_id
    LEFT JOIN agents t ON t.id = COALESCE(m.first_to_id, m.to_agent_id)
    LEFT JOIN message_reads r ON r.agent_id = :me AND r.message_id = m.id
    LEFT JOIN agent_messages p ON p.id = m.reply_to AND p.expires_at > :now
"""


def load(transaction: Transaction, reader: Reader, number: int) -> Message:
    """Return one message as it was just sent."""
    row = transaction.one(f"SELECT {_COLUMNS} FROM {_SOURCE} WHERE m.id = {number}", reader.values)
    assert row is not None
    return _message(row, None)


def load_alive(transaction: Transaction, reader: Reader, number: int) -> Message | None:
    """Return one message of the project as its reader sees it, also one to others; None where it is not alive."""
    row = transaction.one(
        f"SELECT {_COLUMNS} FROM {_SOURCE} WHERE m.id = {number} AND m.project_id = :project AND {ALIVE}",
        reader.values,
    )
    if row is None:
        return None
    return _with_fates(transaction, reader.project_id, reader.agent_id, reader.now, [_message(row, None)])[0]


def last_answer(transaction: Transaction, number: int, now: int) -> tuple[int, str | None] | None:
    """Return the number of the last message that answers one, and its sender; None where none does."""
    row: tuple[int, str | None] | None = transaction.one(
        """
        SELECT m.id, a.name FROM agent_messages m LEFT JOIN agents a ON a.id = m.from_agent_id
        WHERE m.reply_to = :number AND +m.expires_at > :now ORDER BY m.id DESC LIMIT 1
        """,
        {"number": number, "now": now},
    )
    return row


def load_thread(transaction: Transaction, reader: Reader, number: int, most: int) -> list[Message]:
    """Return the messages of a thread that are alive, whoever they are to, in order, each with all who read it.

    Args:
        number: that of the message that began the thread.
        most: how many at most, the first.
    """
    rows = transaction.all(
        f"SELECT {_COLUMNS} FROM {_SOURCE} WHERE (m.id = {number} OR m.thread_id = {number}) "
        f"AND +m.project_id = :project AND {ALIVE} ORDER BY m.created_at, m.id LIMIT {most}",
        reader.values,
    )
    messages = [_message(row, None) for row in rows]
    return list(_with_fates(transaction, reader.project_id, None, reader.now, messages))


def _message(row: Row, score: float | None) -> Message:
    """Turn a row of :data:`_COLUMNS`, which stand in the order of the fields, into a record."""
    number, uid, seq, sender, to, kind, priority, text, stored, *rest = row
    payload: object = stored
    notes: tuple[str, ...] = ()
    if stored is not None:
        try:
            payload = json.loads(stored)
        except (ValueError, RecursionError):  # as a row written by other means may be
            notes = (f"the payload of {Kind.MESSAGE.ref(number)} is no JSON; it is shown as text",)
    rest += [score, notes]
    names = MESSAGE_TYPES[kind - 1], PRIORITIES[priority - 1]
    return Message(number, uid.hex(), seq, sender, to, *names, text, payload, *rest)


def _made(view: View, rows: Sequence[Row]) -> tuple[Message, ...]:
    messages = [_message(row, view.scores.get(row[0])) for row in rows]
    assert view.project_id is not None
    return _with_fates(view.transaction, view.project_id, view.values["me"], view.request.now, messages)


def _with_fates(
    transaction: Transaction, project_id: int, reader: int | None, now: int, messages: Sequence[Message]
) -> tuple[Message, ...]:
    """Return messages with what became of them: who read those that the reader sent, and what answers them.

    Args:
        reader: the number of the agent that reads; None is told of all who read what.
        now: milliseconds UTC.
    """
    if not messages:
        return ()
    numbers = set_of(one.id for one in messages)
    by_reader = "" if reader is None else "AND from_agent_id = :me"
    rows = transaction.all(
        f"""
        WITH sent AS (
            SELECT id, to_agent_id FROM agent_messages WHERE id IN {numbers} {by_reader}
        ), known AS (
            SELECT r.message_id AS id, r.agent_id FROM message_reads r JOIN sent ON sent.id = r.message_id
            UNION
            SELECT sent.id, w.agent_id FROM sent JOIN windows w ON w.project_id = :project AND w.agent_id = to_agent_id
            JOIN deliveries d ON d.window_id = w.id AND d.kind = {Kind.MESSAGE.number} AND d.item_id = sent.id
        )
        SELECT known.id, a.name, NULL FROM known JOIN agents a ON a.id = known.agent_id
        UNION ALL
        SELECT reply_to, NULL, max(id) FROM agent_messages
        WHERE reply_to IN {numbers} AND +expires_at > :now GROUP BY reply_to
        """,
        {"project": project_id, "me": reader, "now": now},
    )
    readers: dict[int, list[str]] = {}
    answers: dict[int, int] = {}
    for number, name, answer in rows:
        if name is not None:
            readers.setdefault(number, []).append(name)
        else:
            answers[number] = answer
    return tuple(
        replace(
            one,
            read_by=tuple(sorted(readers.get(one.id, ()))),
            answered_by=answers.get(one.id),
        )
        if one.id in readers or one.id in answers
        else one
        for one in messages
    )


LISTING = Listing(
    kind=Kind.MESSAGE,
    table="agent_messages m",
    columns=_COLUMNS,
    source=_SOURCE,
    make=_made,
    texts=DOCUMENTS.texts,
    filters=(
        Filter("thread", lambda value, _: Kind.MESSAGE.number_of(value), _in_thread),
        filters.author("m.from_agent_id", "sender", said_as="from"),
        Filter("unread", _check_unread, lambda view, unread: view.where(UNREAD) if unread else None, hides=False),
        filters.types("m.type", Kind.MESSAGE, "message", "warning", type_number),
        filters.least_priority("m.priority"),
    ),
    begin=_begin,
    plan=_arms,
)
