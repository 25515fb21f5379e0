"""A proxy before PostgreSQL that knows its messages: it cuts connections at any of them, and makes the network slow."""

from __future__ import annotations

import heapq
import selectors
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from accepting import FIN, Accepting, end_with

_SPECIAL = (80877102, 80877103, 80877104)
"""Requests without a type that are no login: cancelling, and two forms of encryption, which are not used here."""

BEFORE, INSIDE, AFTER = "before the message", "inside it", "after it"


class Message(NamedTuple):
    """A message on its way.

    Attributes:
        is_answer: whether the server has sent it.
        kind: its type; empty for the first one of a client.
        body: all of it.
    """

    is_answer: bool
    kind: bytes
    body: bytes


class CutHere(NamedTuple):
    """Where the connection is cut at a message, and how."""

    where: str
    how: str = FIN


class PostgresProxy(Accepting):
    """Listens on loopback and passes messages on to the Unix socket of a server.

    Args:
        path: of the socket.
        delay: how long each message is on its way, in seconds, each way.

    Attributes:
        decide: asked about each message of a client that is logged in: whether to cut there.
        cuts: how many were made.
    """

    def __init__(self, path: str, delay: float = 0.0) -> None:
        self._path = path
        self._delay = delay
        self.decide: Callable[[Message], CutHere | None] | None = None
        self.cuts = 0
        super().__init__()

    def _pass_on(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with client, server, suppress(OSError):
            server.connect(self._path)
            end_with(client, _Line(self, client, server, self._delay).run(lambda: self._is_over))


class _Line:
    """One connection."""

    def __init__(self, proxy: PostgresProxy, client: socket.socket, server: socket.socket, delay: float) -> None:
        self._proxy = proxy
        self._ends = (client, server)
        self._delay = delay
        self._read = {client: b"", server: b""}
        self._is_logged_in = False
        self._has_begun = False
        self._late: list[tuple[float, int, socket.socket, bytes]] = []

    def run(self, is_over: Callable[[], bool]) -> str:
        """Pass everything on until an end closes; return how to end."""
        client, server = self._ends
        with selectors.DefaultSelector() as selector:
            selector.register(client, selectors.EVENT_READ)
            selector.register(server, selectors.EVENT_READ)
            while not is_over():
                wait = 0.2 if not self._late else max(0.0, self._late[0][0] - time.monotonic())
                for key, _ in selector.select(wait):
                    end = client if key.fileobj is client else server
                    part = end.recv(1 << 16)
                    if not part:
                        return FIN
                    self._read[end] += part
                    cut = self._forward(end, server if end is client else client)
                    if cut is not None:
                        return cut.how
                while self._late and self._late[0][0] <= time.monotonic():
                    _, _, target, data = heapq.heappop(self._late)
                    target.sendall(data)
        return FIN

    def _forward(self, source: socket.socket, target: socket.socket) -> CutHere | None:
        """Send on the whole messages that were read."""
        out = b""
        cut = None
        for message in self._messages(source):
            decide = self._proxy.decide if self._is_logged_in else None
            cut = None if decide is None else decide(message)
            if cut is not None:
                self._proxy.cuts += 1
                out += {BEFORE: b"", INSIDE: message.body[: len(message.body) // 2], AFTER: message.body}[cut.where]
                break
            out += message.body
            # ReadyForQuery
            self._is_logged_in = self._is_logged_in or (message.is_answer and message.kind == b"Z")
        if out and self._delay:
            heapq.heappush(self._late, (time.monotonic() + self._delay, len(self._late), target, out))
        elif out:
            target.sendall(out)
        return cut

    def _messages(self, source: socket.socket) -> Iterator[Message]:
        is_answer = source is self._ends[1]
        while True:
            read = self._read[source]
            head = 0 if not is_answer and not self._has_begun else 1
            if len(read) < head + 4:
                return
            length = head + int(struct.unpack_from("!i", read, head)[0])
            if len(read) < length:
                return
            if not head:
                assert struct.unpack_from("!i", read, 4)[0] not in _SPECIAL[1:]
                self._has_begun = True
            self._read[source] = read[length:]
            yield Message(is_answer, read[:head], read[:length])


@contextmanager
def postgres_proxy(path: str, delay: float = 0.0) -> Iterator[PostgresProxy]:
    """Run a proxy until the block is left."""
    proxy = PostgresProxy(path, delay)
    try:
        yield proxy
    finally:
        proxy.close()
