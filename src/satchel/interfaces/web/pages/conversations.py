"""Conversations with other models: the prompts, and the tokens saved by not sending files again."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.interfaces.web.listing import Field, arguments, list_page, offset
from satchel.interfaces.web.request import Page, PageRequest, View

_FIELDS = (Field("assistant", "Assistant"), Field("name", "Name", argument="conversation"))
_CONVERSATIONS = 20
_TURNS = 10
_FILES = 200


def conversations(request: PageRequest) -> Page:
    """Return the conversations, the newest first."""
    service = request.reader.consulting.conversations
    part = service.list(**arguments(request, _FIELDS), limit=_CONVERSATIONS, offset=offset(request))
    return list_page(request, "Conversations", "conversations.html", "/conversations", _FIELDS, part)


def conversation(request: PageRequest) -> Page:
    """Return a conversation with its files and turns, the newest turn first."""
    number = request.path["number"]
    content = request.reader.consulting.conversations.read(
        int(number) if number.isascii() and number.isdigit() and len(number) < 19 else -1,
        limit=_TURNS,
        offset=offset(request),
    )
    one = content.conversation
    path, more = f"/conversations/{one.id}", {"conversation": one, "files": [*one.inline, *one.overflow][:_FILES]}
    return list_page(request, one.key.conversation, "conversation.html", path, (), content.turns, content, **more)


PAGES: Mapping[str, View] = {"/conversations": conversations, "/conversations/{number}": conversation}
