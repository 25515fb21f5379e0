"""The search over everything that a project keeps, and the page of one item."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from satchel.interfaces.http.room.actions import offers
from satchel.interfaces.http.room.asking import Asked, Page, View, as_text
from satchel.interfaces.http.room.formatting import WHOLE
from satchel.interfaces.to_json import fields_of

_RESULTS = 20
_TEXTS = ("content", "message", "text", "value", "insight", "description", "rationale", "reason", "error")


def search(asked: Asked) -> Page:
    """Return the results of a search over everything that a project keeps."""
    query, syntax = asked.given.get("q", "").strip(), asked.given.get("syntax", "natural")
    offset = asked.number("offset", 0)
    found = asked.looking.finding.search(query or None, syntax=syntax, limit=_RESULTS, offset=offset)
    given = {"q": query, "syntax": syntax}
    rest = (
        None if found.next_offset is None else f"{asked.here}/search?{urlencode(given | {'offset': found.next_offset})}"
    )
    context = {"query": query, "syntax": syntax, "found": found, "rest": rest}
    title = f"{query} in {asked.place.name}" if query else f"Everything in {asked.place.name}"
    return Page(title, "search.html", context, found, asked.place)


def item(asked: Asked) -> Page:
    """Return one item, whole; a long one in parts."""
    offset = asked.number("offset", 0)
    opened = asked.looking.items.read([asked.path["ref"]])
    one = opened.items[0]
    fields = fields_of(one.record)
    # the first text that an item has is what it says; the others are facts about it
    name = next((name for name in _TEXTS if isinstance(fields.get(name), (str, dict, list)) and fields[name]), None)
    text = "" if name is None else as_text(fields.pop(name))
    here = f"{asked.here}/items/{one.ref}"
    context = {
        "item": one,
        "name": name,
        "text": text[offset : offset + WHOLE],
        "before": f"{here}?offset={max(0, offset - WHOLE)}" if offset else None,
        "after": f"{here}?offset={offset + WHOLE}" if len(text) > offset + WHOLE else None,
        "characters": len(text),
        "facts": {key: as_text(value) for key, value in fields.items() if value not in (None, [], {})},
        "can": offers.of_item(asked, one),
        "message": one.record if one.kind == "message" else None,
    }
    return Page(f"{one.ref} in {asked.place.name}", "item.html", context, opened, asked.place)


PAGES: Mapping[str, View] = {"/search": search, "/items/{ref}": item}
