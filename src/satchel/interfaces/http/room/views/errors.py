"""Errors with what fixed them, and how sure that was over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from satchel.base.clock import DAY_MS
from satchel.brief.room.histories import ConfidenceCurve
from satchel.interfaces.http.room.asking import Asked, Page, View
from satchel.interfaces.http.room.formatting import clock, date
from satchel.interfaces.http.room.plots import Line, lines
from satchel.interfaces.http.room.views import listing
from satchel.interfaces.http.room.views.listing import QUERY, Field
from satchel.keep.patterns.queries import STATES_FOUND
from satchel.keep.patterns.records import KNOWN, MOST, TENTATIVE

_FIELDS = (
    QUERY,
    Field("state", "Solution", listing.choices(STATES_FOUND, "any")),
    Field("type", "Type", passed_as="error_type"),
    Field("lang", "Language"),
)
_LINES = 5
"""So many solutions have a line: with more the lines cannot be told apart."""

_SOLUTIONS = 20
_WORDS = 50
_DAYS_MS = 2 * DAY_MS
"""What lasts longer has dates below its plot, and else the hours."""


def errors(asked: Asked) -> Page:
    """Return the errors, the newest first."""
    chosen = listing.passed(_FIELDS, listing.given(asked, _FIELDS))
    part = asked.looking.patterns.find(**chosen, status="all", limit=listing.PER_PAGE, offset=asked.number("offset", 0))
    return listing.shown(asked, "Errors", "errors.html", "/errors", _FIELDS, part, least=TENTATIVE)


def error(asked: Asked) -> Page:
    """Return one error: where it was met, its solutions, and how sure each was over time."""
    found = asked.looking.room.error(asked.path["ref"])
    curves = found.curves[:_LINES]
    context = {
        "found": found,
        "solutions": found.pattern.solutions[:_SOLUTIONS],
        "words": found.words[:_WORDS],
        "curves": curves,
        "plot": _plot(curves, found.asked_at),
        "now": found.asked_at,
        "most": MOST,
    }
    return Page(f"{found.pattern.ref} in {asked.place.name}", "error_pattern.html", context, found, asked.place)


def _plot(curves: Sequence[ConfidenceCurve], now: int) -> Markup | None:
    """Return the plot of some solutions; None where there are none."""
    if not curves:
        return None
    began = min(curve.points[0].began_at for curve in curves)
    drawn = [
        Line(
            curve.solution if curve.is_whole else f"{curve.solution}, recorded since {date(curve.points[0].began_at)}",
            [(point.began_at, point.confidence / MOST) for point in curve.points],
        )
        for curve in curves
    ]
    told = (f"{line.name}: {', then '.join(f'{value:g}' for _, value in line.points)}" for line in drawn)
    return lines(
        "Confidence of the solutions",
        f"from 0 to 1; known from {KNOWN / MOST:g} on; UTC",
        drawn,
        ". ".join(told),
        began_at=began,
        ended_at=max(now, began + 1),
        top=1,
        level=KNOWN / MOST,
        as_label=date if now - began > _DAYS_MS else clock,
    )


PAGES: Mapping[str, View] = {"/errors": errors, "/errors/{ref}": error}
