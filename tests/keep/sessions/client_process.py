"""A process that stands for a client: it serves itself with Satchel, runs commands, and starts clients within itself.

It does what it is told in lines of JSON, ``{"do": NAME, ...}``, and answers each with one line. Run as a program of any
name, it is seen under that name.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import IO, Any

SATCHEL = (sys.executable, "-m", "satchel")

Changes = Mapping[str, str | None]


class Spoken:
    """A child with its pipes, spoken to in lines of JSON."""

    def __init__(self, command: list[str], changes: Changes, folder: str | None = None) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=changed(changes), cwd=folder
        )

    @property
    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        return self.process.stdin, self.process.stdout

    def tell(self, message: object) -> None:
        """Send a message."""
        given, _ = self._pipes
        given.write(json.dumps(message) + "\n")
        given.flush()

    def ask(self, message: object) -> Any:
        """Send a message and wait for the answer."""
        self.tell(message)
        line = self._pipes[1].readline()
        assert line, f"the process ended with {self.process.wait()}"
        return json.loads(line)

    def close(self) -> int:
        """End its input; return how it ended."""
        for pipe in self._pipes:
            pipe.close()
        return self.process.wait()

    def kill(self) -> int:
        """End it in the middle of whatever it does."""
        self.process.kill()
        return self.close()


def changed(changes: Changes) -> dict[str, str]:
    """Return the environment with some variables set, or for None removed."""
    return {name: value for name, value in {**os.environ, **changes}.items() if value is not None}


class Client:
    """What the process does."""

    def __init__(self) -> None:
        self._servers: dict[str, Spoken] = {}
        self._within: dict[str, Spoken] = {}

    def serve(
        self,
        server: str,
        name: str | None,
        *,
        options: tuple[str, ...] = (),
        version: str = "1",
        environ: Changes | None = None,
        through: tuple[str, ...] = (),
        folder: str | None = None,
    ) -> int:
        """Start a server and shake hands with it; return its number."""
        one = Spoken([*through, *SATCHEL, "mcp", "--toolsets", "all", *options], environ or {}, folder)
        self._servers[server] = one
        info = {} if name is None else {"clientInfo": {"name": name, "version": version}}
        one.ask(_request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, **info}))
        return one.process.pid

    def call(self, server: str, tool: str, arguments: Mapping[str, object]) -> str:
        """Call a tool; return its text, an error's too."""
        answer = self._servers[server].ask(_request("tools/call", {"name": tool, "arguments": arguments}))
        return str(answer["result"]["content"][0]["text"])

    def call_and_hang_up(self, server: str, tool: str, arguments: Mapping[str, object]) -> int:
        """Call a tool with nobody to take the answer, and wait until the server has ended."""
        one = self._servers.pop(server)
        assert one.process.stdout is not None
        one.process.stdout.close()
        one.tell(_request("tools/call", {"name": tool, "arguments": arguments}))
        return one.process.wait()

    def stop(self, server: str, *, how: str = "close") -> int:
        """End a server: ``close`` or ``kill``."""
        return int(getattr(self._servers.pop(server), how)())

    def run(
        self, *command: str, shell: str = "sh", environ: Changes | None = None, folder: str | None = None
    ) -> tuple[int, str, str]:
        """Run a command of Satchel's in a shell; return its status and what it printed."""
        # what follows keeps the shell from becoming the program
        done = subprocess.run(
            [shell, "-c", '"$@"; exit $?', shell, *SATCHEL, *command],
            capture_output=True,
            text=True,
            check=False,
            env=changed(environ or {}),
            cwd=folder,
            stdin=subprocess.DEVNULL,
        )
        return done.returncode, done.stdout, done.stderr

    def start(self, client: str, program: list[str], *, environ: Changes | None = None) -> int:
        """Start a client in a shell of this one."""
        self._within[client] = Spoken(["sh", "-c", '"$@"; exit $?', "sh", *program], environ or {})
        return self._within[client].process.pid

    def ask(self, client: str, message: Mapping[str, object]) -> Any:
        """Let a client within this one do something."""
        return self._within[client].ask(message)

    def end(self) -> None:
        """End everything that was started."""
        for client in self._within.values():
            client.ask({"do": "end"})
            client.close()
        for server in self._servers.values():
            server.kill()
        self._within, self._servers = {}, {}


def _request(method: str, params: Mapping[str, object]) -> Mapping[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def main() -> None:
    """Do what the lines of the input say."""
    client = Client()
    for line in sys.stdin:
        asked = json.loads(line)
        done = getattr(client, asked["do"])(*asked.get("arguments", ()), **asked.get("options", {}))
        print(json.dumps(done), flush=True)  # noqa: T201 -- how it speaks
    client.end()


if __name__ == "__main__":
    main()
