"""A listener on loopback that handles each connection in a thread of its own."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress

FIN, RST = "fin", "rst"
"""How a connection is ended."""


class Accepting:
    """Listens from the moment it is made; what comes before that, a subclass does first."""

    def __init__(self, port: int = 0) -> None:
        self._listener = socket.create_server(("127.0.0.1", port), backlog=64)
        self._is_over = False
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._listener.getsockname()[1]
        return port

    def leave(self) -> None:
        """Take no further connections."""
        self._is_over = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def join(self) -> None:
        """Wait until the connections have ended."""
        for thread in self._threads[1:]:
            thread.join(60)
            assert not thread.is_alive()

    def close(self) -> None:
        """End."""
        self.leave()
        self.join()
        self._threads[0].join(60)

    def _accept(self) -> None:
        while not self._is_over:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._pass_on, args=(client,))
            self._threads.append(thread)
            thread.start()

    def _pass_on(self, client: socket.socket) -> None:
        """Handle one connection."""
        raise NotImplementedError


def end_with(one: socket.socket, how: str) -> None:
    """Let the end of a socket be seen as one of :data:`FIN` and :data:`RST`."""
    if how == RST:
        with suppress(OSError):
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
