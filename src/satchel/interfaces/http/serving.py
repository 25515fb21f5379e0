"""The state of one server: tokens, stores, settings and counters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

from satchel.interfaces.http.access import Access, Store
from satchel.interfaces.http.followers import Followers
from satchel.interfaces.http.health import Metrics
from satchel.interfaces.http.settings import Settings
from satchel.interfaces.http.stores import Stores
from satchel.interfaces.http.turns import Turns
from satchel.interfaces.web.logins import Logins

if TYPE_CHECKING:
    from satchel.interfaces.http.tokens import Token


class TokenBook(Protocol):
    """The tokens of a server."""

    def access(self, text: str) -> Access | None:
        """Return the rights of a token; None if it is unknown, expired or revoked."""

    def access_of(self, token_id: str) -> Access | None:
        """Return the rights of a token by its public id; None as for :meth:`access`."""

    def digest(self, token_id: str, /) -> bytes | None:
        """Return the SHA-256 of the secret of a token by its public id; None if it is unknown."""

    def stores(self) -> Sequence[Store]:
        """Return the stores of active tokens."""

    def every(self) -> Sequence[Token]:
        """Return all tokens, oldest first."""


class Serving:
    """The state of one server.

    Args:
        tokens: its tokens.
        stores: its open stores.
        settings: its limits and names.
        logins: the logins of browsers; None disables the pages.
        own_stores: further stores that a person at this machine sees in the pages.

    Attributes:
        around: context managers entered at the start and exited at the end; ``routes`` functions add to them.
        metrics: its counters.
        turns: the threads for calls.
        followers: the listeners to its events.
        is_ending: whether it is stopping.
    """

    def __init__(
        self,
        tokens: TokenBook,
        stores: Stores,
        settings: Settings | None = None,
        logins: Logins | None = None,
        own_stores: Sequence[Store] = (),
    ) -> None:
        self.tokens = tokens
        self.stores = stores
        self.settings = settings or Settings()
        self.logins = logins
        self.own_stores = tuple(own_stores)
        self.around: list[Callable[[], AbstractAsyncContextManager[object]]] = []
        self.metrics = Metrics()
        self.turns = Turns()
        self.followers = Followers(self.settings.streams)
        self.is_ending = False
        self._streams: set[asyncio.Task[object]] = set()

    def stream_begins(self, task: asyncio.Task[object]) -> None:
        """Register the task of a stream of events."""
        self._streams.add(task)
        self.metrics.streams.set(len(self._streams))

    def stream_ends(self, task: asyncio.Task[object]) -> None:
        """Remove a finished task."""
        self._streams.discard(task)
        self.metrics.streams.set(len(self._streams))

    def end(self) -> None:
        """Start to stop: end streams at once, and let other requests finish."""
        self.is_ending = True
        for task in self._streams:
            task.cancel()
