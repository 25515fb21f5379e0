"""A client that leaves ends its own call, and no other one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

from starlette.requests import Request

from satchel.client import Satchel
from satchel.interfaces.http import api


def test_a_client_that_leaves_after_its_call_ended_does_not_interrupt_the_next_call_of_that_thread() -> None:
    interrupted: list[str] = []
    satchel = cast("Satchel", SimpleNamespace(interrupter=lambda: lambda: interrupted.append("the thread")))

    async def serve() -> None:
        left = asyncio.Event()

        async def receive() -> dict[str, str]:
            await left.wait()
            return {"type": "http.disconnect"}

        async def in_thread(run: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
            reply = run()
            left.set()
            for _ in range(3):  # the server sees that the client left before it sees that the thread is done
                await asyncio.sleep(0)
            return reply

        def work(started: Callable[[Satchel], None]) -> Mapping[str, Any]:
            started(satchel)
            return {}

        await api._run(Request({"type": "http"}, receive), work, in_thread)

    asyncio.run(serve())
    assert interrupted == []
