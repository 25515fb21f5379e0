"""An MCP server over HTTP on this machine, in a thread, and official clients of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
import mcp_types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

import http_serving as serving
from satchel import Satchel
from satchel.interfaces.http.access import AGENT, Access
from satchel.interfaces.http.databases import Databases
from satchel.remote.connection import identify

DIALECTS = ("legacy", "2026-07-28")
"""The eras of the protocol, as the official client calls them."""


class _Book:
    """Knows tokens by their text."""

    def __init__(self) -> None:
        self.rights: dict[str, Access] = {}

    def digest(self, token_id: str) -> bytes | None:
        """Return the digest of a token by what names it."""
        return dict(map(identify, self.rights)).get(token_id)

    def access(self, text: str) -> Access | None:
        """Return the rights of a token."""
        return self.rights.get(text)


@dataclass
class Served:
    """A server, the rights that it gives to tokens, by their text, and what tells it to end."""

    url: str
    rights: dict[str, Access]
    end: Callable[[], None]

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


@contextmanager
def served(environ: Mapping[str, str] | None = None, databases: Databases | None = None) -> Iterator[Served]:
    """Serve on a free port of loopback until the block is left."""
    book = _Book()
    with serving.served(book, environ=environ, databases=databases) as running:

        def end() -> None:
            running.server.should_exit = True

        yield Served(f"http://127.0.0.1:{running.port}", book.rights, end)
