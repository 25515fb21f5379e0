"""A small synchronous MCP client over stdio, for driving our own server as an agent's host would."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, Self

from satchel import __version__
from satchel.base.errors import InvalidInput, SatchelError, Unavailable

_PROTOCOL = "2026-07-28"
_META = "io.modelcontextprotocol/"
_LEAVE_SECONDS = 6.0
_STDERR_BYTES = 2_000


class ToolClient:
    """One agent's connection to a server that it starts, as a context manager.

    Speaks the 2026-07-28 revision: no handshake, every request carries its envelope in ``params._meta``.

    Args:
        command: the server's program and arguments.
        env: the server's whole environment; None passes on ours.
        name: what the client calls itself.
        timeout_seconds: how long one answer may take before the server is ended; leaving takes at most about 6 seconds.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        name: str = "satchel-tour",
        timeout_seconds: float = 20.0,
    ) -> None:
        self.name = name
        self._command, self._env = command, env
        self._timeout = timeout_seconds
        self._last_id = 0
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        # A file, not a pipe: a full pipe would block the server.
        self._stderr = tempfile.TemporaryFile()
        try:
            # A session of its own: an interrupt at the terminal reaches us, and we end the server in order.
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(
                self._command, stdin=pipe, stdout=pipe, stderr=self._stderr, env=self._env, start_new_session=True
            )
            self._request("server/discover", {})
        except BaseException as error:
            self.__exit__()
            if isinstance(error, OSError):
                problem = f"the server {self._command[0]!r} cannot be started ({error.strerror})"
                raise Unavailable(problem, "Check that Satchel is installed whole") from None
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        """Close the server's input, give it time to leave, then end it and all that it started."""
        process, self._process = self._process, None
        with self._stderr:
            if process is None or process.stdin is None or process.stdout is None:
                return
            process.stdin.close()
            try:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_LEAVE_SECONDS)
            finally:
                if process.poll() is None:
                    _kill(process)
                    process.wait()
                process.stdout.close()

    def call(self, tool: str, arguments: Mapping[str, object], *, refused: bool = False) -> str:
        """Call a tool and wait for its answer.

        Args:
            tool: the tool's name.
            arguments: its arguments, as JSON can hold them.
            refused: whether the tool is expected to refuse.

        Returns:
            The text blocks of the answer, joined by line breaks.

        Raises:
            SatchelError: the server died, kept silent too long, or broke the protocol; or the tool refused, or did not,
                against what was expected.
        """
        result = self._request("tools/call", {"name": tool, "arguments": dict(arguments)})
        if "content" not in result:
            raise self._broken(f"the answer to {tool} is not a complete tool result")
        text = "\n".join(str(block["text"]) for block in result["content"] if block.get("type") == "text")
        if result.get("isError", False) is not refused:
            raise SatchelError(f"the server {'allowed' if refused else 'refused'} {tool}: {text}")
        return text

    def _request(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise InvalidInput("the client is not connected", "Use it inside its with block")
        self._last_id += 1
        envelope = {
            f"{_META}protocolVersion": _PROTOCOL,
            f"{_META}clientInfo": {"name": self.name, "version": __version__},
            f"{_META}clientCapabilities": {},
        }
        params = {**params, "_meta": envelope}
        body = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        late = threading.Event()

        def end_late() -> None:
            late.set()
            _kill(process)

        # A pipe blocks both ways; once the server is ended, both give way.
        timer = threading.Timer(self._timeout, end_late)
        timer.daemon = True
        timer.start()
        try:
            answer = self._exchange(
                process.stdin, process.stdout, json.dumps(body, separators=(",", ":")).encode() + b"\n"
            )
        finally:
            timer.cancel()
        if late.is_set():
            raise self._broken(f"no answer to {method} within {self._timeout:g} seconds")
        if answer is None:
            raise self._broken(f"it ended before it answered {method}")
        result = answer.get("result")
        if not isinstance(result, dict):
            raise self._broken(f"it refused {method}: {answer.get('error')}")
        return result

    def _exchange(self, stdin: IO[bytes], stdout: IO[bytes], request: bytes) -> dict[str, Any] | None:
        """Send a request and return the message that answers it; None when the server ended first."""
        unsent = memoryview(request)
        # A server that is gone breaks the pipe; the end of its output says so below.
        with suppress(OSError):
            while unsent:
                unsent = unsent[os.write(stdin.fileno(), unsent) :]
        for line in stdout:
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                message = None
            if not isinstance(message, dict):
                shown = line[:200].decode("utf-8", "replace").strip()
                raise self._broken(f"it wrote a line that is not a message: {shown!r}")
            if "method" not in message and message.get("id") in {self._last_id, None}:
                return message
        return None

    def _broken(self, problem: str) -> SatchelError:
        """Build the error for a server that failed, with what it last said on stderr."""
        self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - _STDERR_BYTES))
        last = self._stderr.read().decode("utf-8", "replace").strip()
        return SatchelError(
            f"the server {self._command[0]!r} failed: {problem}",
            f"Its last words:\n{last}" if last else "It said nothing on stderr",
        )


def _kill(process: subprocess.Popen[bytes]) -> None:
    # The group carries the number of its first process, and is gone once its last one is.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
