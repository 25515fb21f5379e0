"""The page of all projects, and what a person looks at every few minutes in one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from satchel.base.errors import NotFound
from satchel.brief.room.touched import TOUCHED_BY
from satchel.interfaces.http.room.asking import Asked, Page, View

SECTIONS = {
    "needs": ("1", "Needs me"),
    "since": ("2", "Since I looked"),
    "where": ("3", "Who is where"),
    "collisions": ("4", "Collisions"),
}
"""Those that are there, with the key that leads to each and its heading."""


def start(asked: Asked) -> Page:
    """Return the page of all projects."""
    found = asked.projects.of(asked.login)
    data = {"projects": [{"address": one.address, "name": one.name, "store": str(one.store)} for one in found]}
    return Page("Projects", "start.html", {"projects": found}, data)


def room(asked: Asked) -> Page:
    """Return the page of a project with its sections."""
    project, satchel = asked.place, asked.satchel
    # before anything else of it is read: what comes later is told
    cursor = satchel.room.reached().cursor
    shown: dict[str, Any] = {name: getattr(satchel.room, name)() for name in SECTIONS}
    data = {"project": project.name, "person": asked.login.author, "cursor": cursor, **shown}
    context = {"sections": SECTIONS, "touched_by": TOUCHED_BY, "shown": shown, "cursor": cursor}
    return Page(project.name, "room.html", context, data, project, shown["needs"].total)


def section(asked: Asked) -> Page:
    """Return one section of a project, as a part of its page."""
    name = asked.path["section"]
    if name not in SECTIONS:
        raise NotFound(f"there is no section {name[:80]!r}", f"There are {', '.join(SECTIONS)}")
    shown = getattr(asked.satchel.room, name)()
    context = {"name": name, "section": shown, "sections": SECTIONS, "touched_by": TOUCHED_BY}
    return Page(SECTIONS[name][1], "section.html", context, shown, asked.place, 0)


PAGES: Mapping[str, View] = {"/": room, "/sections/{section}": section}
