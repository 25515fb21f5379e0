"""Constraints as compact text.

A constraint's line is its id, then what differs from what the head or the heading says: category, priority, layer,
``by`` agent, then tags behind one ``#`` and the time it was added; its text stands below. One that does not hold any
more says ``inactive``, since when, by whom, and ``because`` with the reason as a JSON string.
"""

from __future__ import annotations

from satchel.base.clock import moment_text, year_of
from satchel.base.vocabulary import CATEGORIES
from satchel.interfaces.text.lists import (
    NO_AGENT,
    NO_LAYER,
    TAGS_TOLD,
    Line,
    agent_cell,
    layer_cell,
    list_text,
    names_text,
    note_lines,
)
from satchel.interfaces.text.parts import content_lines, quoted, value_text
from satchel.keep.constraints import Constraint, ConstraintPage

_BLANKS = (None, None, NO_LAYER, NO_AGENT)


def constraints_text(page: ConstraintPage) -> str:
    """Render a page of constraints for an agent; all is there but uid, own seq and score."""
    year = year_of(page.constraints[0].created_at) if page.constraints else ""
    lines = [constraint_line(constraint, year) for constraint in page.constraints]
    more = TAGS_TOLD if any(len(constraint.tags) > 1 for constraint in page.constraints) else ""
    return list_text("constraint", page, lines, _BLANKS, more)


def constraint_line(constraint: Constraint, year: str) -> Line:
    """Return the line of a constraint, with its text below."""
    return Line(
        start=constraint.ref,
        cells=(
            _category(constraint.category),
            constraint.priority,
            layer_cell(constraint.layer),
            agent_cell(constraint.agent),
        ),
        own=names_text("#", constraint.tags),
        moment=constraint.created_at,
        after=() if constraint.active else (_inactive(constraint, year),),
        below=tuple(content_lines(constraint.text)),
    )


def added_text(constraint: Constraint) -> str:
    """Say that a constraint was added, and what its author should know."""
    line = " ".join(
        part
        for part in (
            f"added {constraint.ref}",
            _category(constraint.category),
            constraint.priority,
            layer_cell(constraint.layer),
            agent_cell(constraint.agent),
            *names_text("#", constraint.tags),
        )
        if part is not None
    )
    return "\n".join([line, *note_lines(constraint.notes)])


def _category(category: str) -> str:
    return category if category in CATEGORIES else f"category:{value_text(category)}"


def _inactive(constraint: Constraint, year: str) -> str:
    at = constraint.deactivated_at
    parts = [
        "inactive",
        None if at is None else f"since {moment_text(at, year)}",
        agent_cell(constraint.deactivated_by),
    ]
    parts += [] if constraint.reason is None else [f"because {quoted(constraint.reason)}"]
    return " ".join(part for part in parts if part is not None)
