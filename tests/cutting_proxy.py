"""A proxy before a server that cuts connections where it is told to, on real sockets."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from accepting import FIN, Accepting, end_with

BEFORE_REQUEST, IN_HEAD, IN_BODY, AFTER_REQUEST = "before the request", "in its head", "in its body", "after it"
BEFORE_ANSWER, IN_ANSWER_HEAD = "before the answer", "in the answer's head"
IN_ANSWER_BODY, BEFORE_LAST_BYTE = "in the answer's body", "before its last byte"
UNHEARD = (BEFORE_REQUEST, IN_HEAD, IN_BODY)
"""Cuts after which the server has no whole request."""
DONE = (BEFORE_ANSWER, IN_ANSWER_HEAD, IN_ANSWER_BODY, BEFORE_LAST_BYTE)
"""Cuts after which the server has answered."""
_PROOF = b"GET /proof"
PLACES = (*UNHEARD, AFTER_REQUEST, *DONE)


class Cut(NamedTuple):
    """Where and how a connection is cut."""

    where: str
    how: str = FIN
    first: Callable[[], object] | None = None
    """Called just before the cut."""


class Proxy(Accepting):
    """Passes requests on to a server, and cuts as planned: each request takes the next cut of the plan.

    Attributes:
        plan: the cuts to come; None lets a request through. What comes after the plan is let through.
        requests: how many came.
    """

    def __init__(self, port: int, own: int = 0) -> None:
        self._target = port
        self.plan: deque[Cut | None] = deque()
        self.requests = 0
        self._sockets: set[socket.socket] = set()
        super().__init__(own)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        """End."""
        self.leave()
        self.drop()
        super().close()

    def drop(self) -> None:
        """End all connections."""
        for one in [*self._sockets]:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self.join()

    def _pass_on(self, client: socket.socket) -> None:
        server: socket.socket | None = None
        self._sockets.add(client)
        how = FIN
        with suppress(OSError):
            while began := client.recv(len(_PROOF), socket.MSG_PEEK):
                cut = None
                if began != _PROOF:  # which comes before what is cut, and is no request of the program
                    self.requests += 1
                    cut = self.plan.popleft() if self.plan else None
                how = FIN if cut is None else cut.how
                if server is None:
                    server = socket.create_connection(("127.0.0.1", self._target), timeout=60)
                    self._sockets.add(server)
                if not _one(client, server, cut):
                    break
        for one in (client, server):
            if one is not None:
                end_with(one, how)
                one.close()
                self._sockets.discard(one)


def _one(client: socket.socket, server: socket.socket, cut: Cut | None) -> bool:
    """Pass on one request and its answer; say whether the connection goes on."""
    where = None if cut is None else cut.where

    def is_here(place: str) -> bool:
        if cut is not None and where == place and cut.first is not None:
            cut.first()
        return where == place

    if is_here(BEFORE_REQUEST):
        return False
    head, body = _message(client)
    if is_here(IN_HEAD):
        server.sendall(head[: len(head) // 2])
        return False
    server.sendall(head)
    if is_here(IN_BODY):
        server.sendall(body[: len(body) // 2])
        return False
    server.sendall(body)
    if is_here(AFTER_REQUEST):
        return False
    head, body = _message(server)
    if is_here(BEFORE_ANSWER):
        return False
    if is_here(IN_ANSWER_HEAD):
        client.sendall(head[: len(head) // 2])
        return False
    client.sendall(head)
    if is_here(IN_ANSWER_BODY):
        client.sendall(body[: len(body) // 2])
        return False
    if is_here(BEFORE_LAST_BYTE):
        client.sendall(body[:-1])
        return False
    client.sendall(body)
    return b"connection: close" not in head.lower()


def _message(sender: socket.socket) -> tuple[bytes, bytes]:
    """Read a whole message, whose length its head says."""
    read = b""
    while b"\r\n\r\n" not in read:
        read += _some(sender)
    head, _, body = read.partition(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        length = int(value) if name.strip().lower() == b"content-length" else length
    while len(body) < length:
        body += _some(sender)
    return head + b"\r\n\r\n", body


def _some(sender: socket.socket) -> bytes:
    part = sender.recv(65_536)
    if not part:
        raise ConnectionResetError
    return part


@contextmanager
def proxy_to(port: int, own: int = 0) -> Iterator[Proxy]:
    """Run a proxy, at a port of its own, until the block is left."""
    proxy = Proxy(port, own)
    try:
        yield proxy
    finally:
        proxy.close()
