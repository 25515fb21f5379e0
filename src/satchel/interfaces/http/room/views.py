"""What each page shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from satchel.base.errors import InvalidInput, NotFound
from satchel.base.records import dataclass
from satchel.client import Satchel
from satchel.interfaces.http.room.formatting import WHOLE
from satchel.interfaces.http.room.projects import Project
from satchel.interfaces.to_json import fields_of
from satchel.keep import following, projects

if TYPE_CHECKING:
    from satchel.interfaces.http.room.pages import Asked

SECTIONS = {
    "needs": ("1", "Needs me"),
    "since": ("2", "Since I looked"),
    "where": ("3", "Who is where"),
    "collisions": ("4", "Collisions"),
}
"""Those that are there, with the key that leads to each and its heading."""

_RESULTS = 20
_TEXTS = ("content", "message", "text", "value", "insight", "description", "rationale", "reason", "error")
_KNOWN_ACTIONS = {"answered", "set-aside", "retracted", "released", "told", "seen"}
_REF = re.compile(r"[a-z]{1,2}[0-9]{1,18}")
_CORRECTABLE = frozenset({"entry", "constraint", "strategy"})


@dataclass(frozen=True, slots=True)
class Page:
    """One page.

    Attributes:
        title: what it is called.
        template: what it is made of.
        context: what that shows.
        data: the same for programs.
        count: how much needs the person who looks.
        project: the project that it is about, if any.
        twin: the address of its twin in JSON, if it has one.
    """

    title: str
    template: str
    context: dict[str, Any]
    data: object
    count: int = 0
    project: Project | None = None
    twin: str | None = None


def start(asked: Asked) -> Page:
    """Return the page of all projects."""
    found = asked.projects.of(asked.login)
    data = {"projects": [{"address": one.address, "name": one.name, "store": str(one.store)} for one in found]}
    return Page("Projects", "start.html", {"projects": found}, data, twin="/projects.json")


def room(asked: Asked) -> Page:
    """Return the page of a project with its sections."""
    project, satchel = _place(asked)
    cursor = _cursor(satchel)
    shown = {name: _section(name, satchel, asked.login.author) for name in SECTIONS}
    data = {"project": project.name, "person": asked.login.author, "cursor": cursor, **shown}
    context = {"sections": SECTIONS, "shown": shown, "cursor": cursor, "told": _told(asked)}
    count = shown["needs"].total
    return Page(project.name, "room.html", context, data, count, project, f"/p/{project.address}.json")


def section(asked: Asked) -> Page:
    """Return one section of a project, as a part of its page."""
    name = asked.path["section"]
    if name not in SECTIONS:
        raise NotFound(f"there is no section {name[:80]!r}", f"There are {', '.join(SECTIONS)}")
    project, satchel = _place(asked)
    shown = _section(name, satchel, asked.login.author)
    context = {"name": name, "section": shown, "sections": SECTIONS}
    return Page(project.name, "section.html", context, shown, project=project)


def search(asked: Asked) -> Page:
    """Return the results of a search over everything that a project keeps."""
    project, _ = _place(asked)
    query, syntax = asked.given.get("q", "").strip(), asked.given.get("syntax", "natural")
    offset = _number(asked.given.get("offset", "0"), "offset")
    found = asked.projects.satchel(project, asked.login, is_looking=True).finding.search(
        query or None, syntax=syntax, limit=_RESULTS, offset=offset
    )
    here = f"/p/{project.address}/search"
    given = {"q": query, "syntax": syntax}
    rest = None if found.next_offset is None else f"{here}?{urlencode(given | {'offset': found.next_offset})}"
    context = {"query": query, "syntax": syntax, "found": found, "rest": rest}
    title = f"{query} in {project.name}" if query else f"Everything in {project.name}"
    twin = f"{here}.json?{urlencode(given | {'offset': offset})}"
    return Page(title, "search.html", context, found, _count(asked), project, twin)


def item(asked: Asked) -> Page:
    """Return one item, whole; a long one in parts."""
    project, _ = _place(asked)
    offset = _number(asked.given.get("offset", "0"), "offset")
    opened = asked.projects.satchel(project, asked.login, is_looking=True).items.read([asked.path["ref"]])
    one = opened.items[0]
    fields = fields_of(one.record)
    # the first text that an item has is what it says; the others are facts about it
    name = next((name for name in _TEXTS if isinstance(fields.get(name), (str, dict, list)) and fields[name]), None)
    text = "" if name is None else _as_text(fields.pop(name))
    here = f"/p/{project.address}/items/{one.ref}"
    context = {
        "item": one,
        "name": name,
        "text": text[offset : offset + WHOLE],
        "before": f"{here}?offset={max(0, offset - WHOLE)}" if offset else None,
        "after": f"{here}?offset={offset + WHOLE}" if len(text) > offset + WHOLE else None,
        "characters": len(text),
        "facts": {key: _as_text(value) for key, value in fields.items() if value not in (None, [], {})},
        "message": one.record if one.kind == "message" else None,
        "is_live": one.kind in _CORRECTABLE and fields.get("superseded_by") is None and fields.get("active", True),
        "told": _told(asked),
    }
    return Page(f"{one.ref} in {project.name}", "item.html", context, opened, _count(asked), project, f"{here}.json")


def _place(asked: Asked) -> tuple[Project, Satchel]:
    assert asked.project is not None
    return asked.project, asked.projects.satchel(asked.project, asked.login)


def _section(name: str, satchel: Satchel, person: str) -> Any:
    if name in {"needs", "since"}:
        return getattr(satchel.room, name)(person)
    return getattr(satchel.room, name)()


def _count(asked: Asked) -> int:
    _, satchel = _place(asked)
    return satchel.room.needs(asked.login.author).total


def _cursor(satchel: Satchel) -> str:
    """Return where the project stands, before anything of it is read: what comes later is told."""
    work = satchel.workplace
    with work.engine.read() as transaction:
        return str(following.now(transaction, projects.find(transaction, work)))


def _told(asked: Asked) -> tuple[str, str] | None:
    """Return what was just done, and to what, as the address says it."""
    done, _, ref = asked.given.get("done", "").partition(" ")
    return (done, ref if _REF.fullmatch(ref) else "") if done in _KNOWN_ACTIONS else None


def _number(text: str, field: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise InvalidInput(f"{field}={text[:40]!r} is no number", "Give a whole number from 0")
    return int(text)


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    import json

    return json.dumps(value, ensure_ascii=False, indent=1)
