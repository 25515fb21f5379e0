"""Answering, telling and setting aside."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.base.errors import Conflict, NotFound
from satchel.find.kind import Kind
from satchel.interfaces.http.room.asking import Action, Asked, ChangedMeanwhile, Done, Page, Said
from satchel.keep.messages.records import Message


def answer(asked: Asked) -> Done:
    """Answer a message; where another has answered since the form was made, ask first."""
    ref, text = asked.path["ref"], asked.given.get("text", "")
    try:
        sent = asked.satchel.room.answer(ref, text, answered_by=asked.given.get("answered_by") or None)
    except Conflict:
        message = _message(asked, ref)
        now = None if message.answered_by is None else Kind.MESSAGE.ref(message.answered_by)
        if (now or "") == asked.given.get("answered_by", ""):
            raise
        context = {"message": message, "other": _message(asked, now) if now else None, "text": text}
        page = Page(f"{ref} was answered meanwhile", "answered.html", context, None, asked.place)
        raise ChangedMeanwhile(page) from None
    return Done("answered", sent.ref, f"{asked.here}/")


def mark_read(asked: Asked) -> Done:
    """Set a message aside, as read by the person."""
    marked = asked.satchel.messages.mark_read([asked.path["ref"]])
    if marked.unknown or marked.foreign:
        raise Conflict(f"{asked.path['ref']} is gone, or is no message to you", "Nothing was changed")
    return Done("set-aside", asked.path["ref"])


def mark_unread(asked: Asked) -> Done:
    """Show a message again that was set aside."""
    if not asked.satchel.messages.mark_unread([asked.path["ref"]]):
        raise Conflict(f"{asked.path['ref']} was not set aside", "Nothing was changed")
    return Done("unread", asked.path["ref"])


def tell(asked: Asked) -> Done:
    """Send a message to an agent, to the one of a client, or to all."""
    sent = asked.satchel.messages.send(
        asked.given.get("text", ""),
        to=asked.given.get("to", ""),
        type=asked.given.get("message_type") or "info",
        priority=asked.given.get("priority") or "medium",
    )
    return Done("told", sent.ref)


ACTIONS: Mapping[str, Action] = {
    "/messages": tell,
    "/messages/{ref}/answer": answer,
    "/messages/{ref}/read": mark_read,
    "/messages/{ref}/unread": mark_unread,
}
SAID: Mapping[str, Said] = {
    "answered": Said("Your answer was sent"),
    "set-aside": Said("Set aside", "/messages/{ref}/unread"),
    "unread": Said("It needs you again"),
    "told": Said("Your message was sent"),
}


def _message(asked: Asked, ref: str) -> Message:
    """Return a message as nobody, for whom nothing counts as read.

    Raises:
        NotFound: the project has no such message.
    """
    opened = asked.looking.items.read([ref])
    record = opened.items[0].record
    if not isinstance(record, Message):
        raise NotFound(f"{opened.items[0].ref} is no message", "Answer one, such as m12")
    return record
