"""A real ``satchel serve`` process, and clients of it as cheap as they can be, so that the server is what is timed."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.raw_client import ENVELOPE
from benchmarks.start_up import clean_environment, satchel_command
from satchel.base.clock import system_clock
from satchel.interfaces.http.tokens import Tokens

PROJECT = "bench"
_IDLE_SECONDS = 5
"""A connection that was idle for longer is not used again: the server closes it after a while."""


class ServedStore:
    """A server of one store, in a process of its own, with its log in a file.

    Args:
        store: the store's file, which is there, or what stands for a database in tokens.
        folder: where its tokens and its log lie.
        more: what else the command is given.
    """

    def __init__(self, store: Path | str, folder: Path, more: Sequence[str] = ()) -> None:
        self.store = store
        self.state = folder / "served-state"
        self.environment = clean_environment() | {"XDG_STATE_HOME": str(self.state), "SATCHEL_TRUST": "1"}
        self._tokens = Tokens(self.state / "satchel", system_clock)
        self._names = count()
        self.token()
        self._log = (folder / "serve.log").open("ab")
        self.process = subprocess.Popen(
            [satchel_command(), "serve", "--port", "0", "--json", *more],
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=self.environment,
            cwd=folder,
        )
        assert self.process.stdout is not None
        said = b""
        while not said.endswith(b"}\n"):
            said += self.process.stdout.readline() or b"}\n"  # it has ended
        self.url = str(json.loads(said)["url"])
        self.port = int(self.url.rpartition(":")[2])

    def token(self) -> str:
        """Return a new token for the store's project, whose agent bears its name."""
        name = f"bencher-{next(self._names)}"
        return self._tokens.new(name, store=self.store, project=PROJECT, agent=name)[1]

    def of_clients(self) -> dict[str, str]:
        """Return the environment of a local program that calls this server, with a token of its own."""
        return clean_environment() | {
            "XDG_STATE_HOME": str(self.state.with_name("clients-state")),
            "SATCHEL_URL": self.url,
            "SATCHEL_TOKEN": self.token(),
        }

    def memory_mb(self) -> float:
        """Return the memory that the server holds (VmRSS), in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii", errors="replace")
        held = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(held.split()[1]) * 1_024 / 1_000_000

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._log.close()


class JsonClient:
    """A client of the JSON API on one connection that stays open.

    Args:
        port: the server's, on this machine.
        token: what gives access.
    """

    def __init__(self, port: int, token: str) -> None:
        self._address = "127.0.0.1", port
        self._used_at = 0.0
        self._connect()
        self._head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"

    def _connect(self) -> None:
        self._socket = socket.create_connection(self._address, timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self._socket.makefile("rb")

    def call(self, name: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Call an operation over the JSON API and return its answer.

        Raises:
            RuntimeError: the answer is an error, or none came.
        """
        return self._post(f"/api/{name}", "", arguments)

    def call_tool(self, name: str, arguments: Mapping[str, object]) -> str:
        """Call a tool over MCP, in the 2026-07-28 revision, and return its text.

        Raises:
            RuntimeError: the answer is an error, or none came.
        """
        params = {"name": name, "arguments": arguments, "_meta": ENVELOPE}
        head = (
            "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
            f"Mcp-Method: tools/call\r\nMcp-Name: {name}\r\n"
        )
        answer = self._post(
            "/mcp?toolsets=all", head, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        )
        if "result" not in answer or answer["result"].get("isError"):
            raise RuntimeError(f"the server answered {name} with {answer!s:.500}")
        return str(answer["result"]["content"][0]["text"])

    def _post(self, path: str, more: str, value: Mapping[str, object]) -> dict[str, Any]:
        body = json.dumps(value).encode()
        head = f"POST {path} HTTP/1.1\r\n{self._head}{more}Content-Length: {len(body)}\r\n\r\n"
        idle, self._used_at = time.monotonic() - self._used_at, time.monotonic()
        if idle > _IDLE_SECONDS:
            self.close()
            self._connect()
        self._socket.sendall(head.encode() + body)
        status = self._stream.readline()
        size = 0
        while line := self._stream.readline().strip():
            field, _, told = line.partition(b":")
            if field.lower() == b"content-length":
                size = int(told)
        answer: dict[str, Any] = json.loads(self._stream.read(size) or b"{}")
        if b" 200 " not in status:
            raise RuntimeError(f"the server answered {path} with {status!r} {answer!s:.500}")
        return answer

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()
        self._socket.close()
