"""Trying again: what passes is waited for, longer each time, and nothing is asked twice once it was answered.

Half of each pause is left to chance ("equal jitter"), so that calls that failed together do not come back together:
https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from satchel.base.errors import AssistantFailed
from satchel.base.records import dataclass
from satchel.consult.assistants.wire import Wire

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long to try.

    Attributes:
        attempts: how many in all, from 1.
        first: the most seconds before the second attempt; doubled before each further one.
        longest: the most seconds before any attempt.
        longest_asked: the most seconds to wait when the provider says how long.
    """

    attempts: int = 5
    first: float = 0.5
    longest: float = 8.0
    longest_asked: float = 60.0

    def pause(self, attempt: int, failure: AssistantFailed, chance: float) -> float | None:
        """Return how many seconds to wait after a failed attempt; None to give up.

        Args:
            attempt: which one failed, counted from 1.
            chance: from 0 to 1: how much of what is left to chance is waited.

        Returns:
            From half of the pause for this attempt to all of it. What a provider asks for takes the place of the
            certain half: it is never undercut.
        """
        if attempt >= self.attempts or not failure.is_passing:
            return None
        half = min(self.longest, self.first * float(2 ** (attempt - 1))) / 2
        if failure.retry_after is None:
            return half + chance * half
        asked = failure.retry_after
        return asked + chance * half if asked <= self.longest_asked else None


def persist(
    wire: Wire,
    work: Callable[[], T],
    patience: Patience,
    may_repeat: Callable[[], bool] = lambda: True,
) -> T:
    """Do something with a provider, again if what kept it from succeeding passes.

    Args:
        work: raises :class:`AssistantFailed` where the provider failed.
        may_repeat: asked after each failure: whether doing it again would do no harm.

    Raises:
        AssistantFailed: the last failure.
        Interrupted: the call was cancelled.
    """
    attempt = 0
    while True:
        attempt += 1
        wire.check()
        try:
            return work()
        except AssistantFailed as failure:
            # a connection that we cut looks like one that the provider cut
            wire.check()
            pause = patience.pause(attempt, failure, wire.timing.chance()) if may_repeat() else None
            if pause is None or pause >= wire.left():
                raise
        wire.pause(pause)


def retry_after(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """Read how long a provider asks to wait, in seconds; None where it does not say.

    Formats: ``retry-after-ms`` in milliseconds, else https://www.rfc-editor.org/rfc/rfc9110#field.retry-after

    Args:
        headers: of the answer, looked up without regard to case.
        now: the current time in seconds since 1970, for a date.
    """
    for name, parts in (("retry-after-ms", 1_000), ("retry-after", 1)):
        try:
            seconds = float(headers[name]) / parts
        except (KeyError, ValueError):
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - now())
    except (KeyError, ValueError):
        return None
