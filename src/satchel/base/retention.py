"""Retention: hours from the creation of an item, optionally without weekends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass

if TYPE_CHECKING:
    from datetime import tzinfo

HOUR_MS = 3_600_000
DAY_HOURS = 24


@dataclass(frozen=True, slots=True)
class Retention:
    """Retention of messages, file changes and conversations.

    Attributes:
        messages_hours: for messages that were read.
        unread_messages_hours: for unread messages.
        conversations_days: for conversations with other models, from the last turn.
        skip_weekends: whether to leave out Saturdays and Sundays of ``zone``.
        zone: an IANA time zone, such as ``Europe/Berlin``.
    """

    messages_hours: int = 24
    unread_messages_hours: int = 7 * DAY_HOURS
    file_changes_hours: int = 7 * DAY_HOURS
    conversations_days: int = 90
    skip_weekends: bool = False
    zone: str = "UTC"

    @property
    def conversations_hours(self) -> int:
        return self.conversations_days * DAY_HOURS

    def expires_at(self, created_at: int, hours: int) -> int:
        """Return when an item expires, in milliseconds UTC.

        With ``skip_weekends`` only time outside Saturdays and Sundays counts, and a weekday that a clock change
        shortens to 23 hours counts as 23.
        """
        duration = hours * HOUR_MS
        if not self.skip_weekends:
            return created_at + duration
        return move_on_weekdays(created_at, duration, self.zone, 1)

    def began_at(self, now: int, hours: int) -> int:
        if not self.skip_weekends:
            return now - hours * HOUR_MS
        return move_on_weekdays(now, hours * HOUR_MS, self.zone, -1)


_SATURDAY = 5
_MAX_DAYS = 15_000


def zone_named(name: str, field: str = "zone") -> tzinfo:
    """Return a time zone by its name; ``field`` names its purpose in the error if this machine does not know it."""
    if name == "UTC":
        from datetime import UTC

        return UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:  # the name is unknown, malformed or a folder
        raise InvalidInput(
            f"{field} {name!r} is not a time zone known on this machine",
            "Give an IANA name such as Europe/Berlin, or UTC",
        ) from error


def move_on_weekdays(moment: int, duration: int, zone_name: str, step: int) -> int:
    """Return the moment a duration later, or earlier if ``step`` is -1, not counting Saturdays and Sundays."""
    from datetime import date, datetime, time

    zone = zone_named(zone_name)
    day = datetime.fromtimestamp(moment / 1_000, zone).toordinal()
    for _ in range(_MAX_DAYS):
        next_midnight = datetime.combine(date.fromordinal(day + (step > 0)), time.min, zone)
        # where a clock change leaves out midnight, the offset before the change names the moment of the change
        end = round(next_midnight.timestamp() * 1_000)
        if date.fromordinal(day).weekday() < _SATURDAY:
            part = abs(end - moment)
            if duration <= part:
                return moment + step * duration
            duration -= part
        moment, day = end, day + step
    return moment
