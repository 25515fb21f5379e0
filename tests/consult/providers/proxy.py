"""A proxy on this machine: tunnels for HTTPS, and requests passed on for HTTP."""

from __future__ import annotations

import base64
import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from consult.providers.listening import Listener, Quiet


class Proxy:
    """A proxy; a context manager.

    Attributes:
        seen: what it was asked for: a method and a target each.
        credentials: ``name:password`` that it wants to see; None lets everyone in.
        refuses: the status that it answers every request with; None passes them on.
    """

    def __init__(self, credentials: str | None = None, refuses: int | None = None) -> None:
        self.seen: list[tuple[str, str]] = []
        self.credentials = credentials
        self.refuses = refuses
        proxy = self

        class Handler(Quiet, BaseHTTPRequestHandler):
            def do_CONNECT(self) -> None:
                if proxy._lets_through(self):
                    host, _, port = self.path.rpartition(":")
                    with socket.create_connection((host, int(port))) as target:
                        self.send_response(200)
                        self.end_headers()
                        _join(self.connection, target)

            def do_POST(self) -> None:
                if proxy._lets_through(self):
                    url = urlsplit(self.path)
                    body = self.rfile.read(int(self.headers.get("content-length", 0)))
                    with socket.create_connection((url.hostname or "", url.port or 80)) as target:
                        head = [f"POST {url.path}?{url.query} HTTP/1.1", "Connection: close"]
                        head += [f"{name}: {value}" for name, value in self.headers.items() if name != "Connection"]
                        target.sendall("\r\n".join((*head, "", "")).encode() + body)
                        _join(self.connection, target)

        self._server = Listener(Handler)

    def __enter__(self) -> Self:
        self._server.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.end()

    @property
    def address(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self._server.server_port}"

    def _lets_through(self, handler: BaseHTTPRequestHandler) -> bool:
        self.seen.append((handler.command, handler.path))
        handler.close_connection = True
        status = self.refuses
        if self.credentials is not None:
            wanted = f"Basic {base64.b64encode(self.credentials.encode()).decode()}"
            status = status if handler.headers.get("proxy-authorization") == wanted else 407
        if status is not None:
            handler.send_response(status)
            handler.send_header("content-length", "0")
            handler.end_headers()
        return status is None


def _join(one: socket.socket, other: socket.socket) -> None:
    """Pass on what each side says until one of them has nothing more to say."""

    def pass_on(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    back = threading.Thread(target=pass_on, args=(other, one), daemon=True)
    back.start()
    pass_on(one, other)
    back.join()
