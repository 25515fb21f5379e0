"""A small synchronous MCP client over stdio, for driving our own server as an agent's host would."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Self

from satchel import __version__
from satchel.base.errors import InvalidInput, SatchelError, Unavailable

if TYPE_CHECKING:
    import subprocess
    from queue import SimpleQueue
    from types import TracebackType

PROTOCOL = "2026-07-28"

_META = "io.modelcontextprotocol/"
_LEAVE_SECONDS = 6.0
_STDERR_LINES = 8


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """One tool that the server offers."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered: its text blocks joined by line breaks."""

    text: str
    is_error: bool


class ToolClient:
    """One agent's connection to a server that it starts, as a context manager.

    Speaks the 2026-07-28 revision: no handshake, every request carries its envelope in ``params._meta``.

    Args:
        command: the server's program and arguments.
        env: the server's whole environment; None passes on ours.
        name: what the client calls itself.
        timeout_seconds: how long one answer may take; leaving takes at most about 8 seconds.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        name: str = "satchel-tour",
        timeout_seconds: float = 20.0,
    ) -> None:
        self.instructions = ""
        self.tools: tuple[ToolInfo, ...] = ()
        self._command = list(command)
        self._env = None if env is None else dict(env)
        self._timeout = timeout_seconds
        self._envelope = {
            f"{_META}protocolVersion": PROTOCOL,
            f"{_META}clientInfo": {"name": name, "version": __version__},
            f"{_META}clientCapabilities": {},
        }
        self._last_id = 0
        self._stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._start()
        try:
            self.instructions = str(self._request("server/discover", {}).get("instructions") or "")
            self.tools = self._list_tools()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def call(self, tool: str, arguments: Mapping[str, object]) -> ToolResult:
        """Call a tool and wait for its answer.

        Args:
            tool: the tool's name.
            arguments: its arguments, as JSON can hold them.

        Returns:
            The answer; a refusal by the tool is a result with ``is_error``.

        Raises:
            SatchelError: the server died, kept silent too long, or broke the protocol.
        """
        result = self._request("tools/call", {"name": tool, "arguments": dict(arguments)})
        blocks = result.get("content")
        if result.get("resultType", "complete") != "complete" or not isinstance(blocks, list):
            raise self._broken(f"the answer to {tool} is not a complete tool result")
        texts = [
            str(block.get("text", "")) for block in blocks if isinstance(block, dict) and block.get("type") == "text"
        ]
        return ToolResult("\n".join(texts), result.get("isError") is True)

    def _list_tools(self) -> tuple[ToolInfo, ...]:
        found: list[ToolInfo] = []
        params: dict[str, object] = {}
        while True:
            page = self._request("tools/list", params)
            found += (
                ToolInfo(str(tool.get("name", "")), str(tool.get("description", ""))) for tool in page.get("tools", ())
            )
            if not page.get("nextCursor"):
                return tuple(found)
            params = {"cursor": page["nextCursor"]}

    def _start(self) -> None:
        import subprocess
        import threading
        from queue import SimpleQueue

        try:
            # A session of its own: an interrupt at the terminal reaches us, and we end the server in order.
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._env,
                start_new_session=True,
            )
        except OSError as error:
            raise Unavailable(
                f"the server {self._command[0]!r} cannot be started ({error.strerror})",
                "Check that Satchel is installed whole",
            ) from None
        self._process = process
        self._outbox: SimpleQueue[bytes | None] = SimpleQueue()
        self._inbox: SimpleQueue[bytes | None] = SimpleQueue()
        # A full pipe blocks; with a thread for each pipe no wait of ours is without a bound.
        self._threads = [
            threading.Thread(target=_write, args=(process.stdin, self._outbox), daemon=True),
            threading.Thread(target=_read, args=(process.stdout, self._inbox), daemon=True),
            threading.Thread(target=_drain, args=(process.stderr, self._stderr), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _request(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        import time
        from queue import Empty

        process = self._process
        if process is None:
            raise InvalidInput("the client is not connected", "Use it inside its with block")
        self._last_id += 1
        body = {
            "jsonrpc": "2.0",
            "id": self._last_id,
            "method": method,
            "params": {**params, "_meta": self._envelope},
        }
        self._outbox.put(json.dumps(body, separators=(",", ":")).encode() + b"\n")
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                line = self._inbox.get(timeout=max(0.0, deadline - time.monotonic()))
            except Empty:
                raise self._broken(f"no answer to {method} within {self._timeout:g} seconds") from None
            if line is None:
                self._inbox.put(None)
                _wait(process, 1.0)
                raise self._broken(f"it ended before it answered {method}")
            answer = self._parse(line)
            if "method" in answer or answer.get("id") not in {self._last_id, None}:
                continue
            if isinstance(answer.get("error"), dict):
                raise self._broken(f"it refused {method}: {answer['error'].get('message')}")
            if not isinstance(answer.get("result"), dict):
                raise self._broken(f"its answer to {method} has neither a result nor an error")
            result: dict[str, Any] = answer["result"]
            return result

    def _parse(self, line: bytes) -> dict[str, Any]:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            shown = line[:200].decode("utf-8", "replace").strip()
            raise self._broken(f"it wrote a line that is not a message: {shown!r}")
        return message

    def _broken(self, problem: str) -> SatchelError:
        """Build the error for a server that failed, with what it last said on stderr."""
        if self._process is not None and self._process.poll() is not None:
            self._threads[-1].join(1.0)
        last = "\n".join(self._stderr)
        return SatchelError(
            f"the server {self._command[0]!r} failed: {problem}",
            f"Its last words:\n{last}" if last else "It said nothing on stderr",
        )

    def _stop(self) -> None:
        """Close the server's input, give it time to leave, then end it and all that it started."""
        process, self._process = self._process, None
        if process is None:
            return
        self._outbox.put(None)
        left = _wait(process, _LEAVE_SECONDS)
        for thread in self._threads:
            thread.join(0.5 if left else 0.0)
        # A child of the server may still hold our pipes.
        if not left or any(thread.is_alive() for thread in self._threads):
            _kill_group(process)
            _wait(process, 1.0)
            for thread in self._threads:
                thread.join(1.0)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for a process to end; return whether it did."""
    import subprocess

    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    import os
    import signal

    # The group carries the number of its first process, and is gone once its last one is.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _write(pipe: IO[bytes], outbox: SimpleQueue[bytes | None]) -> None:
    """Send what is put into the box; None closes the pipe."""
    # A server that is gone breaks the pipe; the waiting request learns it from the end of its output.
    with suppress(OSError), pipe:
        while (line := outbox.get()) is not None:
            pipe.write(line)
            pipe.flush()


def _read(pipe: IO[bytes], inbox: SimpleQueue[bytes | None]) -> None:
    """Put every line into the box, then None."""
    with pipe:
        for line in pipe:
            inbox.put(line)
    inbox.put(None)


def _drain(pipe: IO[bytes], lines: deque[str]) -> None:
    """Keep the last lines, shortened; an undrained stderr would block the server."""
    with pipe:
        for line in pipe:
            lines.append(line.decode("utf-8", "replace").rstrip()[:500])


def must_call(client: ToolClient, tool: str, arguments: Mapping[str, object]) -> str:
    """Call a tool that is expected to succeed, and return its text.

    Raises:
        SatchelError: the server refused.
    """
    result = client.call(tool, arguments)
    if result.is_error:
        raise SatchelError(f"the server refused {tool}: {result.text}")
    return result.text
