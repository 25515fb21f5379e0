"""The page of all projects, and what a person looks at every few minutes in one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from satchel.base.errors import NotFound
from satchel.brief.room.touched import TOUCHED_BY
from satchel.client import Satchel
from satchel.interfaces.http.room.asking import Asked, Page, View
from satchel.keep import following, projects

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
    project, satchel, person = asked.place, asked.satchel, asked.login.author
    cursor = _cursor(satchel)
    shown = {name: _section(name, satchel, person) for name in SECTIONS}
    data = {"project": project.name, "person": person, "cursor": cursor, **shown}
    context = {"sections": SECTIONS, "touched_by": TOUCHED_BY, "shown": shown, "cursor": cursor}
    return Page(project.name, "room.html", context, data, project, shown["needs"].total)


def section(asked: Asked) -> Page:
    """Return one section of a project, as a part of its page."""
    name = asked.path["section"]
    if name not in SECTIONS:
        raise NotFound(f"there is no section {name[:80]!r}", f"There are {', '.join(SECTIONS)}")
    shown = _section(name, asked.satchel, asked.login.author)
    context = {"name": name, "section": shown, "sections": SECTIONS, "touched_by": TOUCHED_BY}
    return Page(SECTIONS[name][1], "section.html", context, shown, asked.place, 0)


PAGES: Mapping[str, View] = {"/": room, "/sections/{section}": section}


def _section(name: str, satchel: Satchel, person: str) -> Any:
    if name in {"needs", "since"}:
        return getattr(satchel.room, name)(person)
    return getattr(satchel.room, name)()


def _cursor(satchel: Satchel) -> str:
    """Return where the project stands, before anything of it is read: what comes later is told."""
    work = satchel.workplace
    with work.engine.read() as transaction:
        return str(following.now(transaction, projects.find(transaction, work)))
