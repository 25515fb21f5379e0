"""A request and its response, with byte counts."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from time import perf_counter

from starlette.types import Message, Receive, Scope, Send

from satchel.interfaces.http.failing import Refusal, send_refusal

NO_ROUTE = "none"
"""The route of an unknown path, in logs and metrics."""

_CLOSE = ("Connection", "close")


class Gone(Exception):
    """The client disconnected before its request had arrived."""


class CutOff(Exception):
    """A response that started and cannot be completed; the connection must be closed."""


class Exchange:
    """A request and its response.

    Attributes:
        id: the request id in the response and the log; generated here, never taken from the client.
        route: the template of its route, such as ``/api/{operation}``.
        token: the public id of its token; None without a valid one.
        is_stream: whether the response is a stream of events.
        status: the response status; None before it starts.
        bytes_in, bytes_out: the sizes of the bodies.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send, on_stream: Callable[[], None]) -> None:
        self.id = secrets.token_hex(8)
        self.method: str = scope["method"]
        self.route = NO_ROUTE
        self.token: str | None = None
        self.status: int | None = None
        self.bytes_in = 0
        self.bytes_out = 0
        self.is_stream = False
        self._receive, self._send, self._on_stream = receive, send, on_stream
        names = dict(scope["headers"])
        self._has_body = b"transfer-encoding" in names or names.get(b"content-length", b"0") != b"0"
        self._waits_to_send = b"expect" in names
        self._body: bytes | None = None
        self._is_complete = False
        self._began = perf_counter()

    @property
    def seconds(self) -> float:
        """The time since the request began."""
        return perf_counter() - self._began

    async def read_body(self, limit: int, seconds: float, reserve: Callable[[int], None]) -> None:
        """Read the body, for :meth:`receive` to return."""
        if not self._has_body:
            return
        body = bytearray()
        try:
            async with asyncio.timeout(seconds):
                async for part in self._parts():
                    reserve(len(part))
                    body += part
                    if len(body) > limit:
                        raise too_large(limit)
        except TimeoutError:
            raise Refusal(
                408, "timed_out", f"the body did not arrive within {seconds:g} seconds", "Send it again, in one go"
            ) from None
        self._body = bytes(body)

    async def receive(self) -> Message:
        """Return the body that was read, then what the transport delivers next."""
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Message) -> None:
        """Send a part of the response."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", ()))
            message = {**message, "headers": [*headers, (b"x-request-id", self.id.encode())]}
            if any(name == b"content-type" and value.startswith(b"text/event-stream") for name, value in headers):
                self.is_stream = True
                self._on_stream()
        else:
            self.bytes_out += len(message.get("body", b""))
            self._is_complete = not message.get("more_body", False)
        await self._send(message)

    async def refuse(self, refusal: Refusal, *, drain_bytes: int, drain_seconds: float) -> None:
        """Respond with a refusal, once the body is read: a client that still sends would see a reset instead."""
        if not await self._drain(drain_bytes, drain_seconds):
            refusal = Refusal(refusal.status, refusal.code, refusal.problem, refusal.remedy, (*refusal.headers, _CLOSE))
        await send_refusal(refusal, self.send)

    async def finish(self) -> None:
        """End a response that has started, so that its reader sees a regular end."""
        if not self._is_complete:
            await self.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _drain(self, most: int, seconds: float) -> bool:
        if not self._has_body:
            return True
        if self._waits_to_send or not most:
            return False
        try:
            async with asyncio.timeout(seconds):
                async for part in self._parts():
                    most -= len(part)
                    if most < 0:
                        return False
        except TimeoutError:
            return False
        return True

    async def _parts(self) -> AsyncIterator[bytes]:
        while self._has_body:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Gone
            part = message.get("body", b"")
            self.bytes_in += len(part)
            self._has_body = message.get("more_body", False)
            yield part


def too_large(limit: int) -> Refusal:
    """Return the refusal of a body above the limit in bytes."""
    return Refusal(
        413,
        "too_large",
        f"the body is larger than {limit} bytes",
        "Send less at once; a file that others need goes in parts, or into the repository",
    )
