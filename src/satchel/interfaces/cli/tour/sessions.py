"""Simulated client sessions: the events of their hooks, and the commands of their agents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from satchel.base.errors import SatchelError
from satchel.keep.sessions.clients import CLIENTS, client_named

_SECONDS = 60.0
_MILLISECONDS = "20000"
"""What a hook may take here, where nobody waits for it and the machine may be busy."""

_OF_CLIENTS = frozenset(
    ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_ENV_FILE", *(one.id_variable for one in CLIENTS)]
).union(*(one.markers for one in CLIENTS))
_PATCH = "*** Begin Patch\n*** Update File: {file}\n@@\n-before\n+after\n*** End Patch\n"


class HookSession:
    """A client session: each event starts ``satchel hook`` as the client does, and each command a process.

    The user's own configuration is ignored.
    """

    def __init__(self, client: str, folder: Path, where: Mapping[str, str], home: Path) -> None:
        known = client_named(client)
        assert known is not None
        assert known.id_variable is not None
        self.client = client
        self._folder = folder
        self._id = f"tour-{client}"
        self._numbers = count(1)
        ours = {name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")}
        self._environ = {name: value for name, value in ours.items() if name not in _OF_CLIENTS} | {
            known.id_variable: self._id,
            "SATCHEL_HOOKS_DEADLINE_MS": _MILLISECONDS,
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CONFIG_HOME": str(home / "config"),
            **where,
        }

    def begin(self) -> None:
        """Send the event for the start of a session."""
        self._send("SessionStart", source="startup")

    def edit(self, file: str) -> tuple[bool, str]:
        """Edit a file with the client's own tool, unless the hook denies it."""
        used = self._use_of_tool(file)
        output = self._send("PreToolUse", **used)
        if output.get("permissionDecision") == "deny":
            return False, str(output.get("permissionDecisionReason"))
        path = self._folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as stream:
            stream.write(f"edited by {self.client}\n")
        self._send("PostToolUse", **used, tool_response={"success": True})
        return True, str(output.get("additionalContext", ""))

    def run(self, *arguments: str) -> str:
        """Run a Satchel command in the agent's shell and return its output."""
        done = self._run(arguments, b"")
        if done.returncode:
            raise SatchelError(f"satchel {' '.join(arguments)} failed: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout.decode().strip()

    def _use_of_tool(self, file: str) -> dict[str, object]:
        number = f"{self._id}-{next(self._numbers)}"
        if self.client == "codex":
            patch = _PATCH.format(file=file)
            return {"tool_name": "apply_patch", "tool_use_id": number, "tool_input": {"command": patch}}
        edit = {"file_path": str(self._folder / file), "old_string": "before", "new_string": "after"}
        return {"tool_name": "Edit", "tool_use_id": number, "tool_input": edit}

    def _send(self, event: str, **fields: object) -> dict[str, Any]:
        message = {"hook_event_name": event, "session_id": self._id, "cwd": str(self._folder), **fields}
        done = self._run(("hook", self.client, event), json.dumps(message).encode())
        answer = json.loads(done.stdout) if done.stdout.strip() else {}
        output: dict[str, Any] = answer.get("hookSpecificOutput", {})
        return output

    def _run(self, arguments: tuple[str, ...], stdin: bytes) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "satchel", *arguments],
            check=False,
            input=stdin,
            cwd=self._folder,
            env=self._environ,
            capture_output=True,
            timeout=_SECONDS,
        )
