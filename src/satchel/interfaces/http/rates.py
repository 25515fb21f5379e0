"""Rate limits: token buckets, a bounded number of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic


class Buckets:
    """A bucket for each key, which fills evenly and holds as much as one minute brings.

    Of a key that was forgotten, the bucket is full again; what was used last is forgotten last.

    Args:
        per_minute: how many it brings.
        remembered: how many keys are remembered.
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
        """Take one for a key, if there is one.

        Returns:
            0 if there was one, else in how many whole seconds there will be.
        """
        now = self._now()
        left, since = self._left.pop(key, (float(self._per_minute), now))
        left = min(float(self._per_minute), left + (now - since) * self._per_minute / 60)
        is_given = left >= 1
        self._left[key] = (left - is_given, now)
        if len(self._left) > self._remembered:
            self._left.popitem(last=False)
        return 0 if is_given else max(1, -int(-(1 - left) * 60 // self._per_minute))
