"""MCP over streamable HTTP: the route ``/mcp``, for both eras of the protocol, without any session of the transport."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.routing import BaseRoute, Route

from satchel.interfaces.http import mcp_asking
from satchel.interfaces.http.callers import SESSION_HEADER, Callers
from satchel.interfaces.http.mcp_serving import ASKED, Answering
from satchel.interfaces.mcp.stdio import MAX_LINE_BYTES

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from satchel.interfaces.http.app import Serving
    from satchel.interfaces.http.stores import Stores

_MOST_OF_CANCELLED = 2_000
"""A body is looked at for a cancellation if it has no more bytes: one has about 100."""


def routes(serving: Serving) -> list[BaseRoute]:
    """Return the route of MCP.

    Nothing is sent unasked, so there is no stream to listen to with GET, and no session to end with DELETE.
    """
    return [Route("/mcp", Endpoint(serving.stores), methods=["POST"])]


class Endpoint:
    """Answers the requests to ``/mcp``, each of which has an :class:`~satchel.interfaces.http.access.Access`.

    Args:
        stores: the stores of the server.
    """

    def __init__(self, stores: Stores) -> None:
        self._answering = Answering(stores)
        self._server = self._answering.make_server()
        self._callers = Callers()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

        Raises:
            InvalidInput: its address names no such toolset, or its header no session.
        """
        request = Request(scope)
        header = request.headers.get(SESSION_HEADER)
        asked = mcp_asking.read(request.state.access, request.query_params, header, self._callers)
        scope[ASKED] = asked
        read = bytearray()

        async def noted() -> Message:
            message = await receive()
            if message["type"] == "http.request" and len(read) <= _MOST_OF_CANCELLED:
                read.extend(message.get("body", b""))
            return message

        # one for each request, so that what a request started ends with it; measured, that takes no time
        manager = StreamableHTTPSessionManager(self._server, stateless=True, max_request_body_size=MAX_LINE_BYTES)
        async with manager.run():
            await manager.handle_request(scope, noted, send)
        if asked.session is not None and len(read) <= _MOST_OF_CANCELLED and b"notifications/cancelled" in read:
            self._cancel(asked, bytes(read))

    def _cancel(self, asked: mcp_asking.Asked, body: bytes) -> None:
        """Cancel a call of the same token and session; the SDK knows of no call of another request."""
        with suppress(ValueError, RecursionError):
            match json.loads(body):
                case {"method": "notifications/cancelled", "params": {"requestId": str() | int() as number}}:
                    self._answering.running.cancel((asked.access.token, asked.session or "", number))
