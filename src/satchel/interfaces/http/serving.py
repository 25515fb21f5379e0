"""The server's process: its socket, its signals, its start and its end."""

from __future__ import annotations

import asyncio
import errno
import gc
import resource
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from time import monotonic
from types import FrameType

import uvicorn

from satchel.base.errors import InvalidInput, Refused, SatchelError, system_error
from satchel.interfaces.http import logs
from satchel.interfaces.http.app import Serving, make_app
from satchel.interfaces.http.connections import protocol_with
from satchel.interfaces.http.running import SERVER_HEADER

_BACKLOG = 512
"""So many connections are accepted in one go, before any that are too many are closed."""
_FILES_BESIDE = _BACKLOG + 200
"""The 200 are for stores, with four files for each connection to one, and for what the interpreter opens."""
_UNWIND_SECONDS = 0.5
_PROBE_SECONDS = 1.0


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Args:
        host: a name or address; of several addresses of a name the first counts.
        port: 0 takes any that is free.

    Raises:
        InvalidInput: there is no such host here.
        SatchelError: the port is taken, or not for this user.
    """
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


def address_of(listener: socket.socket, scheme: str = "http") -> str:
    """Return the URL of what listens."""
    host, port = listener.getsockname()[:2]
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def run(serving: Serving, listener: socket.socket, on_ready: Callable[[], None]) -> bool:
    """Serve until SIGTERM or SIGINT, or until the server is told to end.

    Args:
        serving: what it works with; its stores are closed at the end.
        listener: a socket that listens.
        on_ready: called once requests are answered.

    Returns:
        Whether all that was begun has come to an end; else a thread is still at work, and the process is to be left
        without waiting for it.
    """
    server = Server(serving, on_ready)
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(server.serve([listener]))
        is_done = loop.run_until_complete(_unwound(server.server_state.tasks))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        listener.close()
        serving.stores.close()
    if is_done:
        loop.close()
    return is_done and _threads_ended()


class Server(uvicorn.Server):
    """uvicorn's server, which ends streams at once when it is told to stop, and then leaves with status 0.

    Args:
        serving: what it works with.
        on_ready: called once requests are answered.
    """

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
                backlog=_BACKLOG,
                timeout_keep_alive=settings.keep_alive_seconds,
                timeout_graceful_shutdown=settings.grace_seconds,
            )
        )
        self._serving = serving
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        if self.started:
            gc.freeze()  # what the start has loaded stays
            gc.enable()
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop: streams end at once, other requests have a while."""
        self._serving.end()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at SIGTERM and SIGINT; uvicorn would then send itself the same signal once more."""
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
        """Begin to stop; at a second signal, wait for nothing."""
        self.force_exit = self.should_exit
        self.should_exit = True


def prepare_process(connections: int) -> int:
    """Let this process open as many files as its connections need, and log in one form.

    Args:
        connections: how many are wanted.

    Returns:
        How many it can have.
    """
    logs.take_over()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _FILES_BESIDE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    return connections if soft == resource.RLIM_INFINITY else max(1, min(connections, soft - _FILES_BESIDE))


async def _unwound(tasks: set[asyncio.Task[None]]) -> bool:
    """Give tasks that were cancelled a moment; say whether all have come to an end."""
    return not tasks or not (await asyncio.wait(tasks, timeout=_UNWIND_SECONDS))[1]


def _threads_ended() -> bool:
    """Give the threads of handlers a moment; say whether all have ended: the interpreter waits for them."""
    deadline = monotonic() + _UNWIND_SECONDS
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(max(0.0, deadline - monotonic()))
            if thread.is_alive():
                return False
    return True


def _cannot_bind(error: OSError, host: str, port: int) -> SatchelError:
    if error.errno == errno.EADDRINUSE:
        who = "another satchel serves there" if _is_satchel(host, port) else "another program listens there"
        return Refused(f"port {port} of {host} is in use: {who}", "Stop it, or take another port: --port NUMBER")
    if error.errno in {errno.EACCES, errno.EPERM}:
        return Refused(f"this user may not listen at port {port} of {host}", "Take a port from 1024: --port 7347")
    if error.errno == errno.EADDRNOTAVAIL:
        return InvalidInput(f"{host} is no address of this machine", "Give one that it has: --host 127.0.0.1")
    return system_error(error, f"listening at {host}") or SatchelError(f"listening at {host}: {error.strerror}")


def _is_satchel(host: str, port: int) -> bool:
    connection = HTTPConnection(host, port, timeout=_PROBE_SECONDS)
    try:
        connection.request("GET", "/health", headers={"Host": f"127.0.0.1:{port}"})
        return connection.getresponse().getheader("server") == SERVER_HEADER
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
