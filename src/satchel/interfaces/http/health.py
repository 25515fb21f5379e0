"""Whether the server can do its work: each open store is really read and written, now and then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from satchel.base.errors import SatchelError
from satchel.interfaces.http import logs

if TYPE_CHECKING:
    from satchel.interfaces.http.access import Access, Store
    from satchel.interfaces.http.app import Serving
    from satchel.interfaces.http.stores import Stores

OK = "ok"
_WAIT_MS = 2_000
_LONGEST_SECONDS = 5.0
_THREADS = 4
"""Beside those of the handlers: a disk that hangs keeps the threads that ask about it."""


class Health:
    """What is known about the stores that a server has open.

    Args:
        stores: all that are open.
        seconds: how long what was found out counts.
        now: the time in seconds.
    """

    def __init__(self, stores: Stores, seconds: float, now: Callable[[], float] = monotonic) -> None:
        self._stores = stores
        self._seconds = seconds
        self._now = now
        self._found: dict[Store, tuple[float, str]] = {}
        self._threads = anyio.CapacityLimiter(_THREADS)
        self._locks: dict[Store, asyncio.Lock] = {}

    async def every(self) -> str:
        """Return :data:`OK`, or what is wrong with the first open store that is not."""
        states = [await self.of(store) for store in self._stores.every()]
        return next((state for state in states if state != OK), OK)

    async def of(self, store: Store) -> str:
        """Return :data:`OK`, or the code of what is wrong with a store."""
        async with self._locks.setdefault(store, asyncio.Lock()):
            at, state = self._found.get(store, (0.0, ""))
            if not state or self._now() - at >= self._seconds:
                state = await self._ask(store)
                self._found[store] = (self._now(), state)
            return state

    async def _ask(self, store: Store) -> str:
        try:
            async with asyncio.timeout(_LONGEST_SECONDS):
                await anyio.to_thread.run_sync(partial(self._try, store), abandon_on_cancel=True, limiter=self._threads)
        except SatchelError as error:
            return error.code
        except TimeoutError:
            return "timed_out"
        except Exception as error:  # noqa: BLE001 -- whatever it is, the store does not work
            logs.fault(error)
            return "internal"
        return OK

    def _try(self, store: Store) -> None:
        self._stores.opened(store).workplace.engine.probe(_WAIT_MS)


def routes(serving: Serving) -> list[BaseRoute]:
    """Return the route of the server's health."""
    health = Health(serving.stores, serving.settings.health_seconds)

    async def answer(request: Request) -> Response:
        access: Access | None = request.state.access
        state = await (health.every() if access is None else health.of(access.store))
        facts: dict[str, object] = {"status": OK if state == OK else "not ok"}
        if access is not None:
            facts |= {"project": access.project, "store": state}
        return JSONResponse(facts, 200 if state == OK else 503, {"Cache-Control": "no-store"})

    return [Route("/health", answer, methods=["GET"])]
