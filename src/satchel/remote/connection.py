"""HTTP to one server: a few persistent connections, with errors that tell whether a request was received."""

from __future__ import annotations

import http.client
import io
import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from satchel.base.errors import SatchelError, Unreachable
from satchel.base.records import NamedTuple
from satchel.remote.proof import prove

MAX_ANSWER_BYTES = 64 * 1024 * 1024
_CONNECT_SECONDS = 5.0
_KEPT_OPEN = 4


class Reply(NamedTuple):
    """A server's response."""

    status: int
    content_type: str
    body: bytes


class Lost(Exception):
    """A request that was at least partly sent without a complete response, so its result is unknown.

    Args:
        is_at_once: whether it may be retried at once: the connection was an old one, which servers close.
    """

    def __init__(self, problem: str, *, is_at_once: bool = False) -> None:
        super().__init__(problem)
        self.is_at_once = is_at_once


class Untaken(Unreachable):
    """A response that was rejected, while the result of its request is unknown."""


class _Plain(http.client.HTTPConnection):
    """A connection that sends the head of a request together with its body, so that the server wakes up once."""

    _head = b""

    def send(self, data: bytes) -> None:  # type: ignore[override]
        """Buffer a head until its body comes."""
        if not self._head:
            self._head = data
            return
        whole, self._head = self._head + data, b""
        super().send(whole)


class _Secure(http.client.HTTPSConnection, _Plain):
    """A :class:`_Plain` connection over TLS."""


class Connection:
    """Connections to one server. Thread-safe.

    Args:
        url: its address, as in ``https://satchel.example``.
        token: the access token, sent over plain HTTP only where the other end has proven that it knows it.
    """

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self.url = url
        self._is_secure = parts.scheme == "https"
        self._host, self._port = parts.hostname or "", parts.port
        self._path = parts.path.rstrip("/")
        self._token = token
        self._headers = {"Host": parts.netloc, "Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._idle: list[http.client.HTTPConnection] = []
        self._of_threads: dict[int, http.client.HTTPConnection] = {}
        self._lock = threading.Lock()

    @property
    def token_id(self) -> str:
        """Return the public id of the token."""
        from satchel.remote.proof import identify  # it imports hashlib

        return identify(self._token)[0]

    def post(self, path: str, body: bytes, content_type: str, seconds: float) -> Reply:
        """Send one request, without retries, and return the response.

        Args:
            path: relative to the server's address.
            seconds: the time limit for the whole response.

        Raises:
            SatchelError: nothing was sent; Unreachable where nobody answers, or not the server of the token.
            Untaken: it was sent, and the response is too large.
            Lost: it was sent, and no complete response came.
        """
        deadline = time.monotonic() + seconds
        connection, is_fresh = self._take(deadline)
        thread = threading.get_ident()
        self._of_threads[thread] = connection
        try:
            return self._exchange(connection, path, body, {**self._headers, "Content-Type": content_type}, deadline)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Lost(_reason(error), is_at_once=not is_fresh and isinstance(error, ConnectionError)) from None
        except BaseException:
            connection.close()
            raise
        finally:
            self._of_threads.pop(thread, None)

    def interrupter(self) -> Callable[[], None]:
        """Return a function that aborts the current request of the calling thread."""
        return partial(self._interrupt, threading.get_ident())

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for one in idle:
            one.close()

    def _interrupt(self, thread: int) -> None:
        connection = self._of_threads.get(thread)
        if connection is not None and connection.sock is not None:
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        path: str,
        body: bytes,
        headers: dict[str, str],
        deadline: float,
    ) -> Reply:
        assert connection.sock is not None
        connection.sock.settimeout(_left(deadline))
        connection.response_class = partial(_Response, deadline=deadline)  # type: ignore[assignment]
        connection.request("POST", f"{self._path}{path}", body, headers)
        response = connection.getresponse()
        length = response.length
        content = b"" if length is not None and length > MAX_ANSWER_BYTES else response.read(MAX_ANSWER_BYTES + 1)
        if max(length or 0, len(content)) > MAX_ANSWER_BYTES:
            raise Untaken(
                f"the server answered with more than {MAX_ANSWER_BYTES:,} bytes, and whether anything was kept is not "
                "known",
                "Ask for less at once, and see that SATCHEL_URL or server.url names the server itself",
            )
        # http.client returns the partial body of a truncated response
        if length is not None and len(content) < length:
            raise http.client.IncompleteRead(content, length - len(content))
        if response.will_close:
            connection.close()
        else:
            with self._lock:
                has_room = len(self._idle) < _KEPT_OPEN
                if has_room:
                    self._idle.append(connection)
            if not has_room:
                connection.close()
        return Reply(response.status, response.headers.get("Content-Type", ""), content)

    def _take(self, deadline: float) -> tuple[http.client.HTTPConnection, bool]:
        while True:
            with self._lock:
                idle = self._idle.pop() if self._idle else None
            if idle is None:
                return self._connect(deadline), True
            # anything readable on an idle connection means that the server closed it
            if idle.sock is not None and not _can_be_read(idle.sock):
                return idle, False
            idle.close()

    def _connect(self, deadline: float) -> http.client.HTTPConnection:
        make = _Secure if self._is_secure else _Plain
        connection = make(self._host, self._port, timeout=min(_CONNECT_SECONDS, _left(deadline)))
        try:
            connection.connect()
            # http.client would connect anew where the other end has closed, and to whatever listens there by then
            connection.auto_open = 0
            if not self._is_secure:
                deadline = min(deadline, time.monotonic() + _CONNECT_SECONDS)
                connection.response_class = partial(_Response, deadline=deadline)  # type: ignore[assignment]
                prove(connection, self._path, self._headers["Host"], self._token)
        except SatchelError:
            connection.close()
            raise
        except (OSError, UnicodeError, http.client.HTTPException) as error:
            connection.close()
            raise Unreachable(
                f"the server {self.url} cannot be reached ({_reason(error)})",
                "Nothing was sent. See that it runs, and that SATCHEL_URL or server.url names it",
            ) from None
        return connection


class _Response(http.client.HTTPResponse):
    """A response that must be complete by a deadline."""

    def __init__(self, sock: socket.socket, *arguments: Any, deadline: float, **named: Any) -> None:
        super().__init__(sock, *arguments, **named)
        self._until = _Until(self.fp.detach(), sock, deadline)
        self.fp: Any = io.BufferedReader(self._until)

    def begin(self) -> None:
        """Read the head; http.client would accept a truncated one."""
        super().begin()
        if self._until.is_over:
            raise http.client.RemoteDisconnected("the head ends too early")


class _Until(io.RawIOBase):
    """A socket reader with a deadline: a timeout of the socket itself restarts with each chunk.

    Attributes:
        is_over: whether the other side has closed its end.
    """

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, deadline: float) -> None:
        self._raw, self._sock, self._deadline = raw, sock, deadline
        self.is_over = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(_left(self._deadline))
        read = self._raw.readinto(buffer)
        self.is_over = read == 0
        return read

    def close(self) -> None:
        self._raw.close()
        super().close()


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("the time is over")
    return left


def _can_be_read(sock: socket.socket) -> bool:
    with suppress(OSError, ValueError):
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return bool(poll.poll(0))
    return True


def _reason(error: Exception) -> str:
    """Return a short reason for a failed connection."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, (http.client.IncompleteRead, http.client.RemoteDisconnected)):
        return "the connection ended"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return repr(error)[:200]
