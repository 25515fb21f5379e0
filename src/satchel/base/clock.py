"""Time as integer milliseconds UTC from an injected clock; ISO 8601 for machines, minutes for agents."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import lru_cache

from satchel.base.errors import InvalidInput
from satchel.base.paging import check_whole

# A function that returns the current time in milliseconds since 1970-01-01 UTC.
Clock = Callable[[], int]

DAY_MS = 86_400_000
_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": DAY_MS, "w": 7 * DAY_MS}
_AGE = r"(\d{1,6})([smhdw])"


def system_clock() -> int:
    try:
        return time.time_ns() // 1_000_000
    except OverflowError:  # a clock after 2262, whose nanoseconds do not fit
        from calendar import timegm

        return timegm(time.gmtime()) * 1_000


def iso(milliseconds: int) -> str:
    """Render a time as ISO 8601 UTC with milliseconds, as in ``2026-11-21T22:24:56.123Z``."""
    seconds, rest = divmod(milliseconds, 1_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest:03d}Z"


def moment_text(milliseconds: int, year: str = "") -> str:
    """Render a time in UTC to the minute, such as ``11-22 11:44``; another year than the given one is added."""
    return _minute(milliseconds // 60_000).removeprefix(f"{year}-")


def year_of(milliseconds: int) -> str:
    return _minute(milliseconds // 60_000)[:4]


@lru_cache(maxsize=1_024)
def _minute(minutes: int) -> str:
    # cached because items of a page are often of the same minutes, and each is rendered three times
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(minutes * 60))


def span_in_words(milliseconds: int) -> str:
    """Return a duration in words, rounded down, such as ``4 min``, ``3 h`` and ``2 days``."""
    minutes = max(0, milliseconds) // 60_000
    if minutes < 120:
        return f"{minutes} min" if minutes else "less than 1 min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // (24 * 60)} days"


def until_text(milliseconds: int, now: int) -> str:
    """Return when something ends and the time left, such as ``until 11-22 11:44 UTC (4 min left)``."""
    return f"until {moment_text(milliseconds, year_of(now))} UTC ({span_in_words(milliseconds - now)} left)"


def check_since(since: str | int | None, now: int) -> int | None:
    """Return a ``since`` filter as milliseconds UTC, parsed by :func:`parse_time` if it is text."""
    if since is None or isinstance(since, str):
        return None if since is None else parse_time(since, now)
    check_whole("since", since, 2**53)
    return since


def parse_time(text: str, now: int, field: str = "since") -> int:
    """Return a point in time as milliseconds UTC.

    The text is ISO 8601 (``2026-11-21``, ``2026-11-21T22:24:56Z``; UTC without an offset), or an age before ``now``: a
    number with s, m, h, d or w (``90m``, ``2d``). ``field`` names the argument in the error.
    """
    age = re.fullmatch(_AGE, text.strip())
    if age:
        return now - int(age[1]) * _UNIT_MS[age[2]]
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return round(moment.timestamp() * 1_000)
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"{field} {text!r} is not a time", "Give ISO 8601 (2026-11-21T09:00:00Z) or an age (90m, 24h, 7d)"
        ) from None
