"""The conversations with other models: what was sent, and what was saved by not sending it again."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.interfaces.http.room.asking import Asked, Page, View
from satchel.interfaces.http.room.views import listing
from satchel.interfaces.http.room.views.listing import Field

_FIELDS = (Field("assistant", "Assistant"), Field("name", "Name", passed_as="conversation"))
_CONVERSATIONS = 20
_TURNS = 10
_FILES = 200


def conversations(asked: Asked) -> Page:
    """Return the conversations, the newest first."""
    chosen = listing.passed(_FIELDS, listing.given(asked, _FIELDS))
    kept = asked.looking.consulting.conversations
    part = kept.list(**chosen, limit=_CONVERSATIONS, offset=asked.number("offset", 0))
    return listing.shown(asked, "Conversations", "conversations.html", "/conversations", _FIELDS, part)


def conversation(asked: Asked) -> Page:
    """Return one conversation: its files, and its turns, the newest first."""
    number = asked.path["number"]
    found = asked.looking.consulting.conversations.read(
        int(number) if number.isascii() and number.isdigit() and len(number) < 19 else -1,
        limit=_TURNS,
        offset=asked.number("offset", 0),
    )
    one = found.conversation
    more = {"conversation": one, "files": [*one.inline, *one.overflow][:_FILES]}
    path = f"/conversations/{one.id}"
    return listing.shown(asked, one.key.conversation, "conversation.html", path, (), found.turns, found, **more)


PAGES: Mapping[str, View] = {"/conversations": conversations, "/conversations/{number}": conversation}
