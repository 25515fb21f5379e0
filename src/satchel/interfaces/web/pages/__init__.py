"""The pages and actions of the control room; each registers itself at its path."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.interfaces.web.pages import (  # noqa: F401 -- they register themselves
    activity,
    agents,
    health,
    items,
    memory,
    overview,
    proposals,
    writing,
)
from satchel.interfaces.web.request import ACTIONS, PAGES

__all__ = ["ACTIONS", "MOVED", "PAGES", "PLACES"]

# The navigation of a project: path, name, and the key that opens it after ``g``.
PLACES = (
    ("/", "Overview", "o"),
    ("/activity", "Activity", "a"),
    ("/memory", "Memory", "m"),
    ("/agents", "Agents", "s"),
    ("/health", "Health", "h"),
)

# The addresses of former pages, with those that replace them.
MOVED: Mapping[str, str] = {
    "/search": "/memory",
    "/decisions": "/memory?kind=decision",
    "/decisions/{ref}": "/items/{ref}",
    "/rules": "/memory?kind=constraint",
    "/notes": "/memory?kind=entry",
    "/errors": "/memory?kind=error_pattern",
    "/errors/{ref}": "/items/{ref}",
    "/messages": "/memory?kind=message",
    "/messages/{ref}": "/items/{ref}",
    "/packages": "/memory?kind=package",
    "/strategies": "/memory?kind=strategy",
    "/shared": "/proposals",
    "/runs": "/agents",
    "/tokens": "/health",
    "/conversations": "/health",
    "/conversations/{number}": "/health",
    "/sections/{name}": "/",
}
