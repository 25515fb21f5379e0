"""Queries for errors and their solutions."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.errors import unknown_name
from satchel.base.text import check_name
from satchel.find.kind import Kind
from satchel.keep import listing as filters
from satchel.keep.common_filters import ListFilters
from satchel.keep.listing import Filter, Listing, View
from satchel.keep.patterns.preparing import check_lang
from satchel.keep.patterns.records import COLUMNS, LEAST, STATES, WEAK, ErrorPattern, pattern_of, solutions_of
from satchel.store.transaction import Row

SHOWN = ("offered", "all")
"""Which solutions to show: those that reports offer, or also those only observed."""

UNSOLVED = "unsolved"

STATES_FOUND = (*STATES, UNSOLVED)
"""The states to filter by: that of a solution, or none at all."""


class ErrorFilters(ListFilters, total=False):
    """Filters for errors.

    Keys:
        lang: only errors of this language, and of any.
        error_type: only errors of exactly this type.
        state: only errors with a solution in this state (active, confirmed or demoted), or unsolved.
        status: offered hides solutions that are only observed; all shows them too.
    """

    lang: str | None
    error_type: str | None
    state: str | None
    status: str


def least_shown(status: str) -> int:
    """Return the lowest confidence, in tenths, of the solutions to show."""
    if status not in SHOWN:
        raise unknown_name("status", status, SHOWN)
    return LEAST if status == "all" else WEAK


def _make(view: View, rows: Sequence[Row]) -> tuple[ErrorPattern, ...]:
    least = view.request.chosen["status"]
    solutions = solutions_of(view.transaction, view.project_id, [row[0] for row in rows], least)
    return tuple(pattern_of(row, solutions.get(row[0], ()), score=view.scores.get(row[0])) for row in rows)


def _in_state(view: View, state: str) -> None:
    least = view.request.chosen["status"]
    is_in_state = "" if state == UNSOLVED else f"AND s.state = {STATES.index(state) + 1}"
    view.where(
        f"""
        {"NOT " if state == UNSOLVED else ""}EXISTS (SELECT 1 FROM error_solutions s
            WHERE s.pattern_id = p.id AND s.project_id = :project AND s.confidence >= {least} {is_in_state})
        """
    )


LISTING = Listing(
    kind=Kind.ERROR_PATTERN,
    table="error_patterns p",
    columns=COLUMNS,
    source="error_patterns p",
    make=_make,
    filters=(
        Filter("status", lambda value, _: least_shown(value), None, "offered"),
        filters.compared("lang", "(p.lang IS NULL OR p.lang = {})", lambda value, _: check_lang(value)),
        Filter(
            "error_type",
            lambda value, _: check_name(value, "error_type"),
            lambda view, name: view.where("p.error_type = {}", name),
            known="SELECT DISTINCT error_type FROM error_patterns WHERE project_id = :project AND expires_at > :now",
        ),
        Filter("state", filters.choice_check("state", STATES_FOUND), _in_state),
    ),
    changed=("created_at", "last_seen"),
    expires=True,
)
