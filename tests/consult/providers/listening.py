"""A server on this machine in a thread of its own, and what handles its requests without a word on the terminal."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATIENCE_SECONDS = 120.0


class Quiet(BaseHTTPRequestHandler):
    """Handles requests, several on a connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = PATIENCE_SECONDS

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the name is the base class's
        """Say nothing."""


class Listener(ThreadingHTTPServer):
    """A server that listens at a free port from when it is begun until it is ended."""

    daemon_threads = True
    # no listener that waits: a test's thousand connections come at once
    request_queue_size = 64

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)

    def begin(self) -> None:
        """Listen."""
        self._thread.start()

    def end(self) -> None:
        """Listen no more; connections that are open stay so."""
        self.shutdown()
        self.server_close()
        self._thread.join()
