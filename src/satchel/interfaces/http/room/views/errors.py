"""Errors and their solutions."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.interfaces.http.room.asking import Asked, Page, View
from satchel.interfaces.http.room.views import listing
from satchel.interfaces.http.room.views.listing import QUERY, Field
from satchel.keep.patterns.queries import STATES_FOUND
from satchel.keep.patterns.records import MOST, TENTATIVE

_FIELDS = (
    QUERY,
    Field("state", "Solution", listing.choices(STATES_FOUND, "any")),
    Field("type", "Type", passed_as="error_type"),
    Field("lang", "Language"),
)
_SOLUTIONS = 20
_WORDS = 50


def errors(asked: Asked) -> Page:
    """Return the errors, the newest first."""
    chosen = listing.passed(_FIELDS, listing.given(asked, _FIELDS))
    part = asked.looking.patterns.find(**chosen, status="all", limit=listing.PER_PAGE, offset=asked.number("offset", 0))
    return listing.shown(asked, "Errors", "errors.html", "/errors", _FIELDS, part, least=TENTATIVE)


def error(asked: Asked) -> Page:
    """Return one error: its solutions, what agents reported about them, and where it was met."""
    found = asked.looking.room.error(asked.path["ref"])
    context = {
        "found": found,
        "solutions": found.pattern.solutions[:_SOLUTIONS],
        "words": found.words[:_WORDS],
        "now": found.asked_at,
        "most": MOST,
    }
    return Page(f"{found.pattern.ref} in {asked.place.name}", "error_pattern.html", context, found, asked.place)


PAGES: Mapping[str, View] = {"/errors": errors, "/errors/{ref}": error}
