"""Messages as threads; sending, answering and dismissing them."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from satchel.base.errors import Conflict, NotFound
from satchel.find.kind import Kind
from satchel.interfaces.web.listing import Field, chosen_filters, now
from satchel.interfaces.web.request import Action, ActionResult, EditConflict, Notice, Page, PageRequest, View
from satchel.keep.messages.records import Message

_FIELDS = (Field("agent", "Agent"),)
_THREADS = 20
_MESSAGES = 6
"""Messages of each thread in the list."""

_DEEPEST = 6
"""The deepest indentation of answers; a phone has no room for more."""


def messages(request: PageRequest) -> Page:
    """Return the threads, the one with the latest message first."""
    filters = chosen_filters(request, _FIELDS)
    before = request.values.get("before") or None
    threads = request.reader.room.threads(**filters, before=before, limit=_THREADS)
    here = f"{request.here}/messages"
    context = {
        "threads": threads,
        "most": _MESSAGES,
        "deepest": _DEEPEST,
        "path": "/messages",
        "fields": _FIELDS,
        "chosen": filters,
        "newer": f"{here}?{urlencode(filters)}" if before else None,
        "older": f"{here}?{urlencode(filters | {'before': threads.before})}" if threads.before else None,
        "now": threads.asked_at,
    }
    return Page(f"Messages in {request.project.name}", "messages.html", context, threads, request.project)


def thread(request: PageRequest) -> Page:
    """Return the thread of a message."""
    ref = request.path["ref"]
    content = request.reader.room.thread(ref)
    context = {"thread": content, "deepest": _DEEPEST, "now": now(request), "ref": ref}
    return Page(f"Thread {content.thread} in {request.project.name}", "thread.html", context, content, request.project)


def send(request: PageRequest) -> ActionResult:
    """Send a message to an agent, to the agents of a client, or to all."""
    message = request.satchel.messages.send(
        request.values.get("text", ""),
        to=request.values.get("to", ""),
        type=request.values.get("message_type") or "info",
        priority=request.values.get("priority") or "medium",
    )
    return ActionResult("sent", message.ref)


def answer(request: PageRequest) -> ActionResult:
    """Answer a message, unless someone else has answered since the form was made."""
    ref, text = request.path["ref"], request.values.get("text", "")
    answered_by = request.values.get("answered_by", "")
    try:
        message = request.satchel.room.answer(ref, text, answered_by=answered_by or None)
    except Conflict:
        message = _load(request, ref)
        other = "" if message.answered_by is None else Kind.MESSAGE.ref(message.answered_by)
        if other == answered_by:
            raise
        context = {"message": message, "other": _load(request, other) if other else None, "text": text}
        page = Page(f"{ref} was answered in the meantime", "answered.html", context, None, request.project)
        raise EditConflict(page) from None
    return ActionResult("answered", message.ref, f"{request.here}/")


def dismiss(request: PageRequest) -> ActionResult:
    """Mark a message as read."""
    ref = request.path["ref"]
    result = request.satchel.messages.mark_read([ref])
    if result.unknown or result.foreign:
        raise Conflict(f"{ref} was deleted or is not a message to you", "Nothing was changed")
    return ActionResult("dismissed", ref)


def restore(request: PageRequest) -> ActionResult:
    """Mark a message as unread."""
    ref = request.path["ref"]
    if not request.satchel.messages.mark_unread([ref]):
        raise Conflict(f"{ref} was not marked as read", "Nothing was changed")
    return ActionResult("unread", ref)


PAGES: Mapping[str, View] = {"/messages": messages, "/messages/{ref}": thread}
ACTIONS: Mapping[str, Action] = {
    "/messages": send,
    "/messages/{ref}/answer": answer,
    "/messages/{ref}/read": dismiss,
    "/messages/{ref}/unread": restore,
}
NOTICES: Mapping[str, Notice] = {
    "answered": Notice("Your answer was sent"),
    "dismissed": Notice("Marked as read", "/messages/{ref}/unread"),
    "unread": Notice("Marked as unread"),
    "sent": Notice("Your message was sent"),
}


def _load(request: PageRequest, ref: str) -> Message:
    """Return a message, without marking it as read.

    Raises:
        NotFound: the project has no such message.
    """
    item = request.reader.items.read([ref]).items[0]
    if not isinstance(item.record, Message):
        raise NotFound(f"{item.ref} is not a message", "Answer a message, such as m12")
    return item.record
