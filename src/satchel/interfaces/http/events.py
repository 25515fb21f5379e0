"""The events of a project at ``GET /api/events``, as server-sent events or in pages."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Message, Receive, Scope, Send

from satchel.base.clock import iso
from satchel.base.errors import Busy, InvalidInput, Refused, SatchelError
from satchel.interfaces.http.access import Access
from satchel.interfaces.http.followers import PAGE, Listener
from satchel.keep import following, projects
from satchel.keep.following import Change, Cursor, StreamItem
from satchel.keep.projects import Workplace

if TYPE_CHECKING:
    from satchel.interfaces.http.serving import Serving

_log = logging.getLogger(__name__)

PATH = "/api/events"
_MEDIA_TYPE = "text/event-stream"
_PARAMETERS = ("cursor", "kinds", "wait")
_HEARTBEAT = b": nothing yet\n\n"

_RESET = (
    "too many events followed the cursor, or they were deleted: read your lists again, then continue with this cursor"
)


def routes(serving: Serving) -> list[BaseRoute]:
    async def events(request: Request) -> Response:
        token = request.headers.get("authorization", "").partition(" ")[2].strip()
        access: Access = request.state.access
        return await answer(serving, request, access, lambda: serving.tokens.access(token) is not None)

    return [Route(PATH, events, methods=["GET"])]


async def answer(serving: Serving, request: Request, access: Access, is_valid: Callable[[], bool]) -> Response:
    query = request.query_params
    for name in query:
        if name not in _PARAMETERS:
            raise InvalidInput(f"unknown parameter {name[:80]!r}", f"Valid: {', '.join(_PARAMETERS)}")
    # a browser that reconnects repeats the address it began with, and says in the header how far it has come
    text = request.headers.get("last-event-id") or query.get("cursor")
    cursor = None if text is None else following.read_cursor(text)
    kinds = following.read_kinds(query["kinds"]) if "kinds" in query else None
    if query.get("wait", "0") != "0":
        raise InvalidInput(f"wait={query['wait'][:80]!r} is no wait", "Give wait=0 for one page, or leave it out")
    if request.method == "HEAD":
        return Response(media_type=_MEDIA_TYPE)
    workplace = (await to_thread.run_sync(serving.stores.satchel, access)).workplace
    if "wait" in query:
        items, reached = await to_thread.run_sync(_one_page, workplace, cursor, kinds)
        return JSONResponse({"events": items, "cursor": str(reached)}, headers={"Cache-Control": "no-store"})
    listener = serving.followers.enter(access.token, workplace, kinds)
    try:
        position = await to_thread.run_sync(_begin, listener, cursor)
    except BaseException:
        serving.followers.leave(access.token, listener)
        raise
    return _Stream(serving, access.token, listener, position, is_valid)


def _one_page(
    workplace: Workplace, cursor: Cursor | None, kinds: frozenset[str] | None
) -> tuple[list[dict[str, object]], Cursor]:
    with projects.reading(workplace) as (transaction, project):
        if cursor is None:
            return [], following.now(transaction, project)
        following.check(transaction, project, cursor)
        if following.missed_too_much(transaction, project, cursor, kinds):
            reached = following.now(transaction, project)
            return [{"id": str(reached), "event": "reset", "data": {"problem": _RESET}}], reached
        page = following.read(transaction, project, cursor, PAGE, kinds)
    return [{"id": str(one.cursor), "event": _event(one), "data": _data(one)} for one in page.items], page.cursor


def _begin(listener: Listener, cursor: Cursor | None) -> Cursor:
    """Register a listener for new events, and return its start position, which does not skip any."""
    listener.watcher.add(listener)
    with projects.reading(listener.workplace) as (transaction, project):
        if cursor is None:
            return following.now(transaction, project)
        following.check(transaction, project, cursor)
        return cursor


def _resume(listener: Listener, position: Cursor) -> Cursor | None:
    """Return the cursor to continue from if more follows a position than a listener is told."""
    with projects.reading(listener.workplace) as (transaction, project):
        if following.missed_too_much(transaction, project, position, listener.kinds):
            return following.now(transaction, project)
    return None


class _CutError(Exception):
    """The listener did not read for too long."""


class _Stream(Response):
    """The stream of one listener."""

    def __init__(
        self,
        serving: Serving,
        token: str,
        listener: Listener,
        position: Cursor,
        is_valid: Callable[[], bool],
    ) -> None:
        super().__init__(media_type=_MEDIA_TYPE, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._serving = serving
        self._followers = serving.followers
        self._token = token
        self._listener = listener
        self._position = position
        self._is_valid = is_valid
        self._is_cut = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the listener leaves, is cut off, or the stream ends."""
        scope["state"]["is_stream"] = True
        try:
            async with anyio.create_task_group() as both:

                async def leave() -> None:
                    while (await receive())["type"] != "http.disconnect":
                        pass
                    both.cancel_scope.cancel()

                both.start_soon(leave)
                await self._run(send)
                both.cancel_scope.cancel()
        finally:
            self._followers.leave(self._token, self._listener)
        if self._is_cut:
            raise Busy("the listener took nothing for too long, and was cut", "Read faster, or ask with wait=0")

    async def _run(self, send: Send) -> None:
        try:
            await self._send(send, {"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            try:
                await self._tell(send)
            except SatchelError as error:
                await self._say(send, _lines("failed", _problem(error)))
            except (self._listener.workplace.engine.faults, OSError) as error:
                _log.exception("reading for a listener failed")
                failed = SatchelError(f"reading the store failed: {error}", "Read your lists again, then listen again")
                await self._say(send, _lines("failed", _problem(failed)))
            await self._send(send, {"type": "http.response.body", "body": b"", "more_body": False})
        except _CutError:
            self._is_cut = True
            self._followers.cut += 1
            self._serving.metrics.streams_cut.inc()

    async def _tell(self, send: Send) -> None:
        listener, limits = self._listener, self._followers.limits
        await self._say(send, _lines("ready", {"cursor": str(self._position)}, self._position))
        later = await to_thread.run_sync(_resume, listener, self._position)
        if later is not None:
            self._position = later
            await self._say(send, _lines("reset", {"problem": _RESET, "cursor": str(later)}, later))
        check_at = anyio.current_time() + limits.heartbeat_seconds
        while not listener.failed:
            page = await to_thread.run_sync(listener.watcher.page, listener, self._position)
            if page.items:
                await self._say(send, b"".join(_lines(_event(one), _data(one), one.cursor) for one in page.items))
            self._position = page.cursor
            if page.is_last:
                await listener.news(max(0, check_at - anyio.current_time()))
            if anyio.current_time() >= check_at:
                check_at = anyio.current_time() + limits.heartbeat_seconds
                if not self._is_valid():
                    raise Refused("the token has expired or was revoked", "Ask for a new one")
                await self._say(send, _HEARTBEAT)
        raise listener.failed

    async def _say(self, send: Send, text: bytes) -> None:
        await self._send(send, {"type": "http.response.body", "body": text, "more_body": True})

    async def _send(self, send: Send, message: Message) -> None:
        with anyio.move_on_after(self._followers.limits.stalled_seconds) as sending:
            await send(message)
        if sending.cancelled_caught:
            raise _CutError


def _event(one: StreamItem) -> str:
    return "change" if isinstance(one.of, Change) else "happening"


def _data(one: StreamItem) -> dict[str, object]:
    of = one.of
    data: dict[str, object] = {"kind": of.kind, "item": of.item, "seq": of.seq, "agent": of.agent}
    if isinstance(of, Change):
        return data | {"at": iso(of.at)}
    return data | {"session": of.session, "client": of.client, "details": of.details, "at": iso(of.created_at)}


def _lines(event: str, data: object, cursor: Cursor | None = None) -> bytes:
    identity = "" if cursor is None else f"id: {cursor}\n"
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"{identity}event: {event}\ndata: {text}\n\n".encode()


def _problem(error: SatchelError) -> dict[str, object]:
    return {"code": error.code, "problem": error.problem, "remedy": error.remedy}
