"""The clients that npm brings, each at work in a project and a home folder of its own, with the scripted model."""

from __future__ import annotations

import getpass
import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from end_to_end.clients.dialects import Call, Given, Json
from end_to_end.clients.scripted_model import ScriptedModel

ROOT = Path(__file__).parents[3]
INSTALLED = ROOT / ".referees"
SECONDS = 300

CLAUDE_WAITS = {"MCP_CONNECTION_NONBLOCKING": "0", "MCP_TIMEOUT": "300000"}
"""Lets Claude Code wait for its servers before it asks its model: a busy machine may be late with them."""

NOTE = 'Sessions expire after 300 s:\n"ttl" ≤ 5 min, see C:\\auth.py'
FROM_THE_SHELL = "Tokens live in src/tokens.py"
SHELL_COMMAND = f"satchel write discovery '{FROM_THE_SHELL}' && satchel who --json"

WRITE = Call("write_context", {"type": "discovery", "content": NOTE})
BRIEFING = Call("get_briefing", {"again": True, "role": "developer", "query": "when sessions expire"})
SEARCH = Call("search", {"query": "sessions expire"})
CLAIM = Call("claim_files", {"paths": ["src/auth.py"]})
MESSAGE = Call("send_message", {"to": "ann", "message": "I mend src/auth.py"})
SHOW = Call("get_items", {"ids": ["e1"]})

WORK = (WRITE, BRIEFING, SEARCH, CLAIM, MESSAGE, SHOW)
"""What the model does with Satchel's tools."""


def program(name: str, package: str, path: str) -> Path:
    """Return the program of a client, where npm has one for this platform; else the test is skipped.

    Args:
        name: the client's, for people.
        package: what the names of its packages begin with, one for each platform.
        path: where the program is in such a package, as a pattern.
    """
    folder = INSTALLED / "node_modules"
    found = next(folder.glob(f"{package}-*/{path}"), None)
    if found is None:
        locked = json.loads((ROOT / "referees" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
        cpu = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
        ours = [one for key, one in locked.items() if key.startswith(f"node_modules/{package}-")]
        if not any(sys.platform in one["os"] and cpu in one["cpu"] for one in ours):
            pytest.skip(f"npm has no {name} for {sys.platform} on {cpu}")
        pytest.fail(f"{name} is not installed: run `make referees`")
    return found


@dataclass(frozen=True, slots=True)
class Workplace:
    """A project, and the environment of the programs in it: nothing of the person who tests but the search path."""

    project: Path
    home: Path
    environment: dict[str, str]

    @classmethod
    def make(cls, folder: Path) -> Workplace:
        """Make a git repository that Satchel knows, and an empty home."""
        project, home, temporary = (folder / name for name in ("project", "home", "temporary"))
        for one in (project, home, temporary):
            one.mkdir()
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        own = {"PATH": path, "HOME": str(home), "TMPDIR": str(temporary), "LANG": "C.UTF-8"}
        made = cls(project, home, own | {"SATCHEL_PERSON": getpass.getuser()})
        made.run(["git", "init", "--quiet"])
        made.run(["satchel", "init"])
        return made

    def run(self, command: Sequence[str | Path], environment: dict[str, str] | None = None) -> str:
        """Run a command that is to succeed, without a terminal; return what it printed.

        What it started and left behind is killed.
        """
        status, printed, problems = self.try_to_run(command, environment)
        assert status == 0, problems + printed
        return printed

    def try_to_run(
        self, command: Sequence[str | Path], environment: dict[str, str] | None = None
    ) -> tuple[int, str, str]:
        """Run a command without a terminal; return its status, what it printed, and what it said of problems."""
        process = subprocess.Popen(
            command,
            cwd=self.project,
            env=self.environment | (environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            printed, problems = process.communicate(timeout=SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return process.returncode, printed, problems

    def satchel(self, *arguments: str) -> Any:
        """Return what a command prints as JSON to a person outside any client."""
        return json.loads(self.run(["satchel", *arguments, "--json"]))

    def ask_server(self, *asked: tuple[str, Json]) -> list[Json]:
        """Return what another server of this project says of itself, and what it answers."""
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "probe", "version": "1"}}
        lines = [
            json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"
            for number, (method, params) in enumerate((("initialize", hello), *asked))
        ]
        done = subprocess.run(
            ["satchel", "mcp"],
            check=True,
            cwd=self.project,
            env=self.environment,
            input="".join(lines),
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        answers = sorted(map(json.loads, done.stdout.splitlines()), key=lambda answer: int(answer["id"]))
        return [answer["result"] for answer in answers]


@dataclass(frozen=True, slots=True, repr=False)
class Seen:
    """What is known of a client's session after it.

    Attributes:
        asked: the requests of the model's conversation.
        sessions: those of the project, as ``satchel who`` shows them.
        strangers: what the client asked of anybody but the model.
    """

    workplace: Workplace
    script: Sequence[Call]
    answers: Sequence[Given]
    asked: Sequence[Json]
    sessions: Sequence[Json]
    strangers: Sequence[str]

    @classmethod
    def after(cls, workplace: Workplace, script: Sequence[Call], model: ScriptedModel) -> Seen:
        """Look at a session that has just ended."""
        sessions = workplace.satchel("who", "--all")["sessions"]
        return cls(workplace, script, model.given(), model.asked, sessions, tuple(model.strangers))

    def given(self, call: Call) -> Given:
        """Return what the model was given for a call of the script."""
        return self.answers[self.script.index(call)]

    @property
    def told(self) -> str:
        """All texts of the conversation, as its last request holds them."""
        return "\n".join(texts(self.asked[-1]))


def texts(value: object) -> Iterator[str]:
    """Yield every text in a request, whatever it is part of."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)
