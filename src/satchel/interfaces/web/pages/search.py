"""Search over all items of a project."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from satchel.interfaces.text.json import fields_of
from satchel.interfaces.web.listing import LIVE, Field, arguments, chosen_filters, offset
from satchel.interfaces.web.request import Page, PageRequest, View

_RESULTS = 20

NAMES = {
    "entry": ("note", "notes"),
    "decision": ("decision", "decisions"),
    "constraint": ("rule", "rules"),
    "message": ("message", "messages"),
    "error_pattern": ("error", "errors"),
    "package": ("package", "packages"),
    "strategy": ("strategy", "strategies"),
    "file_change": ("edit", "edits"),
}
"""The names of one and of several items of a kind."""

_FIELDS = (Field("kind", "Kind"), Field("author", "Agent"), LIVE)


def search(request: PageRequest) -> Page:
    """Return the results of a search."""
    query, syntax = request.values.get("q", "").strip(), request.values.get("syntax", "natural")
    filters, first = chosen_filters(request, _FIELDS), offset(request)
    results = request.reader.finding.search(
        query or None,
        syntax=syntax,
        limit=_RESULTS,
        offset=first,
        **arguments(request, _FIELDS, kind="kinds"),
    )
    values = {"q": query, "syntax": syntax, **filters}
    prefixes = " OR ".join(f"{word}*" for word in query.split() if word.isalnum())

    def at(**changes: str | int) -> str:
        merged = values | changes
        return f"{request.here}/search?{urlencode({name: value for name, value in merged.items() if value})}"

    context = {
        "query": query,
        "syntax": syntax,
        "results": results,
        "chosen": filters,
        "fields": [field for field in _FIELDS if field.name != "kind"],
        "kinds": [("", "everything", at(kind="")), *((kind, name, at(kind=kind)) for kind, (_, name) in NAMES.items())],
        "names": {kind: name for kind, (name, _) in NAMES.items()},
        "older": None if results.next_offset is None else at(offset=results.next_offset),
        "newer": at(offset=max(0, first - _RESULTS)) if first else None,
        "anywhere": at(kind="", author="", status="all") if filters else at(status="all"),
        "prefixes": at(q=prefixes, syntax="operators") if prefixes else None,
    }
    title = f"{query} in {request.project.name}" if query else f"Everything in {request.project.name}"
    return Page(title, "search.html", context, fields_of(results, "results"), request.project)


PAGES: Mapping[str, View] = {"/search": search}
