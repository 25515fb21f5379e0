"""The server process: its application, socket, connections, signals, start and shutdown."""

from __future__ import annotations

import asyncio
import errno
import gc
import importlib
import pkgutil
import resource
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from types import FrameType
from typing import Any

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from uvicorn.protocols.http.h11_impl import H11Protocol

import satchel
from satchel.base.errors import InvalidInput, Refused, SatchelError, system_error
from satchel.brief.briefing.collecting import Deadline
from satchel.brief.moments import START
from satchel.interfaces.http import api, events, health, logs, mcp
from satchel.interfaces.http.access import AGENT, Access, Store
from satchel.interfaces.http.exchange import Refusal, body_of, confined, head_too_long, headers_of, internal, refusal_of
from satchel.interfaces.http.gate import Gate
from satchel.interfaces.http.running import SERVER_HEADER, is_satchel
from satchel.interfaces.http.serving import Serving
from satchel.interfaces.http.settings import Settings
from satchel.interfaces.http.stores import Stores
from satchel.interfaces.web import rendering
from satchel.interfaces.web.guard import PageGuard

# So many connections are accepted in one go, before any that are too many are closed.
_BACKLOG = 512
# The 200 are for stores, with four files for each connection to one, and for what the interpreter opens.
_FILES_BESIDE = _BACKLOG + 200
_UNWIND_SECONDS = 0.5
_PROBE_SECONDS = 1.0
_SHOWN_CHARS = 200
# The value of ``SO_LINGER`` that ends a connection with a reset.
_RESET = struct.pack("ii", 1, 0)

_PACKAGES = ("base", "store", "find", "keep", "brief", "interfaces.operations", "interfaces.text")
_NOT_SERVED = (
    *("satchel.keep.importing", "satchel.keep.moving", "satchel.keep.shared"),
    *("satchel.find.index_postgres", "satchel.store.postgres"),  # loaded with the first store in PostgreSQL
)
_MOST_STORES = 8
_BRIEFING_MS = 1_000


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError):
        raise InvalidInput(
            f"there is no address {host!r}", "Give an address of this machine: --host 127.0.0.1"
        ) from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise _cannot_bind(error, host, port) from None
    return listener


def make_app(serving: Serving) -> Starlette:
    routes: list[BaseRoute] = []
    for part in (health, events, api, mcp):
        routes += part.routes(serving)
    guard = PageGuard(serving)
    if serving.logins is not None:
        from satchel.interfaces.web.routes import routes as routes_of_pages

        of_pages = routes_of_pages(serving, guard)
        routes += of_pages
        guard.protect(of_pages)

    async def refused(_request: Request, error: Exception) -> Response:
        refusal = confined(refusal_of(error) or internal(), serving.stores.without_places)
        body = body_of(refusal)
        response = Response(body, refusal.status)
        response.raw_headers = headers_of(refusal, body)
        return response

    app = Starlette(
        routes=routes,
        middleware=[Middleware(Gate, serving=serving, routes=routes, guard=guard)],
        exception_handlers=dict.fromkeys((SatchelError, Refusal, HTTPException), refused),
    )
    app.state.without_places = serving.stores.without_places
    app.router.redirect_slashes = False
    return app


def address_of(listener: socket.socket, scheme: str = "http") -> str:
    host, port = listener.getsockname()[:2]
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def run(serving: Serving, listener: socket.socket, on_ready: Callable[[], None]) -> bool:
    """Serve until a signal or a fault ends it; return False if a thread still runs, for which nobody must wait."""
    server = Server(serving, on_ready)
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(server.serve([listener]))
        is_done = loop.run_until_complete(_unwound(server.server_state.tasks))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        listener.close()
        serving.turns.close()
        serving.stores.close()
    if is_done:
        loop.close()
    return is_done and _threads_ended()


def protocol_with(settings: Settings) -> type[H11Protocol]:
    class Limited(Connection):
        limits = settings

    return Limited


