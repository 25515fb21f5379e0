"""The state of one server: tokens, stores, settings, counters and worker threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from satchel.base.errors import NotFound
from satchel.interfaces.http.access import Access, Store
from satchel.interfaces.http.followers import Followers
from satchel.interfaces.http.health import Metrics
from satchel.interfaces.http.public import operation_named
from satchel.interfaces.http.settings import Settings
from satchel.interfaces.http.stores import Stores
from satchel.interfaces.web.logins import Logins

if TYPE_CHECKING:
    from satchel.interfaces.http.tokens import Token

# The argument that says how long a call may wait for others.
WAIT_SECONDS = "wait_seconds"

# The operation that waits for a model.
_ASKS_MODEL = "consult"

_WAITING, _READING = 128, 16
# a store has one writer at a time. Measured with 32 clients that write, three threads, one of which syncs the disk,
# keep 1.4 times as many notes as forty for 0.6 times the processor time: each statement lets another thread take over
_WRITING = 3
# to one project of a database those that wait are kept by one commit, so there must be some. Measured with 32 clients
# over PostgreSQL on the same two cores, 12 and 16 threads keep 1.14 times as many notes as 6, 24 and 32 no more than 6
WRITING_TOGETHER = 12

Answer = TypeVar("Answer")


class Turns:
    """The worker threads for calls. Calls queue in order of arrival while none is free."""

    def __init__(self) -> None:
        self._waiting = ThreadPoolExecutor(_WAITING, "waiting")
        self._reading = ThreadPoolExecutor(_READING, "reading")
        self._writing: dict[tuple[Store, str], ThreadPoolExecutor] = {}

    async def run(self, access: Access, name: str, arguments: object, work: Callable[[], Answer]) -> Answer:
        """Run a call in a thread. Once started, it is awaited even if this coroutine is cancelled."""
        job = self._of(access, name, arguments).submit(work)
        done = asyncio.wrap_future(job)
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            if not job.cancel():
                await asyncio.wait([done])
                done.exception()  # nobody else takes note of it
            raise

    def close(self) -> None:
        """Stop the threads after their current calls."""
        for pool in (self._waiting, self._reading, *self._writing.values()):
            pool.shutdown(wait=False, cancel_futures=True)

    def _of(self, access: Access, name: str, arguments: object) -> ThreadPoolExecutor:
        if name == _ASKS_MODEL or (isinstance(arguments, Mapping) and arguments.get(WAIT_SECONDS)):
            return self._waiting
        if not writes(name):
            return self._reading
        is_file = isinstance(access.store, Path)
        place = access.store, "" if is_file else access.project
        if place not in self._writing:
            self._writing[place] = ThreadPoolExecutor(_WRITING if is_file else WRITING_TOGETHER, "writing")
        return self._writing[place]


def writes(name: str) -> bool:
    """Return whether a call of an operation may write."""
    try:
        return operation_named(name).writes
    except NotFound:
        return False


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

    Attributes:
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
        self.metrics = Metrics()
        self.turns = Turns()
        self.followers = Followers(self.settings.streams)
        self.is_ending = False
        self._streams: set[asyncio.Task[object]] = set()

    def stream_begins(self, task: asyncio.Task[object]) -> None:
        self._streams.add(task)
        self.metrics.streams.set(len(self._streams))

    def stream_ends(self, task: asyncio.Task[object]) -> None:
        self._streams.discard(task)
        self.metrics.streams.set(len(self._streams))

    def end(self) -> None:
        """Start to stop: end streams at once, and let other requests finish."""
        self.is_ending = True
        for task in self._streams:
            task.cancel()
