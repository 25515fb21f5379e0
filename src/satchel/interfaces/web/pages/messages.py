"""Sending, answering and dismissing messages."""

from __future__ import annotations

from satchel.base.errors import Conflict, NotFound
from satchel.find.kind import Kind
from satchel.interfaces.web.rendering import name_for
from satchel.interfaces.web.request import Done, EditConflict, PageRequest, action, form_page
from satchel.keep.messages.records import Message
from satchel.keep.names import shown_name

_WITHDRAW = "/messages/{ref}/withdraw"


@action("/messages", "Your message was sent", _WITHDRAW)
def send(request: PageRequest) -> Done:
    """Send a message to an agent, to the agents of a client, or to all."""
    message = request.satchel.messages.send(
        request.values.get("text", ""),
        to=request.values.get("to", ""),
        type=request.values.get("message_type") or "info",
        priority=request.values.get("priority") or "medium",
    )
    return Done(message.ref)


@action("/messages/{ref}/answer", "Your answer was sent", _WITHDRAW)
def answer(request: PageRequest) -> Done:
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
        raise _answered(request, message, other, text) from None
    return Done(message.ref, f"{request.here}/")


@action(_WITHDRAW, "Withdrawn")
def withdraw(request: PageRequest) -> Done:
    request.satchel.corrections.retract(request.path["ref"])
    return Done()


@action("/messages/{ref}/read", "Marked as read", "/messages/{ref}/unread")
def dismiss(request: PageRequest) -> Done:
    """Mark a message as read."""
    ref = request.path["ref"]
    result = request.satchel.messages.mark_read([ref])
    if result.unknown or result.foreign:
        raise Conflict(f"{ref} was deleted or is not a message to you", "Nothing was changed")
    return Done(ref)


@action("/messages/{ref}/unread", "Marked as unread")
def restore(request: PageRequest) -> Done:
    ref = request.path["ref"]
    if not request.satchel.messages.mark_unread([ref]):
        raise Conflict(f"{ref} was not marked as read", "Nothing was changed")
    return Done(ref)


def _answered(request: PageRequest, message: Message, other: str, text: str) -> EditConflict:
    texts = []
    if other:
        answer = _load(request, other)
        texts = [(f"Answer of {name_for(request.login.author, answer.sender or 'someone')}", answer.message)]
    explained = "Your answer was not sent." if other else "Your answer was not sent. The other answer was deleted."
    fields = {"answered_by": other, "text": text}
    title, path = f"{message.ref} was answered in the meantime", f"/messages/{message.ref}/answer"
    labels = {"text": f"Reply to {shown_name(message.sender or message.ref)}"}
    page = form_page(request, title, path, "Send mine too", fields, explained=(explained,), texts=texts, labels=labels)
    return EditConflict(page)


def _load(request: PageRequest, ref: str) -> Message:
    """Return a message, without marking it as read.

    Raises:
        NotFound: the project has no such message.
    """
    item = request.reader.items.read([ref]).items[0]
    if not isinstance(item.record, Message):
        raise NotFound(f"{item.ref} is not a message", "Answer a message, such as m12")
    return item.record