class Connection(H11Protocol):
    """A uvicorn connection that is closed when its request head arrives, or its response is read, too slowly.

    Attributes:
        limits: the settings of its server.
    """

    limits: Settings

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_head_timer()
        elif self._head_timer is None and not self.transport.is_closing():
            self._start_head_timer()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(self.limits.write_seconds, self._cut)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def shutdown(self) -> None:
        """Close the connection, at once if it is a stream that is not being read."""
        if self.flow.write_paused and self.scope.get("state", {}).get("is_stream"):
            self.transport.abort()
        super().shutdown()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 -- uvicorn's signature
        """Refuse a malformed request with JSON, where uvicorn would send text."""
        error = sys.exception()
        if getattr(error, "error_status_hint", 400) == 431:
            refusal = head_too_long(self.limits.head_bytes)
        else:
            problem = f"this is no request of HTTP/1.1 ({str(error)[:_SHOWN_CHARS]})"
            refusal = Refusal(400, "invalid_input", problem, "Check what sends it")
        body = body_of(refusal)
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            headers = [*headers_of(refusal, body), (b"connection", b"close")]
            for event in (
                h11.Response(status_code=refusal.status, headers=headers),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _cut(self) -> None:
        """Reset the connection: after a plain close the system would keep the unsent data for the reader."""
        reached = self.transport.get_extra_info("socket")
        if reached is not None:
            reached.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()

    def _start_head_timer(self) -> None:
        self._head_timer = self.loop.call_later(self.limits.head_seconds, self.transport.abort)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


class Server(uvicorn.Server):
    """A uvicorn server that ends streams at once when it stops, and exits with status 0."""

    def __init__(self, serving: Serving, on_ready: Callable[[], None]) -> None:
        settings = serving.settings
        super().__init__(
            uvicorn.Config(
                make_app(serving),
                http=protocol_with(settings),
                ws="none",
                loop="asyncio",
                lifespan="on",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                headers=[("server", SERVER_HEADER)],
                h11_max_incomplete_event_size=settings.head_bytes,
                limit_concurrency=settings.connections + 1,  # uvicorn counts the connection that asks
                backlog=_BACKLOG,
                timeout_keep_alive=settings.keep_alive_seconds,
                timeout_graceful_shutdown=settings.grace_seconds,
            )
        )
        self._serving = serving
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and call ``on_ready``."""
        await super().startup(sockets)
        if self.started:
            gc.freeze()  # modules loaded at the start live as long as the process
            gc.enable()
            self._on_ready()
            threading.Thread(target=rendering.prepare, daemon=True).start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop: end streams at once, and give other requests a grace period."""
        self._serving.end()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGTERM and SIGINT; uvicorn would raise the signal again afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGTERM, signal.SIGINT)
        before = [signal.signal(number, self.handle_exit) for number in numbers]
        try:
            yield
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 -- uvicorn's signature
        """Start to stop; on a second signal, wait for nothing."""
        self.force_exit = self.should_exit
        self.should_exit = True


def prepare_process(connections: int) -> int:
    """Raise the limit of open files, and configure the log; return how many connections are possible."""
    logs.take_over()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _FILES_BESIDE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    return connections if soft == resource.RLIM_INFINITY else max(1, min(connections, soft - _FILES_BESIDE))


def preload() -> None:
    """Load the modules of all operations, so that the first call of a hook does not have to."""
    for package in _PACKAGES:
        name = f"{satchel.__name__}.{package}"
        paths = importlib.import_module(name).__path__
        for module in pkgutil.walk_packages(paths, f"{name}."):
            if not module.name.startswith(_NOT_SERVED):
                importlib.import_module(module.name)


def warm(stores: Stores, projects: Iterable[tuple[Store, str]]) -> None:
    """Open the stores of all tokens, and run one briefing and one search.

    The token-counting vocabulary is left out: it takes 43 MB, and hooks do without it. A store that cannot be opened
    is reported to its callers on their first request.
    """
    by_store = dict(projects)
    for store, project in list(by_store.items())[:_MOST_STORES]:
        with suppress(SatchelError, OSError):
            opened = stores.satchel(Access("", "", AGENT, store, project, read_only=True))
            opened.moments.make(START, Deadline(_BRIEFING_MS), dry_run=True)  # as hooks do, without the vocabulary
            opened.finding.search("anything")


async def _unwound(tasks: set[asyncio.Task[None]]) -> bool:
    return not tasks or not (await asyncio.wait(tasks, timeout=_UNWIND_SECONDS))[1]


def _threads_ended() -> bool:
    """Give the threads of handlers a moment; return whether all have ended, since the interpreter waits for them."""
    deadline = monotonic() + _UNWIND_SECONDS
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(max(0.0, deadline - monotonic()))
            if thread.is_alive():
                return False
    return True


def _cannot_bind(error: OSError, host: str, port: int) -> SatchelError:
    if error.errno == errno.EADDRINUSE:
        who = (
            "another satchel serves there"
            if is_satchel(host, port, f"127.0.0.1:{port}", _PROBE_SECONDS)
            else "another program listens there"
        )
        return Refused(f"port {port} of {host} is in use: {who}", "Stop it, or take another port: --port NUMBER")
    if error.errno in {errno.EACCES, errno.EPERM}:
        return Refused(f"this user may not listen at port {port} of {host}", "Take a port from 1024: --port 7347")
    if error.errno == errno.EADDRNOTAVAIL:
        return InvalidInput(f"{host} is no address of this machine", "Give one that it has: --host 127.0.0.1")
    return system_error(error, f"listening at {host}") or SatchelError(f"listening at {host}: {error.strerror}")
