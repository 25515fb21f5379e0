"""Queries for messages."""

from __future__ import annotations

import json
from collections.abc import Sequence

from satchel.base.errors import InvalidInput, nearest
from satchel.base.records import replace
from satchel.base.vocabulary import HUMAN, PRIORITIES, number_of
from satchel.find.kind import Kind
from satchel.keep import listing as filters
from satchel.keep.common_filters import ListFilters
from satchel.keep.listing import Filter, Listing, View
from satchel.keep.messages import visibility
from satchel.keep.messages.records import MESSAGE_TYPES, Message
from satchel.keep.names import PERSONS, is_persons
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import find_authors
from satchel.store.transaction import Row, Transaction, set_of


class MessageFilters(ListFilters, total=False):
    """Filters for messages.

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
    return number_of("message type", name, MESSAGE_TYPES)


_MOST_NAMED = 5


def clients(transaction: Transaction, project_id: int) -> list[str]:
    rows = transaction.all(
        "SELECT DISTINCT client FROM sessions WHERE project_id = :project AND client IS NOT NULL",
        {"project": project_id},
    )
    return [client for (client,) in rows]


def nearest_name(transaction: Transaction, project_id: int, name: str) -> str | None:
    """Return the nearest name of an agent or person that has acted or of a client that was here, or None."""
    rows = transaction.all(
        "SELECT name FROM agents WHERE project_id = :project AND has_acted = 1", {"project": project_id}
    )
    if not is_persons(name):
        return nearest(name, [*clients(transaction, project_id), *(row[0] for row in rows)])
    # with the prefix that they have in common all persons would be near
    near = nearest(name.partition(":")[2], [row[0].partition(":")[2] for row in rows if is_persons(row[0])])
    return f"{HUMAN}:{near}" if near else None


def others_hint(transaction: Transaction, project_id: int, agent: int | None) -> str:
    """Return the end of a sentence that names the newest other agents, or an empty text."""
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
    # the field ``agent`` names the reader
    if not view.project_id:
        return
    reader, view.fields["agent"] = visibility.find_reader(
        view.transaction, view.project_id, view.fields["agent"], view.request.now
    )
    view.fields["asked_at"] = view.request.now
    view.values |= reader.values
    view.begun = visibility.count(view.transaction, reader)
    view.fields["unread"] = view.begun.unread
    arguments = view.request.filters
    view.me = reader.agent_id
    is_of_reader = "sender" in arguments and reader.agent_id in find_authors(
        view.transaction, view.workplace, reader.project_id, arguments["sender"], me=reader.agent_id
    )
    with_sent = not arguments.get("unread") and ("thread" in arguments or is_of_reader)
    if view.request.query is not None or with_sent or "thread" in arguments:
        # not by walking the inbox; in a thread what the reader sent itself belongs to it
        view.base = visibility.ALIVE
        view.where(visibility.IS_MINE_OR_SENT if with_sent else visibility.IS_MINE)
        view.where(visibility.NOT_GONE)
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
    # each part of an inbox is walked in order in its own index, and the parts are merged
    request, counts = view.request, view.begun
    assert isinstance(counts, visibility.Counts)
    if view.base == visibility.ALIVE:
        return None
    unread = request.filters.get("unread", False)
    arms = [" AND ".join((arm, *view.conditions, visibility.ALIVE)) for arm in visibility.ARMS]
    if not unread:
        arms[1:] = [f"{arm} AND {visibility.NOT_GONE}" for arm in arms[1:]]
    tops = [request.offset + request.limit] * len(arms)
    if request.filters.keys() - {"unread"} or request.common or request.after_seq is not None:
        sums = " + ".join(f"(SELECT count(*) FROM agent_messages m WHERE {arm})" for arm in arms)
        [row] = view.transaction.all(f"SELECT {sums}", view.values)
        total = int(row[0])
    elif unread:
        # stop at the last unread one instead of walking through all that were read
        own, others = (min(tops[0], unread) for unread in (counts.unread_own, counts.unread_all))
        total, tops = counts.unread, [own, others, others]
    else:
        total = counts.total
    if not request.limit or request.offset >= total:
        return (), total
    way = "ASC" if request.order == "asc" else "DESC"
    order = "seq" if request.after_seq is not None else f"created_at {way}, id {way}"
    # no more columns than the indexes hold
    columns = "id, seq" if request.after_seq is not None else "id, created_at"
    limited = " UNION ALL ".join(
        f"SELECT * FROM (SELECT {columns} FROM agent_messages m WHERE {arm} ORDER BY {order} LIMIT {top}) AS arm"
        for arm, top in zip(arms, tops, strict=True)
    )
    rows = view.transaction.all(
        f"SELECT id FROM ({limited}) AS merged ORDER BY {order} LIMIT :limit OFFSET :offset",
        {**view.values, "limit": request.limit, "offset": request.offset},
    )
    return [row[0] for row in rows], total


_COLUMNS = """
    m.id, m.uid, m.seq, s.name, t.name, m.type, m.priority, m.message, m.payload, p.id, COALESCE(m.thread_id, m.id),
    m.created_at, m.expires_at, r.read_at, m.answer_by
