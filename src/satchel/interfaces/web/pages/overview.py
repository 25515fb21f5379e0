"""The list of projects, and the overview of one: needs, changes, agents and conflicts, with the actions on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from satchel.base.errors import Conflict, InvalidInput, NotFound
from satchel.brief.room.touched import TOUCHED_BY
from satchel.interfaces.web.request import Action, ActionResult, Notice, Page, PageRequest, View

SECTIONS = {
    "needs": ("1", "Needs you"),
    "since": ("2", "New since your last visit"),
    "where": ("3", "Agents"),
    "conflicts": ("4", "Conflicts"),
}
"""The sections of the overview, each with its key and heading."""


def start(request: PageRequest) -> Page:
    """Return the page of all projects."""
    projects = request.projects.of(request.login)
    data = {"projects": [{"address": one.address, "name": one.name, "store": str(one.store)} for one in projects]}
    return Page("Projects", "start.html", {"projects": projects}, data)


def overview(request: PageRequest) -> Page:
    """Return the overview of a project."""
    project, satchel = request.project, request.satchel
    # read first, so that the event stream reports everything that comes later
    cursor = satchel.room.reached().cursor
    sections: dict[str, Any] = {name: getattr(satchel.room, name)() for name in SECTIONS}
    data = {"project": project.name, "person": request.login.author, "cursor": cursor, **sections}
    context = {"headings": SECTIONS, "touched_by": TOUCHED_BY, "sections": sections, "cursor": cursor}
    return Page(project.name, "overview.html", context, data, project, sections["needs"].total)


def section(request: PageRequest) -> Page:
    """Return one section of the overview."""
    name = request.path["section"]
    if name not in SECTIONS:
        raise NotFound(f"there is no section {name[:80]!r}", f"Open one of {', '.join(SECTIONS)}")
    content = getattr(request.satchel.room, name)()
    context = {"name": name, "section": content, "headings": SECTIONS, "touched_by": TOUCHED_BY}
    return Page(SECTIONS[name][1], "section.html", context, content, request.project, 0)


def release(request: PageRequest) -> ActionResult:
    """End the claim of a session, and tell its holder."""
    session, expires, path = (*request.values.get("claim", "").split(" ", 2), "", "", "")[:3]
    if not (session and path and expires.isascii() and expires.isdigit() and len(expires) <= 18):
        raise InvalidInput("the form names no claim", "Reload the page and submit again")
    request.satchel.room.release(session, path, int(expires))
    return ActionResult("released")


def see(request: PageRequest) -> ActionResult:
    """Mark changes as seen, up to the last one on the page."""
    ref = request.values.get("ref")
    # a need has no sequence number
    seq = request.number("seq") if ref is None or "seq" in request.values else None
    request.satchel.room.see(None if ref is None else [ref], up_to=seq)
    return ActionResult("seen") if ref is None else ActionResult("seen-one", "", None, {"thing": ref})


def unsee(request: PageRequest) -> ActionResult:
    """Show a change again that was marked as seen."""
    if not request.satchel.room.unsee(request.values.get("thing", "")):
        raise Conflict("this was not marked as seen on its own", "Nothing was changed")
    return ActionResult("unseen")


PAGES: Mapping[str, View] = {"/": overview, "/sections/{section}": section}
ACTIONS: Mapping[str, Action] = {"/claims/release": release, "/seen": see, "/seen/undo": unsee}
NOTICES: Mapping[str, Notice] = {
    "released": Notice("The claim has ended, and its holder got a message"),
    "seen": Notice("Marked as seen"),
    "seen-one": Notice("Marked as seen", "/seen/undo"),
    "unseen": Notice("Shown again"),
}
