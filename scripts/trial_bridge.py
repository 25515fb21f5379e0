"""What stands for an agent's host in a trial: one process for each agent keeps its server, and a command asks it.

The host listens on a socket in the trial's folder, writes what was asked and answered into the log there, a line of
JSON each, and ends its server when it is stopped.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

LOG = "log.jsonl"

CALL, LIST, INSTRUCTIONS, STOP = "call", "list", "instructions", "stop"
"""What can be asked of a host."""

_REVISION = "2025-11-25"
_SHOWN_OF_TOOLS = ("name", "description", "inputSchema")
"""What hosts show their models of a tool."""


class Server:
    """A server of an agent, spoken to over its standard streams.

    Args:
        agent: its name.
        project: the folder in which it is started.
        toolsets: those that it serves, as ``satchel mcp`` takes them; None for its own.
    """

    def __init__(self, agent: str, project: Path, toolsets: str | None = None) -> None:
        briefing, environ = begin(agent, project)
        command = [sys.executable, "-m", "satchel", "mcp", *([] if toolsets is None else ["--toolsets", toolsets])]
        self._process = subprocess.Popen(
            command,
            cwd=project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=environ,
        )
        self._asked = 0
        hello = self._ask(
            "initialize",
            {"protocolVersion": _REVISION, "capabilities": {}, "clientInfo": {"name": "claude-code", "version": "1"}},
        )
        self._instructions = str(hello["result"].get("instructions", ""))
        if briefing:
            self._instructions += f"\n\n(A hook put this in when your session started:)\n{briefing}"
        self._send({"method": "notifications/initialized"})

    def close(self) -> None:
        """End the input of the server, and wait until it has left."""
        with self._process:
            pass

    def answer(self, request: dict[str, Any]) -> tuple[str, bool]:
        """Return the text with which a request is answered, and whether it is an error."""
        if request["asked"] == INSTRUCTIONS:
            return self._instructions, False
        if request["asked"] == LIST:
            tools = self._ask("tools/list", {})["result"]["tools"]
            shown = [{name: tool[name] for name in _SHOWN_OF_TOOLS} for tool in tools]
            return "\n".join(json.dumps(tool, ensure_ascii=False) for tool in shown), False
        answer = self._ask("tools/call", {"name": request["tool"], "arguments": request["arguments"]})
        if "error" in answer:
            return str(answer["error"]["message"]), True
        result = answer["result"]
        return "\n".join(part["text"] for part in result["content"]), bool(result.get("isError"))

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._asked:
                return answer
        raise SystemExit("the server has left")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()


def begin(agent: str, project: Path) -> tuple[str, dict[str, str]]:
    """Run the hook of a session that starts, as a client with hooks does.

    Returns:
        What it puts in, and the environment of the session's server: the hook names the session in it.
    """
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as file:
        named = {**os.environ, "SATCHEL_AGENT": agent}
        environ = {**named, "CLAUDE_ENV_FILE": file.name}
        event = {"session_id": f"trial-{agent}-{os.getpid()}", "cwd": str(project), "source": "startup"}
        command = [sys.executable, "-m", "satchel", "hook", "claude", "SessionStart"]
        done = subprocess.run(
            command, input=json.dumps(event), stdout=subprocess.PIPE, text=True, env=environ, check=True
        )
        exported = [line.removeprefix("export ").split("=", 1) for line in file.read().split("\n") if line]
    text = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] if done.stdout else ""
    return str(text), named | dict(exported)


def host(agent: str, project: Path, folder: Path, toolsets: str | None = None) -> None:
    """Keep the server of an agent, and answer its commands one by one, until it is stopped.

    Args:
        agent: its name.
        project: the clone that it works in.
        folder: where the socket and the log are.
        toolsets: those that the server serves; None for its own.

    Raises:
        SystemExit: the agent has a host already, or its server has left.
    """
    project = project.resolve()
    folder.mkdir(mode=0o700, exist_ok=True)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))
    with _within(folder), _listening(agent) as listener, closing(Server(agent, project, toolsets)) as server:
        sys.stdout.write(f"{agent} has a server in {project}\n")
        sys.stdout.flush()
        with open(LOG, "a", encoding="utf-8") as log:  # noqa: PTH123 - relative to the folder, as the socket is
            while _serve(listener, server, agent, log):
                pass


def _serve(listener: socket.socket, server: Server, agent: str, log: TextIO) -> bool:
    """Answer one command; return whether to go on."""
    connection, _ = listener.accept()
    with connection, connection.makefile("rw", encoding="utf-8") as stream:
        said = stream.readline()
        if not said:  # another host looks whether this one is here
            return True
        request = json.loads(said)
        if request["asked"] == STOP:
            return False
        begun = time.monotonic()
        text, is_error = server.answer(request)
        line = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "agent": agent,
            **request,
            "seconds": round(time.monotonic() - begun, 3),
            "error": is_error,
            "text": text,
        }
        log.write(json.dumps(line, ensure_ascii=False) + "\n")
        log.flush()
        with suppress(BrokenPipeError):
            stream.write(json.dumps([text, is_error]) + "\n")
            stream.flush()
    return True


def ask(agent: str, folder: Path, request: dict[str, Any]) -> tuple[str, bool]:
    """Ask the host of an agent; return the text of its answer, and whether it is an error.

    Raises:
        SystemExit: the agent has no host, or it left before it answered.
    """
    try:
        with _within(folder), socket.socket(socket.AF_UNIX) as connection:
            connection.connect(_socket(agent))
            with connection.makefile("rw", encoding="utf-8") as stream:
                stream.write(json.dumps(request) + "\n")
                stream.flush()
                answer = stream.readline()
    except FileNotFoundError:
        raise SystemExit(_no_host(agent, folder, "has no host, or it was stopped")) from None
    except ConnectionRefusedError:
        raise SystemExit(_no_host(agent, folder, "had a host, which was killed")) from None
    if request["asked"] == STOP:
        return f"{agent} has left", False
    if not answer:
        raise SystemExit("the host has left before it answered")
    text, is_error = json.loads(answer)
    return text, is_error


def _no_host(agent: str, folder: Path, why: str) -> str:
    looked = folder.resolve() / _socket(agent)
    return f"{agent} {why}: looked for {looked}. Start one with: trial.py host {agent} --project CLONE"


def _socket(agent: str) -> str:
    return f"{agent}.sock"


@contextmanager
def _listening(agent: str) -> Iterator[socket.socket]:
    """Listen for the commands of an agent, in the current folder."""
    with socket.socket(socket.AF_UNIX) as tried:
        try:
            tried.connect(_socket(agent))
        except FileNotFoundError:
            pass
        except ConnectionRefusedError:  # of a host that was killed
            Path(_socket(agent)).unlink()
        else:
            raise SystemExit(f"{agent} has a host already")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(_socket(agent))
        try:
            listener.listen()
            yield listener
        finally:
            Path(_socket(agent)).unlink(missing_ok=True)


@contextmanager
def _within(folder: Path) -> Iterator[None]:
    """Work in a folder: the address of a socket may have 107 characters only, so that it is told without the folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
