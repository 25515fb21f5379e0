"""A small MCP client over stdio, which drives the server as a coding client would."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from satchel import __version__
from satchel.base.errors import SatchelError

_PROTOCOL = "2026-07-28"
_META = "io.modelcontextprotocol/"
_SECONDS = 60.0
"""How long an answer may take before the server is ended."""


class ToolClient:
    """An agent's connection to its own server process, as a context manager."""

    def __init__(
        self, arguments: Sequence[str], environ: Mapping[str, str], name: str, folder: Path | None = None
    ) -> None:
        self.name = name
        self._command = [sys.executable, "-m", "satchel", *arguments]
        self._environ = environ
        self._folder = folder
        self._last_id = 0

    def __enter__(self) -> Self:
        # in its own session, so that Ctrl-C reaches only this process, which then ends the server cleanly
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=self._folder,
            env=self._environ,
            encoding="utf-8",
            start_new_session=True,
        )
        return self

    def __exit__(self, *_error: object) -> None:
        with self._process as process:
            try:
                process.communicate(timeout=_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()

    def call(self, tool: str, arguments: Mapping[str, object], *, refused: bool = False) -> str:
        """Call a tool and return the text of its answer."""
        result = self._request("tools/call", {"name": tool, "arguments": dict(arguments)})
        text = "\n".join(str(block["text"]) for block in result["content"])
        if result.get("isError", False) is not refused:
            raise SatchelError(f"the server {'allowed' if refused else 'refused'} {tool}: {text}")
        return text

    def _request(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        self._last_id += 1
        meta = {
            f"{_META}protocolVersion": _PROTOCOL,
            f"{_META}clientInfo": {"name": self.name, "version": __version__},
            f"{_META}clientCapabilities": {},
        }
        body = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": {**params, "_meta": meta}}
        timer = threading.Timer(_SECONDS, self._process.kill)  # reading a pipe blocks until the server ends
        timer.start()
        try:
            stdin.write(json.dumps(body) + "\n")
            stdin.flush()
            for line in stdout:
                message = json.loads(line)
                if message.get("id") == self._last_id:
                    return dict(message["result"])
        except (OSError, ValueError, KeyError) as error:
            raise SatchelError(f"the tour's server did not answer {method}: {error!r}") from error
        finally:
            timer.cancel()
        raise SatchelError(f"the tour's server ended before it answered {method}")
