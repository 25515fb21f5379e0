"""``python -m benchmarks.slow_network SOCKET MILLISECONDS``: a network that takes so long each way, before a server.

It listens on loopback, says its port, and passes on what comes to a Unix socket, until its input ends.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress


async def _carry(source: asyncio.StreamReader, target: asyncio.StreamWriter, delay: float) -> None:
    """Pass on what comes, each part after the delay; the delay is on the way, so that parts overtake none."""
    loop = asyncio.get_running_loop()
    while part := await source.read(1 << 16):
        loop.call_later(delay, target.write, part)
    loop.call_later(delay, target.close)


async def _serve(path: str, delay: float) -> None:
    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_unix_connection(path)
        with suppress(ConnectionError):
            await asyncio.gather(_carry(reader, to_server, delay), _carry(from_server, writer, delay))

    server = await asyncio.start_server(connect, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], float(sys.argv[2]) / 1_000))
