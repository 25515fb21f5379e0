"""Routes that only tests have: they show what reaches a handler, and what becomes of what it does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from satchel.base.errors import Busy, StoreFull
from satchel.interfaces.http.ask import KeptBefore
from satchel.interfaces.http.serving import Serving

SECRET = "what nobody may read in a log"


def probes(serving: Serving) -> list[BaseRoute]:
    """Return the routes."""
    is_asked, is_let_go = asyncio.Event(), asyncio.Event()

    async def echo(request: Request) -> Response:
        return PlainTextResponse(f"{request.state.access.name} {request.path_params['word']} {await request.body()!r}")

    async def fail(request: Request) -> Response:
        match request.path_params["how"]:
            case "full":
                raise StoreFull("the disk is full", "Free some space")
            case "busy":
                raise Busy("others write", "Wait")
            case "teapot":
                raise HTTPException(418)
            case "kept":
                raise KeptBefore(SECRET)
        raise ValueError(SECRET)

    async def stream(request: Request) -> Response:
        async def lines() -> AsyncIterator[str]:
            yield "data: first\n\n"
            await asyncio.Event().wait()

        return StreamingResponse(lines(), media_type="text/event-stream")

    async def broken(request: Request) -> Response:
        async def parts() -> AsyncIterator[str]:
            yield "first"
            raise ValueError(SECRET)

        return StreamingResponse(parts(), media_type="text/plain")

    async def large(request: Request) -> Response:
        return Response(bytes(64 * 1024 * 1024))

    async def wait(request: Request) -> Response:
        """Answer once the server was told to stop."""
        is_asked.set()
        await is_let_go.wait()
        return PlainTextResponse("answered all the same")

    async def forever(request: Request) -> Response:
        is_asked.set()
        await asyncio.Event().wait()
        return Response()

    async def stuck(request: Request) -> Response:
        """Answer from a thread, never."""

        def wait_for_nothing() -> None:
            loop.call_soon_threadsafe(is_asked.set)
            threading.Event().wait()

        loop = asyncio.get_running_loop()
        await run_in_threadpool(wait_for_nothing)
        return Response()

    async def asked(request: Request) -> Response:
        """Answer once somebody waits, and let that go as soon as the server ends."""
        await is_asked.wait()
        end = serving.end

        def end_and_let_go() -> None:
            end()
            is_let_go.set()

        serving.end = end_and_let_go  # type: ignore[method-assign]
        return PlainTextResponse("somebody waits")

    return [
        Route("/echo/{word}", echo, methods=["GET", "POST"]),
        Route("/fail/{how}", fail),
        Route("/stream", stream),
        Route("/broken", broken),
        Route("/large", large),
        Route("/wait", wait),
        Route("/forever", forever),
        Route("/stuck", stuck),
        Route("/asked", asked),
    ]
