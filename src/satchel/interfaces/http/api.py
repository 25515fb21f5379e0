"""The JSON API: every operation by name, for any program and for Satchel's own local program."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from satchel.base.errors import ERROR_KINDS
from satchel.client import Satchel
from satchel.interfaces.http.access import SESSION_HEADER, Access, Callers
from satchel.interfaces.http.bodies import members, parse
from satchel.interfaces.http.calls import Calls
from satchel.interfaces.http.public import description, run_public
from satchel.remote.calls import CONTENT_TYPE

if TYPE_CHECKING:
    from satchel.interfaces.http.serving import Serving

# What is done for a request, told what to call with the Satchel that it works with.
Work = Callable[[Callable[[Satchel], None]], Mapping[str, Any]]

InThread = Callable[[Callable[[], Mapping[str, Any]]], Awaitable[Mapping[str, Any]]]


def routes(serving: Serving) -> list[BaseRoute]:
    calls, callers = Calls(serving.stores), Callers()

    async def called(request: Request) -> Response:
        name, access = str(request.path_params["operation"]), _access(request)
        if request.method == "GET":
            fields: dict[str, Any] = _query(request)
        else:
            fields = await parse(await request.body(), members)
        is_call = request.headers.get("content-type", "").partition(";")[0].strip() == CONTENT_TYPE

        def work(started: Callable[[Satchel], None]) -> Mapping[str, Any]:
            if is_call:
                return calls.run(access, name, fields, started)
            return run_public(
                serving.stores,
                access,
                name,
                fields,
                started,
                reads_only=request.method == "GET",
                callers=callers,
                header=request.headers.get(SESSION_HEADER),
            )

        arguments = fields.get("named") if is_call else fields
        reply = await _run(request, work, partial(serving.turns.run, access, name, arguments))
        return _json(reply, ERROR_KINDS[reply["error"]["code"]].http_status if is_call and "error" in reply else 200)

    async def described(_request: Request) -> Response:
        return _json(await anyio.to_thread.run_sync(description))

    return [
        Route("/api/openapi.json", described, methods=["GET"]),
        Route("/api/{operation}", called, methods=["GET", "POST"]),
    ]


async def _run(request: Request, work: Work, in_thread: InThread) -> Mapping[str, Any]:
    interrupts: list[Callable[[], None]] = []
    lock = threading.Lock()

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        with lock:
            for interrupt in interrupts:
                interrupt()

    def run() -> Mapping[str, Any]:
        try:
            return work(lambda satchel: interrupts.append(satchel.interrupter()))
        finally:
            # the thread runs another request before this one's end is noticed; a late interrupt would end that one
            with lock:
                interrupts.clear()

    # a task group of anyio takes 0.15 ms more, which is a tenth of a write
    watching = asyncio.create_task(watch())
    try:
        return await in_thread(run)
    finally:
        watching.cancel()


def _access(request: Request) -> Access:
    access: Access = request.scope["state"]["access"]
    return access


def _query(request: Request) -> dict[str, Any]:
    query = request.query_params
    return {name: values if len(values := query.getlist(name)) > 1 else values[0] for name in query}


def _json(value: object, status: int = 200) -> Response:
    content = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return Response(content, status, media_type="application/json")
