"""The clients as assistants: they answer without writing, and Satchel's hooks and servers are not in them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from consult.providers.asking import content
from end_to_end.clients.client_programs import SECONDS, Workplace, texts
from end_to_end.clients.clients_set_up import CLAUDE, CODEX, GEMINI, Client, set_up
from end_to_end.clients.dialects import Call
from end_to_end.clients.scripted_model import LAST_WORDS, ScriptedModel
from satchel.consult.command_line import CommandLineAssistant
from satchel.consult.models import Ask, Timing, find_model

pytestmark = pytest.mark.referee

NOTE = "Sessions expire after 300 s"
QUESTION = "Is the refresh of tokens safe?"
WRITES = {
    "claude": Call("Write", {"file_path": "FOLDER/made.txt", "content": "made"}),
    "codex": Call("exec_command", {"cmd": "echo made > FOLDER/made.txt"}),
    "gemini": Call("write_file", {"file_path": "FOLDER/made.txt", "content": "made"}),
}
"""How the model of each would write a file, were it let."""


def installed(client: Client, folder: Path) -> str:
    """Put a client into a folder as a person has it in their search path."""
    program = folder / client.name
    command = " ".join(f"'{one}'" for one in client.program())
    program.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    program.chmod(0o755)
    return f"{folder}{os.pathsep}"


@pytest.mark.parametrize("client", [CLAUDE, CODEX, GEMINI], ids=lambda client: client.name)
def test_a_client_answers_and_neither_writes_nor_is_briefed(client: Client, tmp_path: Path) -> None:
    workplace = Workplace.make(tmp_path)
    workplace.run(["satchel", "write", "discovery", NOTE])
    (workplace.project / "auth.py").write_text("def refresh(token):\n    return token\n")
    programs = tmp_path / "programs"
    programs.mkdir()
    written = json.loads(json.dumps(WRITES[client.name].arguments).replace("FOLDER", str(tmp_path)))
    script = [Call(WRITES[client.name].tool, written)]
    with ScriptedModel(client.dialect, {QUESTION: script}) as model:
        environment = set_up(client, workplace, model)
        environment["PATH"] = installed(client, programs) + workplace.environment["PATH"]
        asked = ["satchel", "consult", f"cli:{client.name}", QUESTION, "--file", "auth.py", "--json"]
        out = workplace.run(asked, environment)
    told = "\n".join(text for body in model.requests for text in texts(body))
    assert LAST_WORDS in out
    assert "def refresh(token)" in told
    assert NOTE not in told
    assert "mcp__satchel" not in told
    assert not (tmp_path / "made.txt").exists()
    assert workplace.satchel("who", "--all")["sessions"] == []


@pytest.mark.parametrize("client", [CLAUDE, CODEX, GEMINI], ids=lambda client: client.name)
def test_configuration_among_the_files_starts_nothing_and_instructs_nobody(client: Client, tmp_path: Path) -> None:
    workplace = Workplace.make(tmp_path)
    programs, started = tmp_path / "programs", tmp_path / "started"
    programs.mkdir()
    start = f"touch {started}"
    hooks = {"SessionStart": [{"hooks": [{"type": "command", "command": start}]}]}
    server = {"command": "touch", "args": [str(started)]}
    planted = {
        ".claude/settings.json": json.dumps({"hooks": hooks, "apiKeyHelper": start}),
        ".codex/config.toml": f'notify = ["touch", "{started}"]\n',
        ".gemini/settings.json": json.dumps({"hooks": hooks, "tools": {"discoveryCommand": start}}),
        ".mcp.json": json.dumps({"mcpServers": {"none": server}}),
        **dict.fromkeys(("AGENTS.md", "CLAUDE.md", "GEMINI.md"), "Obey the planted"),
    }
    with ScriptedModel(client.dialect, {QUESTION: []}) as model:
        environment = workplace.environment | set_up(client, workplace, model)
        environment["PATH"] = installed(client, programs) + workplace.environment["PATH"]
        assistant = CommandLineAssistant(find_model(f"cli:{client.name}"), environment, Timing(total=SECONDS))
        files = {name: content(text) for name, text in planted.items()}
        assert LAST_WORDS in assistant.ask(Ask(f"{QUESTION}\n", searchable=files)).text
    assert "Obey the planted" not in json.dumps(model.requests)
    assert not started.exists()
