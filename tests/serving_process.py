"""A server of its own process, with the tokens and the routes that only tests have: STORE, then limits as JSON."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from http_serving import FixedTokens
from satchel.interfaces.http import health, server
from satchel.interfaces.http.serving import Serving
from satchel.interfaces.http.settings import Settings
from satchel.interfaces.http.stores import Stores
from serving_probes import probes


def main(store: str, limits: str) -> None:
    """Serve until a signal comes, and print the port and how it ended."""
    routes = health.routes
    health.routes = lambda serving: [*routes(serving), *probes(serving)]
    listener = server.bind("127.0.0.1", 0)
    settings = {"connections": server.prepare_process(Settings().connections), **json.loads(limits)}
    serving = Serving(FixedTokens(Path(store)), Stores(os.environ), Settings(**settings))
    port = listener.getsockname()[1]
    is_done = server.run(serving, listener, lambda: print(port, flush=True))  # noqa: T201
    print("done" if is_done else "left", flush=True)  # noqa: T201
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
