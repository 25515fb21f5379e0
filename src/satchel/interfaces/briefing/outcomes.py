"""Whether something helped, told by its short id: its letter says of what kind it is."""

from __future__ import annotations

import re

from satchel.base.errors import InvalidInput
from satchel.base.records import NamedTuple
from satchel.client import Satchel
from satchel.find.kind import Kind
from satchel.interfaces.briefing.errors_text import solution_text
from satchel.interfaces.briefing.strategies_text import judged_text
from satchel.interfaces.to_json import Fields, fields_of
from satchel.keep.patterns.records import SOLUTION_LETTER, Solution
from satchel.keep.strategies import Strategy

_LETTERS = f"{SOLUTION_LETTER}{Kind.ERROR_PATTERN.letter}{Kind.STRATEGY.letter}"
_JUDGED = re.compile(rf"\s*[{_LETTERS}][0-9]+\s*")


class Outcome(NamedTuple):
    """What was judged as it stands now, and whether it was recorded just now."""

    judged: Solution | Strategy
    is_recorded: bool = False


def report(satchel: Satchel, solution: str | None, *, helped: bool, error: str | None, agent: str | None) -> Outcome:
    """Say whether a solution or a strategy helped, or what fixed an error.

    Args:
        solution: the short id of what was tried; that of an error stands for its solution, the only one or the only
            known one. With an error the text of its fix, or the short id of a solution that it has.
        error: the short id or hash of an error; without a solution as if it were given as one.
        agent: who tried it; None takes the default.

    Raises:
        InvalidInput: it is no short id of any, several solutions may be meant, or what was given contradicts itself.
        NotFound: the project has no such one.
    """
    tried = error if solution is None else solution
    if tried is None:
        raise InvalidInput("it is not said what was tried", "Give solution, such as y7, or error, such as x4")
    beside = None if solution is None else error
    if _JUDGED.fullmatch(tried) is not None:
        if beside is None and tried.strip().startswith(Kind.STRATEGY.letter):
            return Outcome(satchel.strategies.outcome(tried, helped))
        return Outcome(satchel.patterns.outcome(tried, helped, error=beside, agent=agent))
    if solution is None or error is None:
        raise InvalidInput(
            f"{tried.strip()[:80]!r} is no id of a solution, an error or a strategy",
            "Give one such as y7, x4 or s3; the text of a fix needs the error that it fixed, such as x4",
        )
    if not helped:
        raise InvalidInput(
            "what did not help is no solution of an error",
            "Give as solution the id of one that was offered, such as y7, without error",
        )
    return Outcome(satchel.patterns.solve(error, solution, agent=agent), is_recorded=True)


def outcome_text(outcome: Outcome) -> str:
    """Say how what was judged stands now."""
    judged = outcome.judged
    if isinstance(judged, Solution):
        return solution_text(judged, is_recorded=outcome.is_recorded)
    return judged_text(judged)


def outcome_fields(outcome: Outcome) -> Fields:
    """Return what was judged as JSON fields."""
    fields: Fields = fields_of(outcome.judged)
    return fields
