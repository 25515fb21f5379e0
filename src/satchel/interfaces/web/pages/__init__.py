"""The pages and actions of the control room.

A module has the pages of its paths in ``PAGES``, the actions in ``ACTIONS``, and their confirmations in ``NOTICES``.
"""

from __future__ import annotations

from collections.abc import Mapping

from satchel.interfaces.web.pages import (
    activity,
    agents,
    health,
    items,
    memory,
    messages,
    overview,
    proposals,
    writing,
)
from satchel.interfaces.web.request import Action, Notice, View

start = overview.start

PAGES: Mapping[str, View] = {
    **overview.PAGES,
    **activity.PAGES,
    **memory.PAGES,
    **items.PAGES,
    **proposals.PAGES,
    **agents.PAGES,
    **messages.PAGES,
    **health.PAGES,
    **writing.PAGES,
}
"""The pages by their path below ``/p/PROJECT``; each has its JSON at the path with ``.json``."""

_ACTING = (overview, items, writing, messages, proposals)

ACTIONS: Mapping[str, Action] = {path: action for one in _ACTING for path, action in one.ACTIONS.items()}
"""The actions by their path below ``/p/PROJECT``."""

NOTICES: Mapping[str, Notice] = {word: notice for one in _ACTING for word, notice in one.NOTICES.items()}
"""The confirmations of actions."""

PLACES = (
    ("/", "Overview", "o"),
    ("/activity", "Activity", "a"),
    ("/memory", "Memory", "m"),
    ("/agents", "Agents", "s"),
    ("/health", "Health", "h"),
)
"""The navigation of a project: path, name, and the key that opens it after ``g``."""

MOVED: Mapping[str, str] = {
    "/search": "/memory",
    "/decisions": "/memory?kind=decision",
    "/decisions/{ref}": "/items/{ref}",
    "/rules": "/memory?kind=constraint",
    "/notes": "/memory?kind=entry",
    "/errors": "/memory?kind=error_pattern",
    "/errors/{ref}": "/items/{ref}",
    "/packages": "/memory?kind=package",
    "/strategies": "/memory?kind=strategy",
    "/shared": "/proposals",
    "/runs": "/agents",
    "/tokens": "/health",
    "/conversations": "/health",
    "/conversations/{number}": "/health",
    "/sections/{name}": "/",
}
"""The addresses of former pages, with those that replace them."""
