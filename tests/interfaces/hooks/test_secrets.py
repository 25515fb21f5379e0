"""Hooks: no field of an event brings a secret into the store or the state folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from interfaces.hooks.conftest import Hook
from satchel import Satchel
from satchel.base.folders import state_folder

PASSWORD = "sw0rdfish" + "Engine42"
SECRET = f"https://ada:{PASSWORD}@git.internal/app.py"


def stored(project: Path) -> bytes:
    """Return every byte of the project's store and of the state folder."""
    files = [*(project / ".satchel").rglob("*"), *state_folder().rglob("*")]
    return b"".join(path.read_bytes() for path in files if path.is_file())


@pytest.mark.parametrize(
    "field",
    [
        *("session_id", "agent_id", "agent_type", "source", "permission_mode", "cwd"),
        *("tool_use_id", "transcript_path", "prompt_id", "model", "parentAgentId", "conversation_id"),
    ],
)
def test_a_secret_in_a_field_of_an_event_is_not_stored(hook: Hook, project: Path, field: str) -> None:
    hook("claude", "SessionStart", source="startup", **{field: SECRET} if field != "source" else {})
    hook("claude", "SubagentStart", {"agent_id": "a1", "agent_type": "builder", field: SECRET})
    hook("claude", "UserPromptSubmit", {"prompt": "change the gateway", field: SECRET})
    edit = {"tool_name": "Edit", "tool_use_id": "t1", "tool_input": {"file_path": str(project / "app.py")}}
    hook("claude", "PreToolUse", {**edit, field: SECRET})
    hook("claude", "PostToolUse", {**edit, field: SECRET})
    hook("claude", "SessionEnd", {"reason": "other", field: SECRET})
    assert PASSWORD.encode() not in stored(project)


@pytest.mark.parametrize("name", [SECRET, SECRET.replace("//", "/")])
def test_a_file_name_with_a_password_is_not_stored(hook: Hook, project: Path, name: str) -> None:
    for moment in ("PreToolUse", "PostToolUse"):
        hook("claude", moment, tool_name="Edit", tool_use_id="t1", tool_input={"file_path": name})
        hook("claude", moment, tool_name="Edit", tool_use_id="t2", tool_input={"file_path": f"{project}/{name}"})
    assert PASSWORD.encode() not in stored(project)


def test_sessions_whose_ids_hold_secrets_are_told_apart(hook: Hook, filled: Satchel) -> None:
    before = len(filled.sessions.team().sessions)
    for number in (1, 2):
        hook("claude", "SessionStart", source="startup", session_id=f"{SECRET}?{number}")
    assert len(filled.sessions.team().sessions) == before + 2
