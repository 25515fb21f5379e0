"""Time on weekdays only, in a given zone."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo

from satchel.base.errors import InvalidInput

_SATURDAY = 5
_MAX_DAYS = 15_000
_ONE_DAY = timedelta(days=1)


def check_zone(zone: str, field: str) -> str:
    """Return the name of a time zone if this machine knows it; ``field`` names its purpose in the error."""
    _zone(zone, field)
    return zone


def _zone(name: str, field: str = "zone") -> tzinfo:
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:  # the name is unknown, malformed or a folder
        raise InvalidInput(
            f"{field} {name!r} is not a time zone known on this machine",
            "Give an IANA name such as Europe/Berlin, or UTC",
        ) from error


def after_weekdays(moment: int, duration: int, zone: str) -> int:
    """Return the moment a duration later, not counting Saturdays and Sundays of the zone."""
    days = _Days(zone)
    day = days.of(moment)
    for _ in range(_MAX_DAYS):
        end = days.start(day + _ONE_DAY)
        if day.weekday() < _SATURDAY:
            if duration <= end - moment:
                return moment + duration
            duration -= end - moment
        moment, day = end, day + _ONE_DAY
    return moment


def before_weekdays(moment: int, duration: int, zone: str) -> int:
    """Return the moment a duration earlier, not counting Saturdays and Sundays of the zone."""
    days = _Days(zone)
    day = days.of(moment)
    for _ in range(_MAX_DAYS):
        start = days.start(day)
        if day.weekday() < _SATURDAY:
            if duration <= moment - start:
                return moment - duration
            duration -= moment - start
        moment, day = start, day - _ONE_DAY
    return moment


class _Days:
    """The days of a zone and their starts in milliseconds UTC."""

    def __init__(self, zone: str) -> None:
        self._zone = _zone(zone)

    def of(self, moment: int) -> date:
        return datetime.fromtimestamp(moment / 1_000, self._zone).date()

    def start(self, day: date) -> int:
        # where a clock change leaves out midnight, the offset before the change names the moment of the change
        return round(datetime.combine(day, time.min, self._zone).timestamp() * 1_000)
