"""The pages of the control room. A module of them has its paths below the project in ``PAGES``."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.interfaces.http.room.asking import View
from satchel.interfaces.http.room.views import (
    conversations,
    decisions,
    errors,
    items,
    kept,
    messages,
    notes,
    overview,
    sharing,
    tokens,
    writing,
)

PAGES: Mapping[str, View] = {
    **overview.PAGES,
    **items.PAGES,
    **tokens.PAGES,
    **decisions.PAGES,
    **kept.PAGES,
    **notes.PAGES,
    **errors.PAGES,
    **messages.PAGES,
    **conversations.PAGES,
    **writing.PAGES,
    **sharing.PAGES,
}
"""What shows the page of each path below ``/p/PROJECT``. Each has a twin in JSON, at its path with ``.json``."""

PLACES = (
    ("/", "Room", "r"),
    ("/search", "Search", "f"),
    ("/decisions", "Decisions", "d"),
    ("/rules", "Rules", "u"),
    ("/notes", "Notes", "n"),
    ("/errors", "Errors", "e"),
    ("/messages", "Messages", "t"),
    ("/runs", "Runs", "o"),
    ("/packages", "Packages", "p"),
    ("/strategies", "Strategies", "s"),
    ("/conversations", "Conversations", "c"),
    ("/shared", "Shared", "h"),
    ("/tokens", "Tokens", "k"),
    ("/new", "Write", "w"),
)
"""What every page of a project leads to: the path, its name, and the key that goes there after ``g``."""
