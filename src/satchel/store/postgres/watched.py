"""Connections whose statements end while they run, once whoever asks has no time left."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

import psycopg

from satchel.store.transaction import Row

Answer = TypeVar("Answer")


class WatchedConnection(psycopg.Connection[Row]):
    """A connection that asks a function ten times a second, while it waits for the server, whether to go on waiting.

    Attributes:
        look: it cancels what runs where the time is over; None is never asked.
    """

    look: Callable[[], object] | None = None

    def wait(self, gen: Generator[Any, Any, Answer], *args: Any, **named: Any) -> Answer:
        """Wait for the answer of the server, as psycopg does."""
        return super().wait(gen if self.look is None else _looking(gen, self.look), *args, **named)


def _looking(gen: Generator[Any, Any, Answer], look: Callable[[], object]) -> Generator[Any, Any, Answer]:
    """Do what a generator of psycopg does, and look whenever the server has said nothing for an interval."""
    ready = None
    try:
        while True:
            ready = yield gen.send(ready)
            if not ready:
                look()
    except StopIteration as done:
        answer: Answer = done.value
        return answer
