"""Whether something helped, told by its short id: its letter says of what kind it is."""

from __future__ import annotations

import re

from satchel.base.errors import InvalidInput
from satchel.base.records import NamedTuple
from satchel.client import Satchel
from satchel.find.kind import Kind
from satchel.interfaces.text.errors import solution_text
from satchel.interfaces.text.json import Fields, fields_of
from satchel.interfaces.text.strategies import judged_text
from satchel.keep.patterns.records import SOLUTION_LETTER, Solution
from satchel.keep.strategies import Strategy

_LETTERS = f"{SOLUTION_LETTER}{Kind.ERROR_PATTERN.letter}{Kind.STRATEGY.letter}"
_JUDGED = re.compile(rf"\s*[{_LETTERS}][0-9]+\s*")


class Outcome(NamedTuple):
    """What was judged as it stands now, and whether it was recorded just now."""

    judged: Solution | Strategy
    is_recorded: bool = False


def report(satchel: Satchel, ref: str, solution: str | None, *, helped: bool, agent: str | None) -> Outcome:
    """Say whether a solution or a strategy helped, or what fixed an error.

    Args:
        ref: the short id of what was tried; that of an error stands for its solution, the only one or the only known
            one. With a solution the short id or hash of the error that it fixed.
        solution: the text of what fixed the error.
        agent: who tried it; None takes the default.

    Raises:
        InvalidInput: it is no short id of any, several solutions may be meant, or what was given contradicts itself.
        NotFound: the project has no such one.
    """
    is_id = _JUDGED.fullmatch(ref) is not None
    if solution is None:
        if not is_id:
            raise InvalidInput(
                f"{ref.strip()[:80]!r} is no id of a solution, an error or a strategy",
                "Give one such as y7, x4 or s3; the text of a fix goes into solution, with the error's id as id",
            )
        if ref.strip().startswith(Kind.STRATEGY.letter):
            return Outcome(satchel.strategies.outcome(ref, helped))
        return Outcome(satchel.patterns.outcome(ref, helped, agent=agent))
    if _JUDGED.fullmatch(solution) is not None:
        raise InvalidInput(
            f"solution is the text of a fix, and {solution.strip()} an id",
            f"Give id={solution.strip()} without solution to say whether it helped",
        )
    if is_id and not ref.strip().startswith(Kind.ERROR_PATTERN.letter):
        raise InvalidInput(
            f"{ref.strip()} is no error that a solution fixes",
            "Give the error's id as id, such as x4, or leave solution out to say whether it helped",
        )
    if not helped:
        raise InvalidInput(
            "what did not help is no solution of an error",
            "Give the id of the solution that was offered, such as y7, and no text",
        )
    return Outcome(satchel.patterns.solve(ref, solution, agent=agent), is_recorded=True)


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
