"""What an import of a bazinga database says it did, and what it left of errors."""

from __future__ import annotations

from keep.importing.results import SECOND
from satchel import Satchel
from satchel.keep.moving.records import Imported
from satchel.keep.patterns.records import ErrorPattern, Solution

DAY = 86_400 * SECOND


def counts(result: Imported) -> dict[str, tuple[int, int, int, int, int]]:
    """Return, of each kind with rows, those added, updated, present, in conflict and left out."""
    return {
        one.kind: (one.added, one.updated, one.present, one.conflicts, one.left_out) for one in result.kinds if one.rows
    }


def the_pattern(satchel: Satchel) -> ErrorPattern:
    """Return the only error there is."""
    (pattern,) = satchel.patterns.find(status="all").items
    return pattern


def the_solution(satchel: Satchel) -> Solution:
    """Return the only solution of the only error."""
    (solution,) = the_pattern(satchel).solutions
    return solution
