"""MCP messages that came over HTTP, answered by our own server: the SDK's low-level server carries them."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from starlette.requests import Request as HttpRequest

from satchel import __version__
from satchel.base.errors import SatchelError
from satchel.client import Satchel
from satchel.interfaces.http.access import Access, Store
from satchel.interfaces.http.mcp_asking import Asked
from satchel.interfaces.http.stores import Stores
from satchel.interfaces.http.turns import WRITING_TOGETHER, writes
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.faults import INTERNAL_TEXT, log_fault
from satchel.interfaces.mcp.jsonrpc import INTERNAL_ERROR, Id, Rejected, Request, RpcError, read_message
from satchel.interfaces.mcp.protocol import Result
from satchel.interfaces.mcp.server import make_server_of

ASKED = "satchel.asked"
"""The key in a request's scope of what it asks for."""

METHODS = (
    "server/discover",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)

_THREADS = 64
"""So many calls run at once, and as many more that wait for others or ask a model: neither keeps the other waiting."""

_PROGRESS = 100
"""So many notifications of progress are kept for a client that is slow to read them; later ones are left out."""

_SURROGATE = re.compile("[\ud800-\udfff]")

_Context = ServerRequestContext[Any, Any]


class Running:
    """The calls that are being served, by who called: so that one is found that its client cancels."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str, Id], list[Call[Satchel]]] = {}
        self._lock = threading.Lock()

    def add(self, key: tuple[str, str, Id], call: Call[Satchel]) -> None:
        """Take in a call."""
        with self._lock:
            self._calls.setdefault(key, []).append(call)

    def remove(self, key: tuple[str, str, Id], call: Call[Satchel]) -> None:
        """Leave out a call that has ended."""
        with self._lock:
            self._calls[key].remove(call)
            if not self._calls[key]:
                del self._calls[key]

    def cancel(self, key: tuple[str, str, Id]) -> None:
        """Cancel the calls that a client named so."""
        with self._lock:
            calls = list(self._calls.get(key, ()))
        for call in calls:
            call.cancel()


class Answering:
    """Answers messages: each with the rights of its request, in a thread of its own.

    Args:
        stores: the stores of the server.
    """

    def __init__(self, stores: Stores) -> None:
        self.running = Running()
        self._stores = stores
        self._short = anyio.CapacityLimiter(_THREADS)
        self._long = anyio.CapacityLimiter(_THREADS)
        self._of_databases: dict[tuple[Store, str], anyio.CapacityLimiter] = {}

    def make_server(self) -> Server[Any]:
        """Return the SDK's server, whose answers all come from here."""
        # without a schema the SDK lists the tools at each call to look for headers that ours do not have
        server: Server[Any] = Server("satchel", version=__version__, get_tool_input_schema=lambda _name: None)
        for method in METHODS:
            server.add_request_handler(method, mcp_types.RequestParams, self._handle)
        server.middleware.append(self._initialize)
        return server

    async def _handle(self, ctx: _Context, _params: mcp_types.RequestParams) -> HandlerResult:
        message = read_message({"jsonrpc": "2.0", "id": ctx.request_id, "method": ctx.method, "params": ctx.params})
        if isinstance(message, Rejected):
            raise _as_theirs(message.error)
        return await self._answer(ctx, _asked(ctx), cast("Request", message))

    async def _initialize(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        """Answer a handshake as our own server does, in the revision that the SDK agrees on."""
        theirs = await call_next(ctx)
        if ctx.method != "initialize" or ctx.request_id is None:
            return theirs
        asked = _asked(ctx)
        revision = cast("Mapping[str, Any]", theirs)["protocolVersion"]
        request = Request(ctx.request_id, ctx.method, ctx.params or {})
        server = make_server_of(asked.registry, lambda: self._satchel(asked), asked.caller)
        return server.answer(request, revision, Call(cast("Satchel", None)))

    def _satchel(self, asked: Asked) -> Satchel:
        return self._stores.satchel(asked.access, caller=asked.caller, agent=asked.agent)

    def _limiter(self, access: Access, request: Request) -> anyio.CapacityLimiter:
        """Return what says how many calls like this one run at once."""
        if _may_wait(request):
            return self._long
        if isinstance(access.store, Path) or not writes(str(request.params.get("name"))):
            return self._short
        place = access.store, access.project
        return self._of_databases.setdefault(place, anyio.CapacityLimiter(WRITING_TOGETHER))

    async def _answer(self, ctx: _Context, asked: Asked, request: Request) -> Result:
        told, telling = anyio.create_memory_object_stream[dict[str, Any]](_PROGRESS)

        def notify(_method: str, params: dict[str, Any]) -> None:
            with suppress(anyio.WouldBlock, anyio.ClosedResourceError, anyio.BrokenResourceError):
                anyio.from_thread.run_sync(told.send_nowait, params)

        meta = request.params.get("_meta")
        call: Call[Satchel] = Call(cast("Satchel", None), meta if isinstance(meta, dict) else {}, notify)

        async def tell() -> None:
            async for one in telling:
                with suppress(Exception):  # a client that does not listen must not end its call
                    await ctx.session.report_progress(one["progress"], one.get("total"), one.get("message"))

        async def watch() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                call.cancel()  # its end, where the call had none before: the client went away

        key = (asked.access.token, asked.session or "", request.id)
        if asked.session is not None:
            self.running.add(key, call)
        limiter = self._limiter(asked.access, request)
        try:
            async with anyio.create_task_group() as watching:
                watching.start_soon(watch)
                async with anyio.create_task_group() as group, told:
                    group.start_soon(tell)
                    answer = await anyio.to_thread.run_sync(
                        self._run, ctx.protocol_version, asked, request, call, limiter=limiter
                    )
                    told.close()
                watching.cancel_scope.cancel()
        finally:
            telling.close()
            if asked.session is not None:
                self.running.remove(key, call)
        if isinstance(answer, RpcError):
            raise _as_theirs(answer)
        return answer

    def _run(self, revision: str, asked: Asked, request: Request, call: Call[Satchel]) -> Result | RpcError:
        """Answer a request; runs in a thread, and raises nothing."""
        try:
            server = make_server_of(asked.registry, lambda: self._satchel(asked), asked.caller)
            if request.method == "tools/call":
                try:
                    call.service = self._satchel(asked)
                except SatchelError as error:
                    text = _clean(f"error [{error.code}]: {error}")
                    return {"content": [{"type": "text", "text": text}], "isError": True}
            return cast("Result", _clean(server.answer(request, revision, call)))
        except RpcError as error:
            return error
        except BaseException:  # noqa: BLE001 - a handler that ends its thread must cost only its own request
            log_fault(request.method)
            return RpcError(INTERNAL_ERROR, INTERNAL_TEXT)
        finally:
            call.finish()


def _asked(ctx: _Context) -> Asked:
    """Return what the request of a message asks for."""
    asked: Asked = cast("HttpRequest", ctx.request).scope[ASKED]
    return asked


def _may_wait(request: Request) -> bool:
    """Whether a call may take minutes: one that waits for others, or asks a model."""
    arguments = request.params.get("arguments")
    return request.params.get("name") == "consult" or (isinstance(arguments, dict) and "wait_seconds" in arguments)


def _as_theirs(error: RpcError) -> MCPError:
    return MCPError(error.code, str(_clean(error.message)), _clean(error.data))


def _clean(value: object) -> Any:
    """Return a value for JSON without lone surrogates, which the SDK cannot write; each becomes U+FFFD."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {key: _clean(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_clean(inner) for inner in value]
    return value
