"""Whether something helped, told by its short id: its letter says of what kind it is."""

from __future__ import annotations

import re

from satchel.base.errors import InvalidInput
from satchel.client import Satchel
from satchel.find.kind import Kind
from satchel.interfaces.briefing.errors_text import solution_text
from satchel.interfaces.briefing.strategies_text import judged_text
from satchel.keep.patterns.records import SOLUTION_LETTER, Solution
from satchel.keep.strategies import Strategy

_JUDGED = re.compile(rf"\s*[{SOLUTION_LETTER}{Kind.STRATEGY.letter}][0-9]+\s*")


def is_judged(ref: str) -> bool:
    """Whether a text is the short id of what can help or not: a solution or a strategy."""
    return _JUDGED.fullmatch(ref) is not None


def judge(satchel: Satchel, ref: str, helped: bool, *, agent: str | None, otherwise: str) -> Solution | Strategy:
    """Say whether a solution or a strategy helped.

    Args:
        agent: who tried it; None takes the default.
        otherwise: what to give where it is neither.

    Raises:
        InvalidInput: it is no short id of either.
        NotFound: the project has no such one.
    """
    if not is_judged(ref):
        raise InvalidInput(f"{ref.strip()[:80]!r} is no id of a solution or a strategy", otherwise)
    if ref.strip().startswith(Kind.STRATEGY.letter):
        return satchel.strategies.outcome(ref, helped)
    return satchel.patterns.outcome(ref, helped, agent=agent)


def outcome_text(judged: Solution | Strategy) -> str:
    """Say how what was judged stands now."""
    return solution_text(judged, is_recorded=False) if isinstance(judged, Solution) else judged_text(judged)
