"""Errors with what fixed them, and how sure that was over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from satchel.base.records import NamedTuple
from satchel.brief.room.histories import ConfidenceCurve, ErrorHistory
from satchel.interfaces.http.room.asking import Asked, Page, View
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
_WIDTH, _HEIGHT = 600, 100


class Line(NamedTuple):
    """A line of the plot: how sure one solution was.

    Attributes:
        place: from 0; how it is drawn.
        points: as SVG has them.
        told: in words.
    """

    place: int
    curve: ConfidenceCurve
    points: str
    told: str


class Plot(NamedTuple):
    """How sure the solutions of an error were; the times in milliseconds UTC, the heights in the plot's units."""

    lines: tuple[Line, ...]
    began_at: int
    ended_at: int
    known: int
    width: int
    height: int


def errors(asked: Asked) -> Page:
    """Return the errors, the newest first."""
    chosen = listing.passed(_FIELDS, listing.given(asked, _FIELDS))
    part = asked.looking.patterns.find(**chosen, status="all", limit=listing.PER_PAGE, offset=asked.number("offset", 0))
    return listing.shown(asked, "Errors", "errors.html", "/errors", _FIELDS, part, least=TENTATIVE)


def error(asked: Asked) -> Page:
    """Return one error: where it was met, its solutions, and how sure each was over time."""
    found = asked.looking.room.error(asked.path["ref"])
    context = {
        "found": found,
        "solutions": found.pattern.solutions[:_SOLUTIONS],
        "words": found.words[:_WORDS],
        "plot": plot(found.curves, found),
        "now": found.asked_at,
        "most": MOST,
    }
    return Page(f"{found.pattern.ref} in {asked.place.name}", "error_pattern.html", context, found, asked.place)


def plot(curves: Sequence[ConfidenceCurve], found: ErrorHistory) -> Plot | None:
    """Return the plot of some solutions; None where there are none."""
    curves = curves[:_LINES]
    if not curves:
        return None
    began = min(point.began_at for curve in curves for point in curve.points)
    # what was just begun has no width of its own
    ended = max(found.asked_at, began + 1)

    def across(at: int) -> int:
        return round((min(at, ended) - began) / (ended - began) * _WIDTH)

    def up(confidence: int) -> int:
        return _HEIGHT - confidence * _HEIGHT // MOST

    lines = []
    for place, curve in enumerate(curves):
        corners = []
        for point, after in zip(curve.points, [*curve.points[1:], None], strict=True):
            until = ended if after is None else after.began_at
            corners += [f"{across(at)},{up(point.confidence)}" for at in (point.began_at, until)]
        told = ", then ".join(f"{point.confidence / MOST:g}" for point in curve.points)
        lines.append(Line(place, curve, " ".join(corners), told))
    return Plot(tuple(lines), began, ended, up(KNOWN), _WIDTH, _HEIGHT)


PAGES: Mapping[str, View] = {"/errors": errors, "/errors/{ref}": error}
