"""What a server counts, for Prometheus: by route, method and status, never by anything that a caller made up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from satchel.interfaces.http.access import PERSON
from satchel.interfaces.http.failing import Refusal
from satchel.interfaces.http.logs import method_of

if TYPE_CHECKING:
    from satchel.interfaces.http.app import Serving
    from satchel.interfaces.http.exchange import Exchange

_SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 30.0)
"""From a read of one item to the longest that a statement may take; consultations lie above."""


class Metrics:
    """The counters of one server, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "satchel_requests", "Requests answered.", ["route", "method", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "satchel_request_seconds",
            "How long an answer took, but for streams of events.",
            ["route"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.streams = Gauge("satchel_event_streams", "Streams of events that are open.", registry=self._registry)
        self.streams_cut = Counter(
            "satchel_event_streams_cut", "Streams whose listener took nothing.", registry=self._registry
        )
        self._refused = Counter("satchel_tokens_refused", "Requests whose token was wrong.", registry=self._registry)

    def request(self, exchange: Exchange) -> None:
        """Count a request that was answered."""
        self._requests.labels(exchange.route, method_of(exchange), str(exchange.status or 499)).inc()
        if not exchange.is_stream:
            self._seconds.labels(exchange.route).observe(exchange.seconds)

    def token_refused(self) -> None:
        """Count a request whose token was wrong."""
        self._refused.inc()

    def text(self) -> bytes:
        """Return all of it in Prometheus' text format, version 0.0.4."""
        return generate_latest(self._registry)


def routes(serving: Serving) -> list[BaseRoute]:
    """Return the route of what is counted."""

    async def metrics(request: Request) -> Response:
        if request.state.access.role != PERSON:
            raise Refusal(
                403,
                "refused",
                "what the server counts is not for agents",
                "Use a token of a person: `satchel token new NAME --role person`",
            )
        return Response(serving.metrics.text(), media_type=CONTENT_TYPE_PLAIN_0_0_4)

    return [Route("/metrics", metrics, methods=["GET"])]
