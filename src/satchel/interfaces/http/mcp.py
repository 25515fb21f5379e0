"""MCP over streamable HTTP at ``/mcp``, for both eras of the protocol, without transport sessions.

Each POST carries one message, handled as over stdio. The response is JSON, or a stream of server-sent events if there
is progress to report or the call takes long.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass, replace
from satchel.client import Satchel
from satchel.interfaces.http.access import SESSION_HEADER, Access, Callers, agent_of, checked_session
from satchel.interfaces.http.bodies import parse
from satchel.interfaces.http.exchange import Gone
from satchel.interfaces.mcp import jsonrpc, protocol
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.jsonrpc import Id, Notification, Rejected, Request, RpcError, encode_notification
from satchel.interfaces.mcp.protocol import APPLICATION_METHODS, Server, meta_of
from satchel.interfaces.mcp.registry import ALL_TOOLSETS, Registry, Tool
from satchel.interfaces.mcp.server import make_server
from satchel.interfaces.operations.as_tool import ALL_TOOLS, DEFAULT_TOOLSETS
from satchel.keep.sessions.caller import Caller

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from satchel.interfaces.http.serving import Serving

REVISION_HEADER: Final = "mcp-protocol-version"
METHOD_HEADER: Final = "mcp-method"
NAME_HEADER: Final = "mcp-name"
SESSION_ID_HEADER: Final = "mcp-session-id"

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"

HEADER_MISMATCH: Final = -32020
# The revision of a client that sends no header, which 2025-06-18 introduced.
_REVISION_WITHOUT_HEADER: Final = protocol.BATCH_REVISION

# By method, the parameter that the header ``Mcp-Name`` repeats.
_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

_STATUSES: Final = {
    jsonrpc.PARSE_ERROR: 400,
    jsonrpc.INVALID_REQUEST: 400,
    jsonrpc.INVALID_PARAMS: 400,
    jsonrpc.METHOD_NOT_FOUND: 404,
    HEADER_MISMATCH: 400,
    protocol.UNSUPPORTED_REVISION: 400,
}

KEEP_ALIVE_EVENT: Final = b": keep-alive\r\n\r\n"


# The number of notifications that wait for a client that is slow to read them; later ones are dropped.
_PROGRESS = 100

# The longest silence of a stream: proxies close connections that are silent for longer.
_KEEP_ALIVE_SECONDS = 15.0

_STREAM_HEADERS = [
    (b"content-type", EVENT_STREAM.encode()),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]

_YES, _NO = frozenset({"", "1", "true", "yes"}), frozenset({"0", "false", "no"})

# Token, session and id of a request.
Key = tuple[str, str, Id]


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


class TransportError(Exception):
    """A message refused by the transport."""

    def __init__(self, status: int, error: RpcError, id: Id | None = None) -> None:  # noqa: A002 -- JSON-RPC's name
        super().__init__(error.message)
        self.status = status
        self.body = jsonrpc.encode_error(id, error)


def check_media_types(content_type: str, accept: str) -> None:
    """Check that a client sends JSON and accepts both kinds of response."""
    types = {_media_type(one) for one in accept.split(",")}
    if not (types & {"*/*", "application/*", JSON} and types & {"*/*", "text/*", EVENT_STREAM}):
        raise _invalid(406, f"Accept must list both {JSON} and {EVENT_STREAM}")
    if _media_type(content_type) != JSON:
        raise _invalid(415, f"Content-Type must be {JSON}")


def read_body(body: bytes) -> Request | Notification | None:
    """Return the one message of a body; None for an answer, since this server sends no requests."""
    try:
        value = jsonrpc.parse(body)
    except RpcError as error:
        raise TransportError(400, error) from None
    if isinstance(value, list):
        raise _invalid(400, "the body must be one message: send those of a batch one by one")
    message = jsonrpc.read_message(value)
    if isinstance(message, Rejected):
        raise TransportError(400, message.error, message.id)
    return message


def admit(server: protocol.Server[Any], request: Request, headers: Mapping[str, str]) -> str:
    """Return the revision for a request."""
    connection, header = protocol.Connection(server), headers.get(REVISION_HEADER)
    try:
        if request.method == "initialize":
            return connection.admit(request)
        if protocol.REVISION_KEY in protocol.meta_of(request):
            _check_headers(request, headers)
        elif header is None or header in protocol.HANDSHAKE_REVISIONS:
            connection.revision = header or _REVISION_WITHOUT_HEADER
        elif header not in protocol.STATELESS_REVISIONS:
            raise protocol.unsupported_revision(header)
        revision = connection.admit(request)
    except RpcError as error:
        raise TransportError(_STATUSES.get(error.code, 400), error, request.id) from None
    if revision in protocol.HANDSHAKE_REVISIONS and SESSION_ID_HEADER in headers:
        problem = "there is no such session, and none is needed: initialize again, and leave out Mcp-Session-Id"
        raise TransportError(404, RpcError(jsonrpc.INVALID_REQUEST, problem), request.id)
    return revision


def status_of(error: RpcError, revision: str) -> int:
    """Return the HTTP status of an error answer, which is 200 in the handshake era."""
    return _STATUSES.get(error.code, 200) if revision in protocol.STATELESS_REVISIONS else 200


def encode_event(message: bytes) -> bytes:
    return b"event: message\r\ndata: %b\r\n\r\n" % message


def _check_headers(request: Request, headers: Mapping[str, str]) -> None:
    expected = {REVISION_HEADER: protocol.meta_of(request)[protocol.REVISION_KEY], METHOD_HEADER: request.method}
    name = request.params.get(_NAMED_BY.get(request.method, ""))
    if name is not None:
        expected[NAME_HEADER] = name
    for header, value in expected.items():
        if _decoded(headers.get(header)) != value:
            raise RpcError(HEADER_MISMATCH, f"the header {header} does not match the message")


def _decoded(header: str | None) -> str | None:
    if header is None or not (header.startswith("=?base64?") and header.endswith("?=")):
        return header
    try:
        return base64.b64decode(header[9:-2], validate=True).decode()
    except ValueError:
        return None


def _media_type(text: str) -> str:
    return text.partition(";")[0].strip().lower()


def _invalid(status: int, problem: str) -> TransportError:
    return TransportError(status, RpcError(jsonrpc.INVALID_REQUEST, problem))
