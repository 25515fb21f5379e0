"""HTTP to one server: few connections that stay open, and errors that say what became of a request."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Mapping
from urllib.parse import urlsplit

from satchel.base.errors import Unreachable
from satchel.base.records import NamedTuple

MAX_ANSWER_BYTES = 64 * 1024 * 1024
_CONNECT_SECONDS = 5.0
_KEPT_OPEN = 4


class Reply(NamedTuple):
    """What a server answered."""

    status: int
    content_type: str
    body: bytes


class Lost(Exception):
    """A request was sent, or a part of it, and no answer came: whether it was done is not known."""


class _Plain(http.client.HTTPConnection):
    """Sends the head of a request and its body together, as they follow each other: the server wakes up once."""

    _head = b""

    def send(self, data: bytes) -> None:  # type: ignore[override]
        """Keep a head until its body comes."""
        if not self._head:
            self._head = data
            return
        whole, self._head = self._head + data, b""
        super().send(whole)


class _Secure(http.client.HTTPSConnection, _Plain):
    """As :class:`_Plain`, over TLS."""


class Connection:
    """Sends requests to one server. Safe to share between threads.

    Args:
        url: its address, as in ``https://satchel.example``.
        token: what gives access.
    """

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self.url = url
        self._is_secure = parts.scheme == "https"
        self._host, self._port = parts.hostname or "", parts.port
        self._path = parts.path.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def post(self, path: str, body: bytes, content_type: str, seconds: float) -> Reply:
        """Send one request and return the answer.

        Args:
            path: below the server's address.
            seconds: how long to wait for the answer, from now on.

        Raises:
            Unreachable: nothing was sent.
            Lost: it was sent, and no answer came.
        """
        deadline = time.monotonic() + seconds
        headers = {**self._headers, "Content-Type": content_type}
        while True:
            connection, is_fresh = self._take(deadline)
            try:
                return self._exchange(connection, path, body, headers, deadline)
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                # a server may close a connection that nobody used for a while, just as it is used again
                if is_fresh or time.monotonic() >= deadline:
                    raise Lost(f"{type(error).__name__}: {error}") from None
                if not isinstance(error, (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError)):
                    raise Lost(f"{type(error).__name__}: {error}") from None

    def close(self) -> None:
        """Close the connections that are idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for one in idle:
            one.close()

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        path: str,
        body: bytes,
        headers: Mapping[str, str],
        deadline: float,
    ) -> Reply:
        assert connection.sock is not None
        connection.sock.settimeout(max(0.001, deadline - time.monotonic()))
        connection.request("POST", f"{self._path}{path}", body, dict(headers))
        response = connection.getresponse()
        content = response.read(MAX_ANSWER_BYTES + 1)
        if len(content) > MAX_ANSWER_BYTES:
            raise http.client.HTTPException("the answer is too large")
        if response.will_close:
            connection.close()
        else:
            with self._lock:
                if len(self._idle) < _KEPT_OPEN:
                    self._idle.append(connection)
                    connection = http.client.HTTPConnection("")
            connection.close()
        return Reply(response.status, response.headers.get("Content-Type", ""), content)

    def _take(self, deadline: float) -> tuple[http.client.HTTPConnection, bool]:
        with self._lock:
            if self._idle:
                return self._idle.pop(), False
        wait = max(0.001, min(_CONNECT_SECONDS, deadline - time.monotonic()))
        connection = (
            _Secure(self._host, self._port, timeout=wait)
            if self._is_secure
            else _Plain(self._host, self._port, timeout=wait)
        )
        try:
            connection.connect()
        except OSError as error:
            raise Unreachable(
                f"the server {self.url} cannot be reached ({error.strerror or error})",
                "Nothing was sent. See that it runs, and that SATCHEL_URL or server.url names it",
            ) from None
        return connection, True
