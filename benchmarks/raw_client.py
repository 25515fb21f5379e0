"""A raw JSON-RPC client over a server's pipes: the same few lines drive every server that is compared."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "satchel-benchmarks", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
"""What a call of the 2026-07-28 revision says of who calls."""


class RawClient:
    """One server process, spoken to in the 2026-07-28 revision, which needs no handshake.

    Args:
        command: the server's program and arguments.
        environment: its whole environment.
        folder: where it starts.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=folder,
        )
        self._last_id = 0

    def initialize(self) -> None:
        """Shake hands as clients of the revision 2025-11-25 do, and wait for the answer."""
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        request = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def call(self, tool: str, arguments: Mapping[str, object]) -> str:
        """Call a tool and return its text.

        Raises:
            RuntimeError: the answer is an error, or none came.
        """
        return str(self.ask("tools/call", {"name": tool, "arguments": arguments})["content"][0]["text"])

    def ask(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        """Send a request and return its result.

        Raises:
            RuntimeError: the answer is an error, or none came.
        """
        self._last_id += 1
        request = {
            "jsonrpc": "2.0",
            "id": self._last_id,
            "method": method,
            "params": {**params, "_meta": ENVELOPE},
        }
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {}
        result = answer.get("result")
        if answer.get("id") != self._last_id or result is None or result.get("isError"):
            raise RuntimeError(f"the server answered {method} with {line[:500]!r}")
        return dict(result)

    def milliseconds_since_start(self) -> float:
        """Return how long ago the process was started."""
        return (time.perf_counter() - self.started) * 1_000

    def memory_mb(self) -> tuple[float, float] | None:
        """Return the memory that the server holds, and the most it ever held, in MB; None without ``/proc``."""
        status = Path(f"/proc/{self.process.pid}/status")
        if not status.is_file():
            return None
        fields = dict(line.split(":", 1) for line in status.read_text(encoding="ascii", errors="replace").splitlines())
        now, most = (int(fields[name].split()[0]) * 1_024 / 1_000_000 for name in ("VmRSS", "VmHWM"))
        return now, most

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
