"""Retention: hours from the creation of an item, optionally without weekends."""

from __future__ import annotations

from satchel.base.records import dataclass

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
        from satchel.base.weekdays import after_weekdays

        return after_weekdays(created_at, duration, self.zone)

    def began_at(self, now: int, hours: int) -> int:
        """Return the creation time of items that expire now."""
        if not self.skip_weekends:
            return now - hours * HOUR_MS
        from satchel.base.weekdays import before_weekdays

        return before_weekdays(now, hours * HOUR_MS, self.zone)
