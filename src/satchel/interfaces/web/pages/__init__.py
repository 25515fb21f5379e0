"""The pages and actions of the control room.

A module has the pages of its paths in ``PAGES``, the actions in ``ACTIONS``, and their confirmations in ``NOTICES``.
"""

from __future__ import annotations

from collections.abc import Mapping

from satchel.interfaces.web.pages import (
    conversations,
    decisions,
    errors,
    items,
    messages,
    new,
    notes,
    overview,
    rules,
    runs,
    search,
    sharing,
    tokens,
)
from satchel.interfaces.web.request import Action, Notice, View

start = overview.start

PAGES: Mapping[str, View] = {
    **overview.PAGES,
    **search.PAGES,
    **items.PAGES,
    **decisions.PAGES,
    **rules.PAGES,
    **notes.PAGES,
    **errors.PAGES,
    **messages.PAGES,
    **runs.PAGES,
    **conversations.PAGES,
    **sharing.PAGES,
    **tokens.PAGES,
    **new.PAGES,
}
"""The pages by their path below ``/p/PROJECT``; each has its JSON at the path with ``.json``."""

_ACTING = (overview, items, decisions, rules, notes, messages, runs, sharing)

ACTIONS: Mapping[str, Action] = {path: action for one in _ACTING for path, action in one.ACTIONS.items()}
"""The actions by their path below ``/p/PROJECT``."""

NOTICES: Mapping[str, Notice] = {word: notice for one in _ACTING for word, notice in one.NOTICES.items()}
"""The confirmations of actions."""

PLACES = (
    ("/", "Overview", "r"),
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
    ("/new", "New", "w"),
)
"""The navigation of a project: path, name, and the key that opens it after ``g``."""
