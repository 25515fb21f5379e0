"""What may be shared all at once."""

from __future__ import annotations

from satchel.keep.patterns.records import DEMOTED, KNOWN

CHOSEN = {
    "decisions": ("decision", "SELECT id FROM decisions WHERE project_id = :project AND status = 1"),
    "constraints": ("constraint", "SELECT id FROM constraints WHERE project_id = :project AND active = 1"),
    "errors": (
        "error_pattern",
        "SELECT DISTINCT pattern_id FROM error_solutions "
        f"WHERE project_id = :project AND confidence >= {KNOWN} AND state <> {DEMOTED}",
    ),
    "strategies": (
        "strategy",
        "SELECT id FROM strategies WHERE project_id = :project AND superseded_by IS NULL AND helped > not_helped",
    ),
}
"""By the names of rules, the kind and what finds the numbers of the items: decisions and constraints that hold, errors
whose fix is known, strategies that helped."""

RULES = tuple(CHOSEN)
