"""Zones of the agent's window: the fuller it is, the shorter a briefing."""

from __future__ import annotations

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass
from satchel.base.vocabulary import priority_number

_LOWEST, _HIGH, _CRITICAL = priority_number("low"), priority_number("high"), priority_number("critical")


@dataclass(frozen=True, slots=True)
class Zone:
    """One state of an agent's window.

    Attributes:
        begins: the share of the window in use from which it applies.
        least_priority: the lowest priority that is shown.
        advice: for the agent; empty in the normal zone.
    """

    name: str
    begins: float
    least_priority: int
    advice: str = ""

    @property
    def titles_only(self) -> bool:
        """Whether only rules, decisions and what is critical are shown whole."""
        return self.begins > 0


ZONES = (
    Zone("normal", 0.0, _LOWEST),
    Zone("soft warning", 0.60, _LOWEST, "window filling: titles only, except rules and decisions"),
    Zone("conservative", 0.75, _HIGH, "window three quarters full: only high and critical items"),
    Zone("wrap-up", 0.85, _CRITICAL, "window nearly full: finish this step, only critical items"),
    Zone(
        "emergency",
        0.95,
        _CRITICAL,
        "checkpoint: the window is full. Write a scratchpad now (done, attempted, next_step, blockers), stop, and "
        "call get_briefing with again=true in a fresh window",
    ),
)
NORMAL, EMERGENCY = ZONES[0], ZONES[-1]
SPENT = Zone("spent", 0.0, _CRITICAL)
"""Not of the window, but of the tokens of hooks: only critical items are shown once they are spent."""


def zone_of(window_used: float | None) -> Zone:
    """Return the zone of a window.

    ``window_used`` is 0 to 1 of the 85 % of a window that can be used; None, unknown, is the normal zone.

    Raises:
        InvalidInput: not a number from 0 to 1.
    """
    if window_used is None:
        return NORMAL
    if type(window_used) not in {int, float} or not 0 <= window_used <= 1:
        raise InvalidInput(
            f"window_used {repr(window_used)[:80]} is out of range",
            "Give 0 to 1: the tokens in use over 85 % of the model's window, or 1 beyond that",
        )
    return next(zone for zone in reversed(ZONES) if window_used >= zone.begins)
