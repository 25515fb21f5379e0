"""An MCP server over HTTP on this machine, in a thread, and official clients of it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2
import mcp_types
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from satchel import Satchel
from satchel.interfaces.http.access import AGENT, Access
from satchel.interfaces.http.mcp import routes
from satchel.interfaces.http.stores import Stores

DIALECTS = ("legacy", "2026-07-28")
"""The eras of the protocol, as the official client calls them."""


@dataclass
class Served:
    """A server, and the rights that it gives to tokens, by their text."""

    url: str
    stores: Stores
    rights: dict[str, Access] = field(default_factory=dict)

    def give(self, satchel: Satchel, **rights: Any) -> str:
        """Make a token for the project of a store, and return its text."""
        store, project = satchel.place.file, satchel.config.project_name or satchel.workplace.suggested_name
        token = f"t{len(self.rights)}"
        self.rights[token] = Access(token, **{"name": "laptop", "role": AGENT, **rights}, store=store, project=project)
        return token

    @asynccontextmanager
    async def client(
        self, token: str, *, mode: str = "2026-07-28", query: str = "", headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[Client]:
        """Connect the official client."""
        sent = {"Authorization": f"Bearer {token}", **(headers or {})}
        async with httpx2.AsyncClient(headers=sent, timeout=60) as http:
            transport = streamable_http_client(f"{self.url}/mcp{query}", http_client=http)
            async with Client(transport, mode=mode) as client:
                yield client

    def converse(self, talk: Callable[[Client], Awaitable[Any]], token: str, **how: Any) -> Any:
        """Connect the official client, let it talk, and return what that returns."""

        async def run() -> Any:
            async with self.client(token, **how) as client:
                return await talk(client)

        return anyio.run(run)

    def post(self, token: str, body: object, query: str = "", **headers: str) -> httpx2.Response:
        """Send one body as it is, and return the answer."""
        sent = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream", **headers}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Content-Type": "application/json", **sent}
        return httpx2.post(f"{self.url}/mcp{query}", content=content, headers=sent, timeout=60)

    def call(self, token: str, tool: str, arguments: Mapping[str, object] | None = None, **how: Any) -> str:
        """Call one tool, and return its text."""
        return str(self.converse(lambda client: ask(client, tool, **(arguments or {})), token, **how))


async def ask(client: Client, tool: str, **arguments: object) -> str:
    """Call a tool and return its text."""
    (block,) = (await client.call_tool(tool, dict(arguments))).content
    assert isinstance(block, mcp_types.TextContent)
    return block.text


class _Gate:
    """Gives each request the rights of its token, as the server's gate does."""

    def __init__(self, app: ASGIApp, rights: Mapping[str, Access]) -> None:
        self._app = app
        self._rights = rights

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            token = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
            scope.setdefault("state", {})["access"] = self._rights[token]
        await self._app(scope, receive, send)


@contextmanager
def served(environ: Mapping[str, str] | None = None) -> Iterator[Served]:
    """Serve on a free port of loopback until the block is left."""
    listening = socket.create_server(("127.0.0.1", 0))
    one = Served(f"http://127.0.0.1:{listening.getsockname()[1]}", Stores(environ or {}))
    app = _Gate(Starlette(routes=routes(one)), one.rights)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=5))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield one
    finally:
        server.should_exit = True
        thread.join()
        one.stores.close()
