"""The gate for every request: checks host names, token, rate and size. Requests behind it carry rights."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from satchel.base.errors import SatchelError
from satchel.interfaces.http import logs
from satchel.interfaces.http.exchange import (
    CutOff,
    Exchange,
    Gone,
    Refusal,
    internal,
    not_found,
    refusal_of,
    too_large,
    unknown_token,
)
from satchel.interfaces.http.settings import LOOPBACK_NAMES, Buckets, Settings
from satchel.interfaces.web.guard import LOGIN_BYTES, LOGIN_PATH
from satchel.remote.connection import PATH

if TYPE_CHECKING:
    from satchel.interfaces.http.access import Access
    from satchel.interfaces.http.serving import Serving
    from satchel.interfaces.web.guard import PageGuard

# Routes that need no token; one that is given must be right all the same.
OPEN_ROUTES = frozenset({"/health", PATH})

_ONCE = (
    *(b"host", b"authorization", b"origin", b"content-length", b"content-type", b"satchel-session", b"cookie"),
    *(b"mcp-protocol-version", b"mcp-method", b"mcp-name"),
)
_LONGEST_TOKEN = 512
_PORTS = {"http": 80, "https": 443}
# How many bytes of a body that is not wanted are read and dropped, and for how many seconds, without a valid token and
# with one.
_DRAINED_OF_STRANGERS, _DRAINED = (64 * 1024, 1.0), (64 * 1024 * 1024, 5.0)


class Gate:
    """ASGI middleware that admits, counts and logs requests."""

    def __init__(self, app: ASGIApp, *, serving: Serving, routes: Sequence[BaseRoute], guard: PageGuard) -> None:
        self._app = app
        self._guard = guard
        self._serving = serving
        self._routes = routes
        settings = serving.settings
        self._names: dict[int, Names] = {}
        self._requests = Buckets(settings.requests_per_minute, settings.remembered)
        self._failures = Buckets(settings.failures_per_minute, settings.remembered)
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        task = asyncio.current_task()
        assert task is not None

        def begin_stream() -> None:
            # an MCP call may respond with such a stream too, but it ends with the call
            if exchange.route != "/mcp":
                self._serving.stream_begins(task)

        exchange = Exchange(scope, receive, send, begin_stream)
        try:
            await self._answer(scope, exchange)
        except asyncio.CancelledError:
            if not self._serving.is_ending:
                raise
            task.uncancel()
            await self._end(exchange)
        except Gone:
            exchange.status = exchange.status or 499
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 -- all end here as an answer in JSON
            refusal = refusal_of(error)
            if refusal is None:
                logs.fault(error, request=exchange.id)
                refusal = internal()
            if exchange.status is not None:
                raise CutOff from None
            size, seconds = _DRAINED if exchange.token else _DRAINED_OF_STRANGERS
            if refusal.status == 408:
                size = 0
            try:
                await exchange.refuse(refusal, drain_bytes=size, drain_seconds=seconds)
            except Gone:
                exchange.status = refusal.status
        finally:
            self._serving.stream_ends(task)
            self._serving.metrics.request(exchange)
            logs.request(exchange)

    async def _answer(self, scope: Scope, exchange: Exchange) -> None:
        headers = self._headers(scope)
        self._names_at(scope).check(headers.get(b"host"), headers.get(b"origin"))
        exchange.route = self._route(scope)
        state = scope.setdefault("state", {})
        if self._guard.protects(exchange.route):
            limit = self._admit_visitor(scope, headers, exchange)
        else:
            access = self._access(scope, headers.get(b"authorization"), is_open=exchange.route in OPEN_ROUTES)
            if access is not None:
                exchange.token = access.token
                self._check_rate(access.token)
            state["access"] = access
            limit = self._serving.settings.body_bytes if access is not None else 0
        held = 0

        def reserve(size: int) -> None:
            nonlocal held
            held += size
            self._held += size
            if self._held > self._serving.settings.bodies_bytes:
                raise Refusal(
                    503,
                    "busy",
                    "the bodies of other requests take all the room that there is",
                    "Nothing was written; try again in a moment",
                    (("Retry-After", "1"),),
                )

        settings = self._serving.settings
        try:
            if int(headers.get(b"content-length", b"0")) > limit:
                raise too_large(limit)
            await exchange.read_body(limit, settings.body_seconds, reserve)
            await self._app(scope, exchange.receive, exchange.send)
        finally:
            self._held -= held

    def _admit_visitor(self, scope: Scope, headers: dict[bytes, bytes], exchange: Exchange) -> int:
        visitor = scope["state"]["visitor"] = self._guard.admit(scope, headers, exchange.route)
        if visitor.login is None:
            return LOGIN_BYTES if exchange.route == LOGIN_PATH else 0
        exchange.token = f"login-{visitor.login.id}"
        self._check_rate(exchange.token)
        return self._serving.settings.body_bytes

    def _headers(self, scope: Scope) -> dict[bytes, bytes]:
        pairs: list[tuple[bytes, bytes]] = scope["headers"]
        headers = dict(pairs)
        if len(headers) < len(pairs):
            names = [name for name, _ in pairs]
            for name in _ONCE:
                if names.count(name) > 1:
                    raise Refusal(400, "invalid_input", f"the header {name.decode()} is repeated", "Send it once")
        if b"transfer-encoding" in headers and b"content-length" in headers:
            raise Refusal(
                400,
                "invalid_input",
                "content-length and transfer-encoding contradict each other",
                "Send one of them",
                (("Connection", "close"),),
            )
        return headers

    def _names_at(self, scope: Scope) -> Names:
        port = scope["server"][1] or 0
        if port not in self._names:
            self._names[port] = Names(self._serving.settings, port)
        return self._names[port]

    def _route(self, scope: Scope) -> str:
        for route in self._routes:
            if route.matches(scope)[0] is not Match.NONE:
                return str(getattr(route, "path", ""))
        raise not_found()

    def _access(self, scope: Scope, header: bytes | None, *, is_open: bool) -> Access | None:
        if header is None:
            if is_open:
                return None
            raise Refusal(
                401,
                "refused",
                "this needs a token",
                "Send `Authorization: Bearer TOKEN`; `satchel token new NAME` makes one where the server runs",
                (("WWW-Authenticate", 'Bearer realm="satchel"'),),
            )
        kind, _, text = header.decode("latin-1").partition(" ")
        text = text.strip()
        if kind.lower() == "bearer" and len(text) <= _LONGEST_TOKEN:
            try:
                access = self._serving.tokens.access(text)
            except SatchelError as error:
                logs.fault(error, problem=error.problem)
                raise Refusal(503, "unavailable", "the server cannot read its tokens", "Its log says why") from None
            if access is not None:
                return access
        self._serving.metrics.token_refused()
        wait = self._failures.take(scope["client"][0] if scope.get("client") else "")
        if wait:
            raise Refusal(
                429,
                "refused",
                "too many requests with a wrong token came from this address",
                "Check SATCHEL_TOKEN; a right token is still taken",
                (("Retry-After", str(wait)),),
            )
        raise unknown_token()

    def _check_rate(self, token: str) -> None:
        wait = self._requests.take(token)
        if wait:
            raise Refusal(
                429,
                "busy",
                f"this token has made more than {self._serving.settings.requests_per_minute} requests in a minute",
                f"Nothing was written; try again in {wait} s",
                (("Retry-After", str(wait)),),
            )

    async def _end(self, exchange: Exchange) -> None:
        if exchange.status is not None:
            await exchange.finish()
            return
        stopping = Refusal(
            503,
            "unreachable",
            "the server stops",
            "It cannot be said whether it was done; ask again",
            (("Retry-After", "5"),),
        )
        await exchange.refuse(stopping, drain_bytes=0, drain_seconds=0)


class Names:
    """The host names of one server at one of its ports."""

    def __init__(self, settings: Settings, port: int) -> None:
        self._hosts = {_with_port(name, port) for name in LOOPBACK_NAMES}
        if port == _PORTS["http"]:
            self._hosts.update(LOOPBACK_NAMES)
        self._origins = {f"http://{host}" for host in self._hosts}
        for name in map(str.lower, settings.host_names):
            hosts = {name} if name.rpartition("]")[2].count(":") == 1 else {name, _with_port(name, port)}
            self._hosts |= hosts
            self._origins |= {f"http://{host}" for host in hosts}
            if settings.behind_tls:
                self._origins |= {f"https://{host}" for host in hosts}
                self._hosts |= {name, _with_port(name, _PORTS["https"])}

    def check(self, host: bytes | None, origin: bytes | None) -> None:
        """Refuse a request for another host, or from a page of another site."""
        if host is None or _text(host) not in self._hosts:
            raise Refusal(
                421,
                "refused",
                "this server was not started for the name in Host",
                "Use the address that it printed, or start it with --host-name NAME",
            )
        if origin is not None and _text(origin) not in self._origins:
            raise Refusal(
                403,
                "refused",
                "a page of another site has sent this",
                "Programs send no Origin; pages are served only to themselves",
            )


def _text(value: bytes) -> str:
    return value.decode("latin-1").lower()


def _with_port(name: str, port: int) -> str:
    return f"{name}:{port}"