"""
_SOURCE = """
    agent_messages m
    LEFT JOIN agents s ON s.id = m.from_agent_id
    LEFT JOIN agents t ON t.id = COALESCE(m.first_to_id, m.to_agent_id)
    LEFT JOIN message_reads r ON r.agent_id = :me AND r.message_id = m.id
    LEFT JOIN agent_messages p ON p.id = m.reply_to AND p.expires_at > :now
"""


def load(transaction: Transaction, reader: visibility.Reader, number: int) -> Message:
    [row] = transaction.all(f"SELECT {_COLUMNS} FROM {_SOURCE} WHERE m.id = {number}", reader.values)
    return _message(row, None)


def load_alive(transaction: Transaction, reader: visibility.Reader, number: int) -> Message | None:
    """Return a message as its reader sees it, even one to others; None if it does not exist or has expired."""
    row = transaction.one(
        f"SELECT {_COLUMNS} FROM {_SOURCE} WHERE m.id = {number} AND m.project_id = :project AND {visibility.ALIVE}",
        reader.values,
    )
    if row is None:
        return None
    return _with_fates(transaction, reader.project_id, reader.agent_id, reader.now, [_message(row, None)])[0]


def last_answer(transaction: Transaction, number: int, now: int) -> tuple[int, str | None] | None:
    """Return the number and sender of the last answer to a message, or None."""
    row: tuple[int, str | None] | None = transaction.one(
        """
        SELECT m.id, a.name FROM agent_messages m LEFT JOIN agents a ON a.id = m.from_agent_id
        WHERE m.reply_to = :number AND +m.expires_at > :now ORDER BY m.id DESC LIMIT 1
        """,
        {"number": number, "now": now},
    )
    return row


def load_thread(transaction: Transaction, reader: visibility.Reader, number: int, most: int) -> list[Message]:
    """Return the first ``most`` messages of a thread in order, whoever they are to, each with all its readers.

    ``number`` is that of the message that began the thread.
    """
    rows = transaction.all(
        f"SELECT {_COLUMNS} FROM {_SOURCE} WHERE (m.id = {number} OR m.thread_id = {number}) "
        f"AND +m.project_id = :project AND {visibility.ALIVE} ORDER BY m.created_at, m.id LIMIT {most}",
        reader.values,
    )
    messages = [_message(row, None) for row in rows]
    return list(_with_fates(transaction, reader.project_id, None, reader.now, messages))


def _message(row: Row, score: float | None) -> Message:
    # the columns are in field order
    number, uid, seq, sender, to, kind, priority, text, stored, *rest = row
    payload: object = stored
    notes: tuple[str, ...] = ()
    if stored is not None:
        try:
            payload = json.loads(stored)
        except (ValueError, RecursionError):  # written by another program
            notes = (f"the payload of {Kind.MESSAGE.ref(number)} is not JSON, so it is shown as text",)
    rest += [score, notes]
    names = MESSAGE_TYPES[kind - 1], PRIORITIES[priority - 1]
    return Message(number, uid.hex(), seq, sender, to, *names, text, payload, *rest)


def _make(view: View, rows: Sequence[Row]) -> tuple[Message, ...]:
    messages = [_message(row, view.scores.get(row[0])) for row in rows]
    return _with_fates(view.transaction, view.project_id, view.values["me"], view.request.now, messages)


def _with_fates(
    transaction: Transaction, project_id: int, reader: int | None, now: int, messages: Sequence[Message]
) -> tuple[Message, ...]:
    # adds the readers of messages that ``reader`` sent (of all messages for None), and the answers
    if not messages:
        return ()
    numbers = set_of(message.id for message in messages)
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
        SELECT m.id, NULL, max(r.id) FROM agent_messages m JOIN agent_messages r ON r.reply_to = m.id
        WHERE m.id IN {numbers} AND +r.expires_at > :now AND r.from_agent_id IS DISTINCT FROM m.from_agent_id
            AND (r.from_agent_id IN {PERSONS} OR COALESCE(m.to_agent_id, 0) NOT IN {PERSONS})
        GROUP BY m.id
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
            message,
            read_by=tuple(sorted(readers.get(message.id, ()))),
            answered_by=answers.get(message.id),
        )
        if message.id in readers or message.id in answers
        else message
        for message in messages
    )


LISTING = Listing(
    kind=Kind.MESSAGE,
    table="agent_messages m",
    columns=_COLUMNS,
    source=_SOURCE,
    make=_make,
    filters=(
        Filter("thread", lambda value, _: Kind.MESSAGE.number_of(value), _in_thread),
        filters.author("m.from_agent_id", "sender", parameter="from"),
        Filter(
            "unread", _check_unread, lambda view, unread: view.where(visibility.UNREAD) if unread else None, hides=False
        ),
        filters.types("m.type", Kind.MESSAGE, "message", "warning", type_number),
        filters.least_priority("m.priority"),
    ),
    begin=_begin,
    plan=_arms,
)
