"""Rate limits: a bounded number of token buckets."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic


class Buckets:
    """A token bucket per key, which refills evenly and holds one minute's worth.

    The least recently used key is dropped, so its bucket is full again.

    Args:
        per_minute: the tokens added per minute.
        remembered: the most keys to remember.
        now: the time in seconds.
    """

    def __init__(self, per_minute: int, remembered: int, now: Callable[[], float] = monotonic) -> None:
        self._per_minute = per_minute
        self._remembered = remembered
        self._now = now
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._left)

    def take(self, key: str) -> int:
        """Take a token for a key, if there is one.

        Returns:
            0 on success, else the whole seconds until the next token.
        """
        now = self._now()
        left, since = self._left.pop(key, (float(self._per_minute), now))
        left = min(float(self._per_minute), left + (now - since) * self._per_minute / 60)
        is_given = left >= 1
        self._left[key] = (left - is_given, now)
        if len(self._left) > self._remembered:
            self._left.popitem(last=False)
        return 0 if is_given else max(1, -int(-(1 - left) * 60 // self._per_minute))
