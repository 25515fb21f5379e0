"""How long things are kept: hours from when they came, with weekends passed over where that is wanted."""

from __future__ import annotations

from satchel.base.records import dataclass

HOUR_MS = 3_600_000
DAY_HOURS = 24


@dataclass(frozen=True, slots=True)
class Retention:
    """How long messages, file changes and conversations are kept.

    Attributes:
        messages_hours: a message, once it was read.
        unread_messages_hours: a message that was not.
        file_changes_hours: a file change.
        conversations_days: a conversation with another model, counted from its last turn.
        skip_weekends: whether Saturdays and Sundays of ``zone`` do not count.
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
        """The hours of ``conversations_days``."""
        return self.conversations_days * DAY_HOURS

    def expires_at(self, created_at: int, hours: int) -> int:
        """Return when something expires.

        Args:
            created_at: when it came to the store, in milliseconds UTC.
            hours: how long it is kept.

        Returns:
            Milliseconds UTC. With ``skip_weekends`` only the time that passes outside Saturdays and Sundays counts,
            measured as it really passes: a weekday that a clock change makes 23 hours long counts 23.
        """
        lasting = hours * HOUR_MS
        if not self.skip_weekends:
            return created_at + lasting
        from satchel.base.weekdays import after_weekdays

        return after_weekdays(created_at, lasting, self.zone)

    def began_at(self, now: int, hours: int) -> int:
        """Return the time whose things expire now: what is older was kept for longer than ``hours``."""
        if not self.skip_weekends:
            return now - hours * HOUR_MS
        from satchel.base.weekdays import before_weekdays

        return before_weekdays(now, hours * HOUR_MS, self.zone)
