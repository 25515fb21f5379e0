"""Agents of five clients at work, as their hooks see them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

NUMBERS = count()
"""Numbers of events, each of which a client sends once."""

FAILURE = """Exit code 1
Traceback (most recent call last):
  File "a.py", line 3
ModuleNotFoundError: No module named 'yaml'"""

CLIENTS = {"s1": "claude", "c1": "codex", "g1": "gemini", "u1": "cursor", "v1": "vscode"}
"""The sessions that have begun, with their clients."""


def edit(file: object) -> dict[str, object]:
    return {"tool_input": {"file_path": str(file), "old_string": "a", "new_string": "b"}}


def bash(command: str, **more: object) -> dict[str, object]:
    return {"tool_input": {"command": command}, **more}


def denial(answer: dict[str, Any] | None) -> str:
    assert answer is not None
    said = answer["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    return str(said["permissionDecisionReason"])


AtWork = Callable[..., dict[str, Any] | None]
