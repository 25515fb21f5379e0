"""HTTP to one server: a few persistent connections, with errors that tell whether a request was received."""

from __future__ import annotations

import http.client
import io
import json
import os
import re
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any
from urllib.parse import SplitResult, urlsplit

from satchel.base import wire
from satchel.base.errors import SatchelError, Unreachable
from satchel.base.records import NamedTuple
from satchel.base.text import clean_content

PATH = "/proof"
NONCE = re.compile(r"[0-9a-f]{32}")
_TOKEN = re.compile(r"satchel_([0-9a-f]{10})_(.+)")


def identify(token: str) -> tuple[str, bytes]:
    """Return the public id of a token, and the digest of its secret."""
    from hashlib import sha256  # slow to import

    match = _TOKEN.fullmatch(token)
    digest = sha256((match[2] if match else token).encode()).digest()
    return (match[1] if match else digest.hex()[:10]), digest


def proof(key: bytes, host: str, nonce: str) -> str:
    """Return the proof for a nonce by the one who knows the digest of a token's secret."""
    from hashlib import blake2b  # as above

    return blake2b(f"satchel server\n{host}\n{nonce}".encode("latin-1", "replace"), key=key, digest_size=32).hexdigest()


def error_in(fields: object) -> SatchelError | None:
    """Return the error that a server has answered with; None for any other answer."""
    error = fields.get("error") if isinstance(fields, dict) else None
    if not isinstance(error, dict) or not all(isinstance(error.get(name), str) for name in ("code", "problem")):
        return None
    return wire.error_of({name: plain(text) for name, text in error.items() if isinstance(text, str)})


def plain(text: str) -> str:
    """Return a text of a server without characters that act on a terminal, since it may be any program's."""
    return clean_content(text).text


MAX_ANSWER_BYTES = 64 * 1024 * 1024
_MOST_PROOF_BYTES = 4_096
_PART_BYTES = 1024 * 1024
_NONE: Mapping[str, str] = MappingProxyType({})
_CONNECT_SECONDS = 5.0
_KEPT_OPEN = 4


class Reply(NamedTuple):
    """A server's response."""

    status: int
    content_type: str
    body: bytes


class Lost(Exception):
    """A request that was at least partly sent without a complete response, so its result is unknown."""

    def __init__(self, problem: str, *, is_at_once: bool = False) -> None:
        super().__init__(problem)
        self.is_at_once = is_at_once


class Untaken(Unreachable):
    """A response that was rejected, while the result of its request is unknown."""


class Connection:
    """Connections to one server. Thread-safe.

    Attributes:
        kept: how many calls were saved.
    """

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self._parts = urlsplit(url)
        self._path = self._parts.path.rstrip("/")
        self._token = token
        self._idle: list[socket.socket] = []
        self._of_threads: dict[int, socket.socket] = {}
        self._stops: dict[int, threading.Event] = {}
        self.kept = 0

    @property
    def token_id(self) -> str:
        return identify(self._token)[0]

    def post(self, path: str, body: bytes, content_type: str, seconds: float) -> Reply:
        """Send one request, without retries, and return the response."""
        deadline = time.monotonic() + seconds
        sock = self._take_idle()
        is_fresh = sock is None
        if sock is None:
            sock = self._connect(deadline)
        thread = threading.get_ident()
        self._of_threads[thread] = sock
        is_reusable = False
        try:
            sock.settimeout(_seconds_until(deadline))
            headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content_type}
            with ask(sock, "POST", f"{self._path}{path}", self._parts.netloc, headers, body) as response:
                content = _read(response)
            is_reusable = not response.will_close
            return Reply(response.status, response.headers.get("Content-Type", ""), content)
        except (OSError, http.client.HTTPException) as error:
            raise Lost(_reason(error), is_at_once=not is_fresh and isinstance(error, ConnectionError)) from None
        finally:
            self._of_threads.pop(thread, None)
            if is_reusable and len(self._idle) < _KEPT_OPEN:
                self._idle.append(sock)
            else:
                sock.close()

    def interrupter(self) -> Callable[[], None]:
        """Return a function that cancels the current or next call of the calling thread."""
        thread = threading.get_ident()
        stop = self._stops[thread] = threading.Event()

        def interrupt() -> None:
            stop.set()
            sock = self._of_threads.get(thread)
            if sock is not None:
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

        return interrupt

    def pause(self, seconds: float) -> bool:
        """Wait, and return whether the call was cancelled."""
        thread = threading.get_ident()
        is_cancelled = self._stops.get(thread, threading.Event()).wait(seconds)
        if is_cancelled:
            del self._stops[thread]
        return is_cancelled

    def close(self) -> None:
        while (sock := self._take_idle()) is not None:
            sock.close()

    def _take_idle(self) -> socket.socket | None:
        with suppress(IndexError):
            while True:
                sock = self._idle.pop()
                # anything readable on an idle connection means that the server closed it
                if not _can_be_read(sock):
                    return sock
                sock.close()
        return None

    def _connect(self, deadline: float) -> socket.socket:
        try:
            sock = connect(self._parts, min(_CONNECT_SECONDS, _seconds_until(deadline)))
            try:
                if self._parts.scheme == "http":
                    prove(sock, self._path, self._parts.netloc, self._token)
            except BaseException:
                sock.close()
                raise
        except (OSError, UnicodeError, http.client.HTTPException) as error:
            raise Unreachable(
                f"the server {self.url} cannot be reached ({_reason(error)})",
                "Nothing was sent. See that it runs, and that SATCHEL_URL or server.url names it",
            ) from None
        return sock


