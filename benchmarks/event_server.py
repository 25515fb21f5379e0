"""A server of one store's project for ``benchmarks.events``: its arguments are the store and the project.

It says its port on standard output, and for each line of its standard input how much processor time it has taken so
far, in nanoseconds. It takes one token, ``bench``, until that input ends.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

from satchel.interfaces.http.access import AGENT, Access
from satchel.interfaces.http.server import bind, run
from satchel.interfaces.http.serving import Serving
from satchel.interfaces.http.stores import Stores
from satchel.interfaces.http.tokens import Token

TOKEN = "bench"


class _OneToken:
    """Knows one token."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def access(self, text: str) -> Access | None:
        """Return its rights."""
        return self._access if text == TOKEN else None

    def digest(self, _token_id: str) -> bytes | None:
        """Return the digest of a token by what names it: nobody asks here."""
        return None

    def access_of(self, token_id: str) -> Access | None:
        """Return its rights."""
        return self.access(token_id)

    def stores(self) -> list[Path]:
        """Return no store: it serves no pages."""
        return []

    def every(self) -> list[Token]:
        """Return no token: it serves no pages."""
        return []


def _main() -> None:
    store, project = sys.argv[1:]
    listener = bind("127.0.0.1", 0)
    serving = Serving(_OneToken(Access(TOKEN, TOKEN, AGENT, Path(store), project)), Stores(os.environ))

    def say_times() -> None:
        for _ in sys.stdin:
            print(time.process_time_ns(), flush=True)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=say_times, daemon=True).start()
    run(serving, listener, lambda: print(listener.getsockname()[1], flush=True))


if __name__ == "__main__":
    _main()
