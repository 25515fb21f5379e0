"""Reading messages: every filter, one snapshot for the count and the page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from satchel.base.clock import check_since
from satchel.base.errors import InvalidInput, nearest, unknown_name
from satchel.base.paging import Reading, check_page, check_reading
from satchel.base.text import check_name
from satchel.base.vocabulary import PRIORITIES, priority_number
from satchel.find.kind import Kind
from satchel.keep import names
from satchel.keep.messages.records import MESSAGE_TYPES, Message
from satchel.keep.messages.visibility import (
    ALIVE,
    ARMS,
    IS_MINE,
    IS_MINE_OR_SENT,
    NOBODY,
    NOT_GONE,
    UNREAD,
    Counts,
    Reader,
    count,
)
from satchel.keep.projects import Workplace
from satchel.store.transaction import Row, Transaction


@dataclass(frozen=True, slots=True)
class Filter(Reading):
    """What to read, checked. None means that a filter was not given."""

    unread: bool
    types: tuple[int, ...]
    priority: int | None
    sender: str | None
    thread: int | None

    @property
    def is_plain(self) -> bool:
        """Whether the whole inbox is meant, or all that is unread in it."""
        others = (self.priority, self.sender, self.thread, self.search, self.since, self.after_seq)
        return not self.types and all(value is None for value in others)


def check_filter(
    workplace: Workplace,
    *,
    unread: bool,
    types: Sequence[str] | None,
    priority: str | None,
    sender: str | None,
    thread: str | int | None,
    search: str | None,
    since: str | int | None,
    after_seq: int | None,
    order: str | None,
    limit: int,
    offset: int,
) -> Filter:
    """Check every filter at the edge.

    Raises:
        InvalidInput: a filter is empty, unknown, out of range, or two contradict each other.
    """
    if not isinstance(unread, bool):
        raise InvalidInput(f"unread {unread!r} is neither true nor false", "Give true, or leave it out")
    if types is not None and (isinstance(types, str) or not types):
        raise InvalidInput("types is no list of message types", 'Give at least one, as in ["warning"], or leave it out')
    check_reading(order=order, search=search, after_seq=after_seq)
    check_page(limit, offset)
    return Filter(
        unread=unread,
        types=tuple(dict.fromkeys(map(type_number, types or ()))),
        priority=None if priority is None else priority_number(priority),
        sender=None if sender is None else check_name(sender, "sender"),
        thread=None if thread is None else Kind.MESSAGE.number_of(thread),
        search=search,
        since=check_since(since, workplace.clock()),
        after_seq=after_seq,
        order=order,
        limit=limit,
        offset=offset,
    )


def type_number(name: object) -> int:
    """Return the number of a message type.

    Raises:
        InvalidInput: there is no such type.
    """
    if isinstance(name, str) and name in MESSAGE_TYPES:
        return MESSAGE_TYPES.index(name) + 1
    raise unknown_name("message type", name, MESSAGE_TYPES)


def nearest_actor(transaction: Transaction, project_id: int, name: str) -> str:
    """Return a sentence's end that points to the agent of the nearest name which has acted; empty if none is near."""
    rows = transaction.all(
        "SELECT name FROM agents WHERE project_id = :project AND has_acted = 1", {"project": project_id}
    )
    close = nearest(name, [row[0] for row in rows])
    return f"; did you mean {close!r}?" if close else ""


def read(
    transaction: Transaction, reader: Reader, chosen: Filter
) -> tuple[tuple[Message, ...], int, int, tuple[str, ...]]:
    """Return the page, its total, how many unread messages the reader has in all, and notes for it."""
    counts = count(transaction, reader)
    values = reader.values
    parts, notes = _conditions(transaction, reader.project_id, chosen, values)
    if parts is None:
        return (), 0, counts.unread, notes
    if chosen.search is not None:
        from satchel.keep.messages import searching

        hits, total, notes = searching.search(
            transaction, reader, chosen, chosen.search, visible(chosen, parts), values
        )
        return load(transaction, reader, hits), total, counts.unread, notes
    if chosen.thread is not None:
        numbers, total = _list(transaction, [visible(chosen, parts)], chosen, values, None)
    else:
        arms = [" AND ".join((arm, *parts, ALIVE)) for arm in ARMS]
        if not chosen.unread:
            arms[1] = f"{arms[1]} AND {NOT_GONE}"
        numbers, total = _list(transaction, arms, chosen, values, counts if chosen.is_plain else None)
    return load(transaction, reader, dict.fromkeys(numbers)), total, counts.unread, notes


def visible(chosen: Filter, parts: Sequence[str]) -> str:
    """Return the condition for messages found by other means than walking the inbox: in it, and passing the filters.

    In a thread what the reader sent itself belongs to it.
    """
    place = IS_MINE if chosen.thread is None or chosen.unread else IS_MINE_OR_SENT
    return " AND ".join((place, *parts, ALIVE, NOT_GONE))


