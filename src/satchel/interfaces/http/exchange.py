"""A request and its response, with byte counts; errors as JSON responses: a code, the problem and a remedy."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable, Iterable
from time import perf_counter

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from satchel.base.errors import ERROR_KINDS, SatchelError

Headers = Iterable[tuple[str, str]]

# The headers of all pages and of all errors.
SAFETY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # with no-referrer browsers send `Origin: null` with a form, like a page of another site
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}

INTERNAL_PROBLEM = "internal error"
INTERNAL_REMEDY = "Nothing more is known here; the server's log names the fault under this request's id"


class Refusal(Exception):
    """A request refused with an HTTP status."""

    def __init__(self, status: int, code: str, problem: str, remedy: str | None = None, headers: Headers = ()) -> None:
        self.status = status
        self.code = code
        self.problem = problem
        self.remedy = remedy
        self.headers = tuple(headers)
        super().__init__(problem)


def refusal_of(error: BaseException) -> Refusal | None:
    """Return the refusal for an error; None for an unexpected one."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, SatchelError):
        return Refusal(error.kind.http_status, error.code, error.problem, error.remedy)
    if isinstance(error, HTTPException):
        headers = (error.headers or {}).items()
        if error.status_code == 404:
            return not_found()
        if error.status_code == 405:
            return method_not_allowed((error.headers or {}).get("Allow", ""))
        return Refusal(error.status_code, _code_of(error.status_code), "the request was refused", None, headers)
    return None


def unknown_token() -> Refusal:
    return Refusal(
        401,
        "refused",
        "the token is not known, has expired or was revoked",
        "Ask for a new one: `satchel token new NAME` makes it where the server runs",
        (("WWW-Authenticate", 'Bearer realm="satchel", error="invalid_token"'),),
    )


def not_found() -> Refusal:
    """Return the refusal of an unknown path; the path itself is not repeated."""
    return Refusal(404, "not_found", "there is nothing under this path", "MCP is under /mcp, the JSON API under /api")


def method_not_allowed(allowed: str) -> Refusal:
    allowed = ", ".join(sorted(allowed.split(", ")))  # they come from a set
    headers = (("Allow", allowed),) if allowed else ()
    return Refusal(
        405, "invalid_input", "this path does not take that method", f"Use {allowed}" if allowed else None, headers
    )


def head_too_long(limit: int) -> Refusal:
    problem = f"the request line and headers are longer than {limit} bytes"
    return Refusal(431, "too_large", problem, "Send only the headers that are needed")


def internal() -> Refusal:
    """Return the refusal for an unexpected error, without its details."""
    return Refusal(500, "internal", INTERNAL_PROBLEM, INTERNAL_REMEDY)


def confined(refusal: Refusal, hide: Callable[[str, str], str]) -> Refusal:
    """Return a refusal for a token holder."""
    remedy = None if refusal.remedy is None else hide(refusal.remedy, refusal.code)
    return Refusal(refusal.status, refusal.code, hide(refusal.problem, refusal.code), remedy, refusal.headers)


def body_of(refusal: Refusal) -> bytes:
    error = {"code": refusal.code, "problem": refusal.problem, "remedy": refusal.remedy}
    return json.dumps({"error": error}, ensure_ascii=False).encode("utf-8", "backslashreplace")


def headers_of(refusal: Refusal, body: bytes) -> list[tuple[bytes, bytes]]:
    headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("cache-control", "no-store")]
    return [
        (name.lower().encode(), value.encode("latin-1"))
        for name, value in (*headers, *SAFETY_HEADERS.items(), *refusal.headers)
    ]


async def send_refusal(refusal: Refusal, send: Send) -> None:
    body = body_of(refusal)
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers_of(refusal, body)})
    await send({"type": "http.response.body", "body": body})


def _code_of(status: int) -> str:
    codes = {kind.http_status: kind.code for kind in reversed(ERROR_KINDS.values())}
    return codes.get(status, "invalid_input" if status < 500 else "internal")


# The route of an unknown path, in logs and metrics.
NO_ROUTE = "none"

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
    return Refusal(
        413,
        "too_large",
        f"the body is larger than {limit} bytes",
        "Send less at once; a file that others need goes in parts, or into the repository",
    )
