"""Health, metrics and proofs: whether each store is writable, counters for Prometheus, and that a token is known.

Counters are labelled by route, method and status, never by values from clients.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from satchel.base.errors import InvalidInput, SatchelError
from satchel.interfaces.http import logs
from satchel.interfaces.http.access import PERSON
from satchel.interfaces.http.exchange import Refusal, unknown_token
from satchel.remote.connection import NONCE, PATH, proof

if TYPE_CHECKING:
    from satchel.interfaces.http.access import Access, Store
    from satchel.interfaces.http.exchange import Exchange
    from satchel.interfaces.http.serving import Serving
    from satchel.interfaces.http.stores import Stores

OK = "ok"
_WAIT_MS = 2_000
_LONGEST_SECONDS = 5.0
_LONGEST_ID = 64
# Beside those of the handlers: a disk that hangs keeps the threads that ask about it.
_THREADS = 4


class Health:
    """The state of the open stores of a server."""

    def __init__(self, stores: Stores, seconds: float, now: Callable[[], float] = monotonic) -> None:
        self._stores = stores
        self._seconds = seconds
        self._now = now
        self._states: dict[Store, tuple[float, str]] = {}
        self._threads = anyio.CapacityLimiter(_THREADS)
        self._locks: dict[Store, asyncio.Lock] = {}

    async def every(self) -> str:
        """Return :data:`OK`, or the problem of the first open store that has one."""
        states = [await self.of(store) for store in self._stores.every()]
        return next((state for state in states if state != OK), OK)

    async def of(self, store: Store) -> str:
        """Return :data:`OK`, or the code of the store's problem."""
        async with self._locks.setdefault(store, asyncio.Lock()):
            at, state = self._states.get(store, (0.0, ""))
            if not state or self._now() - at >= self._seconds:
                state = await self._ask(store)
                self._states[store] = (self._now(), state)
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


# From a read of one item to the longest that a statement may take; consultations lie above.
_BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 30.0)


class Metrics:
    """The counters of one server, in their own registry."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "satchel_requests", "Requests answered.", ["route", "method", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "satchel_request_seconds",
            "How long an answer took, but for streams of events.",
            ["route"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self.streams = Gauge("satchel_event_streams", "Streams of events that are open.", registry=self._registry)
        self.streams_cut = Counter(
            "satchel_event_streams_cut", "Streams whose listener took nothing.", registry=self._registry
        )
        self._refused = Counter("satchel_tokens_refused", "Requests whose token was wrong.", registry=self._registry)

    def request(self, exchange: Exchange) -> None:
        self._requests.labels(exchange.route, logs.method_of(exchange), str(exchange.status or 499)).inc()
        if not exchange.is_stream:
            self._seconds.labels(exchange.route).observe(exchange.seconds)

    def token_refused(self) -> None:
        self._refused.inc()

    def text(self) -> bytes:
        """Return all counters in Prometheus' text format, version 0.0.4."""
        return generate_latest(self._registry)


def routes(serving: Serving) -> list[BaseRoute]:
    health = Health(serving.stores, serving.settings.health_seconds)

    async def answer(request: Request) -> Response:
        access: Access | None = request.state.access
        state = await (health.every() if access is None else health.of(access.store))
        facts: dict[str, object] = {"status": OK if state == OK else "not ok"}
        if access is not None:
            facts |= {"project": access.project, "store": state}
        return JSONResponse(facts, 200 if state == OK else 503, {"Cache-Control": "no-store"})

    async def metrics(request: Request) -> Response:
        if request.state.access.role != PERSON:
            raise Refusal(
                403,
                "refused",
                "what the server counts is not for agents",
                "Use a token of a person: `satchel token new NAME --role person`",
            )
        return Response(serving.metrics.text(), media_type=CONTENT_TYPE_PLAIN_0_0_4)

    async def prove(request: Request) -> Response:
        # see satchel.remote.connection
        token, nonce = request.query_params.get("token", ""), request.query_params.get("nonce", "")
        if not NONCE.fullmatch(nonce) or len(token) > _LONGEST_ID:
            raise InvalidInput("a proof needs the id of a token, and a nonce", "Send 32 random hexadecimal digits")
        key = serving.tokens.digest(token)  # from memory, unless the file has changed
        if key is None:
            raise unknown_token()
        made = proof(key, request.headers["host"], nonce)
        return JSONResponse({"proof": made}, headers={"Cache-Control": "no-store"})

    endpoints = {"/health": answer, "/metrics": metrics, PATH: prove}
    return [Route(path, endpoint, methods=["GET"]) for path, endpoint in endpoints.items()]
