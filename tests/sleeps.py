"""A clock that moves when a waiting call sleeps: what happens meanwhile is done there."""

from __future__ import annotations

from collections.abc import Callable

Action = Callable[[], object]


class Sleeps:
    """Time for those who wait: a sleep takes none, and may do something first.

    Attributes:
        now: seconds.
        actions: what is done in the next sleeps, one in each; None does nothing.
        count: how many sleeps there were.
    """

    def __init__(self) -> None:
        self.now = 1_000.0
        self.actions: list[Action | None] = []
        self.count = 0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.count += 1
        action = self.actions.pop(0) if self.actions else None
        if action is not None:
            action()