def _conditions(
    transaction: Transaction, project_id: int, chosen: Filter, values: dict[str, object]
) -> tuple[list[str] | None, tuple[str, ...]]:
    """Return the filters as conditions, whose values are added, and notes; None where nothing can pass them."""
    parts: list[str] = []
    if chosen.thread is not None:
        thread = _find_thread(transaction, values, chosen.thread)
        if thread is None:
            return None, (f"there is no message {Kind.MESSAGE.ref(chosen.thread)} in this project, or it has expired",)
        parts.append("(m.id = :thread OR m.thread_id = :thread)")
        values["thread"] = thread
    if chosen.sender is not None:
        sender = names.find_agent(transaction, project_id, chosen.sender)
        if sender == NOBODY:
            close = nearest_actor(transaction, project_id, chosen.sender)
            return None, (f"there is no agent {chosen.sender!r}{close}",)
        parts.append("m.from_agent_id = :sender")
        values["sender"] = sender
    if chosen.unread:
        parts.append(UNREAD)
    if chosen.types:
        # numbers of our own, so they may stand in the text
        parts.append(f"m.type IN ({', '.join(map(str, chosen.types))})")
    if chosen.priority is not None:
        parts.append(f"m.priority >= {chosen.priority}")
    if chosen.since is not None:
        parts.append("m.created_at >= :since")
        values["since"] = chosen.since
    if chosen.after_seq is not None:
        parts.append("m.seq > :after")
        values["after"] = chosen.after_seq
    return parts, ()


def _find_thread(transaction: Transaction, values: dict[str, object], number: int) -> int | None:
    """Return the number of the message that began a thread, which may be gone, given any message of it."""
    row = transaction.one(
        """
        SELECT COALESCE(thread_id, id) FROM agent_messages
        WHERE (id = :number OR thread_id = :number) AND +project_id = :project AND +expires_at > :now LIMIT 1
        """,
        {**values, "number": number},
    )
    return None if row is None else int(row[0])


def _list(
    transaction: Transaction, arms: Sequence[str], chosen: Filter, values: dict[str, object], counts: Counts | None
) -> tuple[list[int], int]:
    """Return the numbers of a page in order, and how many there are in all.

    Args:
        arms: conditions that exclude each other.
        counts: where they are known already, of the whole inbox.
    """
    tops = [chosen.offset + chosen.limit] * len(arms)
    if counts is None:
        sums = " + ".join(f"(SELECT count(*) FROM agent_messages m WHERE {arm})" for arm in arms)
        row = transaction.one(f"SELECT {sums}", values)
        assert row is not None
        total = int(row[0])
    elif chosen.unread:
        # once the last unread one is found, nobody walks on through all that was read
        total, tops = counts.unread, [min(tops[0], counts.unread_own), min(tops[0], counts.unread_all)]
    else:
        total = counts.total
    if not chosen.limit or chosen.offset >= total:
        return [], total
    direction = "ASC" if chosen.order == "asc" else "DESC"
    order = "seq" if chosen.after_seq is not None else f"created_at {direction}, id {direction}"
    # no more columns than the indexes hold
    columns = "id, seq" if chosen.after_seq is not None else "id, created_at"
    limited = " UNION ALL ".join(
        f"SELECT * FROM (SELECT {columns} FROM agent_messages m WHERE {arm} ORDER BY {order} LIMIT {top})"
        for arm, top in zip(arms, tops, strict=True)
    )
    rows = transaction.all(
        f"SELECT id FROM ({limited}) AS merged ORDER BY {order} LIMIT :limit OFFSET :offset",
        {**values, "limit": chosen.limit, "offset": chosen.offset},
    )
    return [row[0] for row in rows], total


def load(transaction: Transaction, reader: Reader, scores: dict[int, float | None]) -> tuple[Message, ...]:
    """Return messages in the order of their numbers in ``scores``, as the reader sees them."""
    if not scores:
        return ()
    rows = transaction.all(
        f"""
        SELECT m.id, m.uid, m.seq, s.name, t.name, m.type, m.priority, m.message, m.payload, p.id,
            COALESCE(m.thread_id, m.id), m.created_at, m.expires_at, r.read_at
        FROM agent_messages m
        LEFT JOIN agents s ON s.id = m.from_agent_id
        LEFT JOIN agents t ON t.id = m.to_agent_id
        LEFT JOIN message_reads r ON r.agent_id = :me AND r.message_id = m.id
        LEFT JOIN agent_messages p ON p.id = m.reply_to AND p.expires_at > :now
        WHERE m.id IN ({", ".join(map(str, scores))})
        """,
        reader.values,
    )
    found = {row[0]: row for row in rows}
    return tuple(_message(found[number], score) for number, score in scores.items() if number in found)


def _message(row: Row, score: float | None) -> Message:
    number, uid, seq, sender, to, kind, priority, text, stored, reply_to, thread, created, expires, read_at = row
    payload: object = stored
    notes: tuple[str, ...] = ()
    if stored is not None:
        try:
            payload = json.loads(stored)
        except (ValueError, RecursionError):  # as a row written by other means may be
            notes = (f"the payload of {Kind.MESSAGE.ref(number)} is no JSON; it is shown as text",)
    return Message(
        number,
        uid.hex(),
        seq,
        sender,
        to,
        MESSAGE_TYPES[kind - 1],
        PRIORITIES[priority - 1],
        text,
        payload,
        reply_to,
        thread,
        created,
        expires,
        read_at,
        score,
        notes,
    )
