"""Toolset ``messages``: what agents tell each other."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.client import Satchel
from satchel.interfaces.mcp.answer import answer
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.parameters import (
    ACTOR,
    CHANGES,
    FLAG,
    FORMAT,
    LEAST_PRIORITY,
    PRIORITY,
    TEXT,
    TEXTS,
    choice,
    said,
    takes,
    texts,
)
from satchel.interfaces.mcp.registry import Tool

_TYPE = choice("decision", "warning", "request", "info")


def send_message(
    call: Call[Satchel],
    /,
    *,
    message: str,
    to: str | None = None,
    type: str = "info",  # noqa: A002 -- the field's own name
    priority: str = "medium",
    payload: object = None,
    reply_to: str | None = None,
    agent: str | None = None,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Send a message to one agent, or to all."""
    from satchel.interfaces.ledger.messages_text import sent_text
    from satchel.interfaces.to_json import fields_of

    with call.on_cancel(call.service.interrupter()):
        sent = call.service.messages.send(
            message, to=to, type=type, priority=priority, payload=payload, reply_to=reply_to, agent=agent
        )
    return answer(call, format, lambda: sent_text(sent), lambda: fields_of(sent), agent=agent)


def get_messages(
    call: Call[Satchel],
    /,
    *,
    agent: str | None = None,
    unread: bool = False,
    types: Sequence[str] | None = None,
    priority: str | None = None,
    from_: str | None = None,
    thread: str | None = None,
    search: str | None = None,
    since: str | None = None,
    after_seq: int | None = None,
    order: str | None = None,
    limit: int = 20,
    offset: int = 0,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Read an agent's messages."""
    from satchel.interfaces.ledger.messages_text import messages_text
    from satchel.interfaces.to_json import fields_of

    with call.on_cancel(call.service.interrupter()):
        page = call.service.messages.inbox(
            agent=agent,
            unread=unread,
            types=types,
            priority=priority,
            sender=from_,
            thread=thread,
            query=search,
            since=since,
            after_seq=after_seq,
            order=order,
            limit=limit,
            offset=offset,
        )
    return answer(call, format, lambda: messages_text(page), lambda: fields_of(page, "messages"), agent=agent)


def mark_read(
    call: Call[Satchel],
    /,
    *,
    ids: Sequence[str] | None = None,
    all: bool = False,  # noqa: A002 -- the field's own name
    agent: str | None = None,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Record that an agent has read messages."""
    from satchel.interfaces.ledger.messages_text import marked_text
    from satchel.interfaces.to_json import fields_of

    with call.on_cancel(call.service.interrupter()):
        marked = call.service.messages.mark_read(ids, everything=all, agent=agent)
    return answer(call, format, lambda: marked_text(marked), lambda: fields_of(marked), agent=agent)


TOOLS: tuple[Tool[Satchel], ...] = (
    Tool(
        name="send_message",
        toolset="messages",
        description="Tell another agent, or all.",
        parameters=takes(
            {
                "message": TEXT,
                "to": said(TEXT, "An agent; default all, for a reply its sender"),
                "type": _TYPE,
                "priority": PRIORITY,
                "payload": said({"type": ["object", "array", "string", "number", "boolean"]}, "Any JSON"),
                "reply_to": said(TEXT, "A message, such as m12"),
                "agent": ACTOR,
                "format": FORMAT,
            },
            "message",
        ),
        handler=send_message,
        read_only=False,
    ),
    Tool(
        name="get_messages",
        toolset="messages",
        description="Messages to you or to all, newest first or by search. They stay unread until mark_read.",
        parameters=takes(
            {
                "agent": ACTOR,
                "unread": FLAG,
                "types": texts(_TYPE),
                "priority": LEAST_PRIORITY,
                "from": TEXT,
                "thread": said(TEXT, "Any id in it"),
                "search": TEXT,
                **CHANGES,
            }
        ),
        handler=get_messages,
        read_only=True,
    ),
    Tool(
        name="mark_read",
        toolset="messages",
        description="Mark messages as read by you: ids, or all=true.",
        parameters=takes({"ids": said(TEXTS, "Such as m12"), "all": FLAG, "agent": ACTOR, "format": FORMAT}),
        handler=mark_read,
        read_only=False,
    ),
)
