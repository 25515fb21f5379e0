"""MCP over streamable HTTP at ``/mcp``, for both eras of the protocol, without transport sessions.

Each POST carries one message, handled as over stdio. The response is JSON, or a stream of server-sent events if there
is progress to report or the call takes long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass, replace
from satchel.client import Satchel
from satchel.interfaces.http.access import SESSION_HEADER, Access, Callers, agent_of, checked_session
from satchel.interfaces.http.bodies import parse
from satchel.interfaces.http.exchange import Gone
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.jsonrpc import Id, Request, encode_notification
from satchel.interfaces.mcp.protocol import APPLICATION_METHODS, Server, meta_of
from satchel.interfaces.mcp.registry import ALL_TOOLSETS, Registry, Tool
from satchel.interfaces.mcp.server import make_server
from satchel.interfaces.mcp.streamable_http import (
    EVENT_STREAM,
    JSON,
    KEEP_ALIVE_EVENT,
    TransportError,
    admit,
    check_media_types,
    encode_event,
    read_body,
    status_of,
)
from satchel.interfaces.operations.as_tool import ALL_TOOLS, DEFAULT_TOOLSETS
from satchel.keep.sessions.caller import Caller

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from satchel.interfaces.http.serving import Serving

_PROGRESS = 100
"""The number of notifications that wait for a client that is slow to read them; later ones are dropped."""

_KEEP_ALIVE_SECONDS = 15.0
"""The longest silence of a stream: proxies close connections that are silent for longer."""

_STREAM_HEADERS = [
    (b"content-type", EVENT_STREAM.encode()),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]

_YES, _NO = frozenset({"", "1", "true", "yes"}), frozenset({"0", "false", "no"})

Key = tuple[str, str, Id]
"""Token, session and id of a request."""


@dataclass(frozen=True, slots=True)
class CallContext:
    """The rights, tools and session of a request, from its token, address and headers.

    Attributes:
        access: the rights of its token, less those that the address gives up.
        registry: the tools that the address selects.
        caller: the caller, for its session.
        session: the client's name for its session, or None.
        agent: the agent of calls that name none.
    """

    access: Access
    registry: Registry[Satchel]
    caller: Caller
    session: str | None
    agent: str | None


def routes(serving: Serving) -> list[BaseRoute]:
    """Return the route of MCP.

    The server never sends on its own, so GET has no stream to offer, and DELETE no session to end.
    """
    return [Route("/mcp", Endpoint(serving), methods=["POST"])]


class Endpoint:
    """The ASGI application at ``/mcp``; requests carry an :class:`~satchel.interfaces.http.access.Access`."""

    def __init__(self, serving: Serving) -> None:
        self._stores = serving.stores
        self._turns = serving.turns
        self._callers = Callers()
        self._running: dict[Key, list[Call[Satchel]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        http = HttpRequest(scope, receive, send)
        session = http.headers.get(SESSION_HEADER)
        context = _read_context(http.state.access, http.query_params, session, self._callers)
        try:
            check_media_types(http.headers.get("content-type", ""), ",".join(http.headers.getlist("accept")))
            message = await parse(await http.body(), read_body)
            if isinstance(message, Request):
                server = make_server(context.registry, lambda: self._satchel(context), context.caller)
                revision = admit(server, message, http.headers)
        except TransportError as error:
            await _json(error.body, error.status)(scope, receive, send)
            return
        if isinstance(message, Request):
            await self._answer(http, context, server, message, revision, send)
            return
        if message is not None and message.method == "notifications/cancelled":
            self._cancel(context, message.params.get("requestId"))
        await Response(status_code=202)(scope, receive, send)

    async def _answer(
        self,
        http: HttpRequest,
        context: CallContext,
        server: Server[Satchel],
        request: Request,
        revision: str,
        send: Send,
    ) -> None:
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[bytes | None] = asyncio.Queue()

        def notify(method: str, params: dict[str, Any]) -> None:
            if events.qsize() < _PROGRESS:
                with suppress(RuntimeError):  # the loop has ended before the thread
                    loop.call_soon_threadsafe(events.put_nowait, encode_notification(method, params))

        call = Call(server.opened, meta_of(request), notify, self._stores.without_places)
        if request.method not in APPLICATION_METHODS:
            body, error = server.reply(request, revision, call)
            await _json(body, 200 if error is None else status_of(error, revision))(http.scope, http.receive, send)
            return
        is_tool = request.method == "tools/call"
        job = asyncio.create_task(
            self._turns.run(
                context.access,
                str(request.params.get("name")) if is_tool else "",
                request.params.get("arguments"),
                lambda: server.reply(request, revision, call),
            )
        )
        job.add_done_callback(lambda _: events.put_nowait(None))

        async def watch() -> None:
            while (await http.receive())["type"] != "http.disconnect":
                pass
            call.cancel()
            job.cancel()

        watching = asyncio.create_task(watch())
        try:
            with self._registered(context, request, call):
                is_stream = await _send_events(events, send)
        finally:
            watching.cancel()
            call.cancel()
            job.cancel()
            await asyncio.wait([job])
        if job.cancelled():
            raise Gone
        body, error = job.result()
        if is_stream:
            await send({"type": "http.response.body", "body": encode_event(body)})
        else:
            await _json(body, 200 if error is None else status_of(error, revision))(http.scope, http.receive, send)

    def _satchel(self, context: CallContext) -> Satchel:
        return self._stores.satchel(context.access, caller=context.caller, agent=context.agent)

    @contextmanager
    def _registered(self, context: CallContext, request: Request, call: Call[Satchel]) -> Iterator[None]:
        """Register a call for cancellation by its session while the block runs.

        A call without a session cannot be cancelled this way: two clients with one token may use the same request ids.
        """
        if context.session is None:
            yield
            return
        key = context.access.token, context.session, request.id
        self._running.setdefault(key, []).append(call)
        try:
            yield
        finally:
            self._running[key].remove(call)
            if not self._running[key]:
                del self._running[key]

    def _cancel(self, context: CallContext, request_id: object) -> None:
        if context.session is None or not isinstance(request_id, (str, int)):
            return
        for call in self._running.get((context.access.token, context.session, request_id), ()):
            call.cancel()


async def _send_events(events: asyncio.Queue[bytes | None], send: Send) -> bool:
    """Send events as a stream until the first None; return whether any was sent."""
    is_stream = False
    while True:
        event = KEEP_ALIVE_EVENT
        with suppress(TimeoutError):
            async with asyncio.timeout(_KEEP_ALIVE_SECONDS):
                notification = await events.get()
                if notification is None:
                    return is_stream
                event = encode_event(notification)
        if not is_stream:
            await send({"type": "http.response.start", "status": 200, "headers": _STREAM_HEADERS})
            is_stream = True
        await send({"type": "http.response.body", "body": event, "more_body": True})


def _json(body: bytes, status: int) -> Response:
    return Response(body, status, media_type=JSON)


def _read_context(access: Access, query: Mapping[str, str], header: str | None, callers: Callers) -> CallContext:
    """Return the context of a request."""
    if access.read_only or _is_chosen("read_only", query.get("read_only")):
        access = replace(access, read_only=True)
    names = query.get("toolsets")
    toolsets = DEFAULT_TOOLSETS if names is None else tuple(sorted({name.strip() for name in names.split(",")}))
    session = None if access.read_only else checked_session(header)
    caller, agent = callers.caller(access, session), agent_of(access, session)
    return CallContext(access, _registry(toolsets, access.read_only), caller, session, agent)


@lru_cache(maxsize=64)
def _registry(toolsets: tuple[str, ...], read_only: bool) -> Registry[Satchel]:
    # building a registry checks the declarations of all tools
    def choosing(tool: Tool[Satchel]) -> str:
        if read_only and not tool.read_only:
            return "It writes, and this token or address only reads"
        return (
            f"It belongs to the toolset {tool.toolset}; add it to ?toolsets= in the server's address, or {ALL_TOOLSETS}"
        )

    return Registry(ALL_TOOLS, toolsets, read_only=read_only, choosing=choosing)


def _is_chosen(name: str, value: str | None) -> bool:
    if value is None or value.lower() in _NO:
        return False
    if value.lower() in _YES:
        return True
    raise InvalidInput(f"{name} {value!r} is neither yes nor no", f"Give {name}=1, or leave it out")