def connect(parts: SplitResult, seconds: float) -> socket.socket:
    """Return a connection to the server of an address, over TLS for https; `seconds` limit each wait."""
    is_secure = parts.scheme == "https"
    sock = socket.create_connection((parts.hostname or "", parts.port or (443 if is_secure else 80)), seconds)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return ssl.create_default_context().wrap_socket(sock, server_hostname=parts.hostname) if is_secure else sock


def ask(
    sock: socket.socket, method: str, path: str, host: str, headers: Mapping[str, str] = _NONE, body: bytes = b""
) -> http.client.HTTPResponse:
    """Send a request in one piece, so that the server wakes up once, and return the response with its head read.

    The timeout of the socket limits the whole response.
    """
    headers = {"Host": host, "Accept": "application/json", **headers}
    if body:
        headers["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    sock.sendall(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body)
    response = http.client.HTTPResponse(_Reader(sock), method=method)  # type: ignore[arg-type]
    try:
        response.begin()
    except BaseException:
        response.close()
        raise
    return response


def prove(sock: socket.socket, path: str, host: str, token: str) -> None:
    """Check that the server of a connection knows a token, without sending the token."""
    token_id, key = identify(token)
    nonce = os.urandom(16).hex()
    fields = None
    with ask(sock, "GET", f"{path}{PATH}?token={token_id}&nonce={nonce}", host) as response:
        with suppress(ValueError, RecursionError):
            fields = json.loads(response.read(_MOST_PROOF_BYTES))
        has_rest = response.will_close or bool(response.length)
    if response.status != 200 and (error := error_in(fields)) is not None:
        raise error
    if response.status != 200 or not isinstance(fields, dict) or "proof" not in fields:
        kind = plain(response.headers.get("Content-Type", "") or "no type")[:80]
        raise Unreachable(
            f"what answered is no Satchel server: status {response.status}, {kind}",
            "Your token was not sent. Check that SATCHEL_URL or server.url names the server itself, and look at any "
            "proxy in front of it",
        )
    if fields["proof"] != proof(key, host, nonce):
        raise Unreachable(
            f"the program at {host} does not know your token: it is not the server that made it",
            "Your token was not sent. Start the server again at its address, or correct SATCHEL_URL or server.url",
        )
    if has_rest:
        raise Unreachable(
            f"the program at {host} ends connections after one answer",
            "Your token was not sent. A proxy in front of the server must keep connections open, or end TLS",
        )


class _Reader(io.RawIOBase):
    def __init__(self, sock: socket.socket) -> None:
        self._sock, self._deadline = sock, time.monotonic() + (sock.gettimeout() or 0)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(_seconds_until(self._deadline))
        return self._sock.recv_into(buffer)


def _read(response: http.client.HTTPResponse) -> bytes:
    content = bytearray()
    has_length = response.length is not None
    while (response.length or 0) <= MAX_ANSWER_BYTES >= len(content) and (part := response.read1(_PART_BYTES)):
        content += part
    if max(response.length or 0, len(content)) > MAX_ANSWER_BYTES:
        raise Untaken(
            f"the server answered with more than {MAX_ANSWER_BYTES:,} bytes, and whether anything was kept is not "
            "known",
            "Ask for less at once, and see that SATCHEL_URL or server.url names the server itself",
        )
    # http.client returns the partial body of a truncated response, and takes half of a head for a whole one
    if response.length or not (content or has_length):
        raise http.client.IncompleteRead(bytes(content), response.length)
    return bytes(content)


def _seconds_until(deadline: float) -> float:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError("the time is over")
    return remaining


def _can_be_read(sock: socket.socket) -> bool:
    with suppress(OSError, ValueError):
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return bool(poll.poll(0))
    return True


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, (http.client.IncompleteRead, http.client.RemoteDisconnected)):
        return "the connection ended"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return repr(error)[:200]
