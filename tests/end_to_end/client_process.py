"""A process that stands for a client: it starts a server for itself, and hands on to it what it is told.

A line with a name starts the server of a client that calls itself so, after it has ended the one before; any other line
goes to the server, whose answer comes back.
"""

from __future__ import annotations

import json
import subprocess
import sys


def start(name: str) -> subprocess.Popen[str]:
    """Start a server and shake hands with it."""
    server = subprocess.Popen(
        [sys.executable, "-m", "satchel", "mcp", "--toolsets", "all"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}
    hand_on(server, json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening}) + "\n")
    return server


def hand_on(server: subprocess.Popen[str], line: str) -> str:
    """Send a line; return the answer."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(line)
    server.stdin.flush()
    return server.stdout.readline()


def main() -> None:
    """Do what the lines of the input say."""
    server: subprocess.Popen[str] | None = None
    for line in sys.stdin:
        if line.startswith("{"):
            assert server is not None
            sys.stdout.write(hand_on(server, line))
        else:
            if server is not None:
                server.kill()
                server.wait()
            server = start(line.strip())
            sys.stdout.write("ready\n")
        sys.stdout.flush()
    if server is not None:
        assert server.stdin is not None
        server.stdin.close()
        server.wait()


if __name__ == "__main__":
    main()
