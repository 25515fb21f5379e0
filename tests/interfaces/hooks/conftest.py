"""A project with something to say, and hooks that are called as a client calls them, in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interfaces.hooks.at_work import CLIENTS, NUMBERS, AtWork
from satchel import Satchel
from satchel.base.clock import system_clock
from satchel.interfaces.hooks import command

RULE = "never log a password"
Hook = Callable[..., dict[str, Any] | None]


@pytest.fixture
def own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A state folder of the test's own, and nothing in the environment that a client sets."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_ENV_FILE", "SATCHEL_SESSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SATCHEL_HOOKS_DEADLINE_MS", "60000")


@pytest.fixture
def filled(own_state: None, satchel: Satchel) -> Satchel:
    """A project of this user's with a critical rule."""
    satchel.constraints.add(RULE, priority="critical", agent="ann")
    return satchel


@pytest.fixture
def hook(
    filled: Satchel, project: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Hook:
    """Call a hook with the fields of an event, or with bytes; return what it printed, as JSON, or None for nothing."""

    def call(
        client: str, name: str, fields: dict[str, Any] | bytes | None = None, **more: Any
    ) -> dict[str, Any] | None:
        usual = {"session_id": "s1", "cwd": str(project), "hook_event_name": name}
        data = fields if isinstance(fields, bytes) else json.dumps(usual | (fields or {}) | more).encode()
        monkeypatch.setattr(command, "_read", lambda: data)
        capfdbinary.readouterr()
        assert command.run([client, name]) == 0
        printed, said = capfdbinary.readouterr()
        assert said == b""
        return json.loads(printed) if printed else None

    return call


@pytest.fixture
def store(filled: Satchel, open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """The store of the hooks, by the clock that they have."""
    return open_in(project, clock=system_clock)


@pytest.fixture
def at_work(hook: Hook) -> AtWork:
    """Let an agent use a tool of its client; the session s1 has begun."""
    hook(CLIENTS["s1"], "SessionStart", session_id="s1", source="startup")

    def use(session: str, event: str, tool: str, /, **fields: Any) -> dict[str, Any] | None:
        number = {"tool_use_id": f"t{next(NUMBERS)}"}
        return hook(CLIENTS[session], event, number | fields, session_id=session, tool_name=tool)

    return use


@pytest.fixture
def all_have_begun(at_work: AtWork, hook: Hook) -> None:
    """The sessions of the other clients have begun too."""
    for session, client in CLIENTS.items():
        if session != "s1":
            hook(client, "SessionStart", session_id=session, source="startup")


def context(answer: dict[str, Any] | None) -> str:
    """Return the text that Claude Code takes from an answer."""
    assert answer is not None
    assert {*answer, "systemMessage"} == {"hookSpecificOutput", "systemMessage"}
    text = answer["hookSpecificOutput"]["additionalContext"]
    assert isinstance(text, str)
    return text
