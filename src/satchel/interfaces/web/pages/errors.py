"""Errors and their solutions."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.interfaces.web.listing import PER_PAGE, QUERY, Field, arguments, choices, list_page, offset
from satchel.interfaces.web.request import Page, PageRequest, View
from satchel.keep.patterns.kind import STATES_FOUND
from satchel.keep.patterns.records import MOST, TENTATIVE

_FIELDS = (
    QUERY,
    Field("state", "Solution", choices(STATES_FOUND, "any")),
    Field("type", "Type", argument="error_type"),
    Field("lang", "Language"),
)
_SOLUTIONS = 20
_WORDS = 50


def errors(request: PageRequest) -> Page:
    """Return the errors, the newest first."""
    filters = arguments(request, _FIELDS)
    part = request.reader.patterns.find(**filters, status="all", limit=PER_PAGE, offset=offset(request))
    return list_page(request, "Errors", "errors.html", "/errors", _FIELDS, part, least=TENTATIVE)


def error(request: PageRequest) -> Page:
    """Return an error: its solutions, the reports of agents on them, and where it occurred."""
    history = request.reader.room.error(request.path["ref"])
    context = {
        "history": history,
        "solutions": history.pattern.solutions[:_SOLUTIONS],
        "words": history.words[:_WORDS],
        "now": history.asked_at,
        "most": MOST,
    }
    title = f"{history.pattern.ref} in {request.project.name}"
    return Page(title, "error_pattern.html", context, history, request.project)


PAGES: Mapping[str, View] = {"/errors": errors, "/errors/{ref}": error}
