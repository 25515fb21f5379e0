"""The messages, as threads."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from satchel.interfaces.http.room.asking import Asked, Page, View
from satchel.interfaces.http.room.views import listing
from satchel.interfaces.http.room.views.listing import Field

_FIELDS = (Field("agent", "Agent"),)
_THREADS = 20
_MESSAGES = 6
"""So many messages of each thread stand in the list."""

_DEEPEST = 6
"""So deep answers are set in; on a phone more would leave no room for the text."""


def messages(asked: Asked) -> Page:
    """Return the threads, the one with the latest message first."""
    chosen = listing.given(asked, _FIELDS)
    before = asked.given.get("before") or None
    found = asked.looking.room.threads(**chosen, before=before, limit=_THREADS)
    here = f"{asked.here}/messages"
    context = {
        "threads": found,
        "most": _MESSAGES,
        "deepest": _DEEPEST,
        "path": "/messages",
        "fields": _FIELDS,
        "chosen": chosen,
        "newer": f"{here}?{urlencode(chosen)}" if before else None,
        "older": f"{here}?{urlencode(chosen | {'before': found.before})}" if found.before else None,
        "now": found.asked_at,
    }
    return Page(f"Messages in {asked.place.name}", "messages.html", context, found, asked.place)


def thread(asked: Asked) -> Page:
    """Return the thread of a message."""
    found = asked.looking.room.thread(asked.path["ref"])
    context = {"thread": found, "deepest": _DEEPEST, "now": listing.now(asked), "ref": asked.path["ref"]}
    return Page(f"Thread {found.thread} in {asked.place.name}", "thread.html", context, found, asked.place)


PAGES: Mapping[str, View] = {"/messages": messages, "/messages/{ref}": thread}
