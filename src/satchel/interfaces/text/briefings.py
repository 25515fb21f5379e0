"""Briefings as agents get them: the text itself, and beside it only what its budget still has room for."""

from __future__ import annotations

from collections.abc import Callable

from satchel.brief.briefing import Briefing

Count = Callable[[str], int]
"""Counts the tokens of a text as budgets mean them."""

_MAX_NOTES = 3
_MAX_FOR_NOTICE = 0.25
"""The part of a budget that may be kept for a notice."""

_JOINT = 2
"""What a notice may cost beyond its own tokens where it follows a text."""


def briefing_text(briefing: Briefing, count: Count) -> str:
    """Return the text of a briefing, and the newest of its notes that are not in it where they fit.

    One whose budget allows no text at all still says what waits.
    """
    if not briefing.text:
        return waiting_text(briefing)
    text = briefing.text
    for line in untold(briefing)[-_MAX_NOTES:]:
        longer = f"{text}\n{line}"
        if count(longer) <= briefing.budget:
            text = longer
    return text


def untold(briefing: Briefing) -> list[str]:
    """Return the notes that a briefing's text does not say."""
    said = set(briefing.text.split("\n"))
    return [line for line in (f"note: {note}" for note in briefing.notes) if line not in said]


def room_for(notice: str | None, budget: int, count: Count) -> int:
    """Return the tokens of a budget to keep for a notice; none where it would take more than a quarter."""
    cost = 0 if notice is None else count(f"\n{notice}") + _JOINT
    return cost if cost <= _MAX_FOR_NOTICE * budget else 0


def waiting_text(briefing: Briefing) -> str:
    """Say what waits, in place of a briefing whose budget has no room for any."""
    left = ", ".join(map(str, briefing.left_out))
    told = f"left out: {left}" if left else "; ".join(briefing.notes) or "nothing waits"
    return f"a budget of {briefing.budget} tokens has no room for a briefing; {told}"
