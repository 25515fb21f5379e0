"""Where each client's files lie, and what is written there."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from satchel.base.config import RESERVED_VARIABLES
from satchel.interfaces.setup.clients import CLIENTS, EVENTS, Place, Target, Wish
from satchel.interfaces.setup.editing import Syntax, edited, parse
from satchel.interfaces.setup.texts import TextPart
from satchel.keep.sessions.clients import CLIENTS as SESSION_CLIENTS
from tables import in_one_test

WISH = Wish("/opt/satchel")
HOME = Path("/home/ann")

FILES = {
    "claude": (".claude.json", ".claude/settings.json"),
    "codex": (".codex/config.toml", ".codex/hooks.json"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json"),
    "qwen": (".qwen/settings.json", ".qwen/settings.json"),
    "copilot": (".copilot/mcp-config.json", ".copilot/hooks/satchel.json"),
    "opencode": (".config/opencode/opencode.json", ".config/opencode/plugin/satchel.js"),
    "cursor": (".cursor/mcp.json", ".cursor/hooks.json"),
    "vscode": (".config/Code/User/mcp.json",),
}
PROJECT_FILES = {
    "claude": (".mcp.json", ".claude/settings.json"),
    "codex": (".codex/config.toml", ".codex/hooks.json"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json"),
    "qwen": (".qwen/settings.json", ".qwen/settings.json"),
    "copilot": (".mcp.json",),
    "opencode": ("opencode.json", ".opencode/plugin/satchel.js"),
    "cursor": (".cursor/mcp.json", ".cursor/hooks.json"),
    "vscode": (".vscode/mcp.json", ".github/hooks/satchel.json"),
}


def written(target: Target) -> dict[str, object]:
    """Return what a new file holds."""
    assert target.syntax is not None
    text = ""
    for part in target.parts:
        assert not isinstance(part, TextPart)
        text = edited(text, target.syntax, part.put({}))
    return parse(text, target.syntax)


def targets(name: str, wish: Wish = WISH, *, project: Path | None = None) -> tuple[Target, ...]:
    return CLIENTS[name].targets(Place(HOME, {}, project), wish)


def moved(name: str, variable: str, value: str) -> tuple[Target, ...]:
    return CLIENTS[name].targets(Place(HOME, {variable: value}), WISH)


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="VS Code's folder differs")
@pytest.mark.parametrize("name", CLIENTS)
def test_the_users_files(name: str) -> None:
    assert tuple(str(target.path.relative_to(HOME)) for target in targets(name)) == FILES[name]


@pytest.mark.parametrize("name", CLIENTS)
def test_the_files_of_a_project(name: str, tmp_path: Path) -> None:
    wish = Wish("satchel", in_project=True)
    found = targets(name, wish, project=tmp_path)
    assert tuple(str(target.path.relative_to(tmp_path)) for target in found) == PROJECT_FILES[name]
    assert {target.below for target in found} == {tmp_path}


@in_one_test("name", CLIENTS)
def test_without_hooks_only_the_server_is_written(name: str) -> None:
    assert len(targets(name, replace(WISH, hooks=False))) == 1


@pytest.mark.parametrize(
    ("name", "variable", "files"),
    [
        ("claude", "CLAUDE_CONFIG_DIR", (".claude.json", "settings.json")),
        ("codex", "CODEX_HOME", ("config.toml", "hooks.json")),
        ("gemini", "GEMINI_CLI_HOME", (".gemini/settings.json", ".gemini/settings.json")),
        ("qwen", "QWEN_HOME", ("settings.json", "settings.json")),
        ("copilot", "COPILOT_HOME", ("mcp-config.json", "hooks/satchel.json")),
        ("opencode", "XDG_CONFIG_HOME", ("opencode/opencode.json", "opencode/plugin/satchel.js")),
    ],
)
def test_a_variable_moves_the_folder_of_a_client(
    name: str, variable: str, files: tuple[str, ...], tmp_path: Path
) -> None:
    found = moved(name, variable, str(tmp_path))
    assert tuple(str(target.path.relative_to(tmp_path)) for target in found) == files
    assert all(target.below.exists() for target in found)


def test_a_variable_that_is_no_absolute_path_moves_nothing() -> None:
    assert moved("codex", "CODEX_HOME", "codex") == targets("codex")


def test_the_file_with_comments_of_opencode_is_taken_where_it_is_there(tmp_path: Path) -> None:
    (tmp_path / "opencode").mkdir()
    (tmp_path / "opencode" / "opencode.jsonc").touch()
    assert moved("opencode", "XDG_CONFIG_HOME", str(tmp_path))[0].path.name == "opencode.jsonc"


def test_the_entries_are_as_each_client_wants_them() -> None:
    command = {"command": "/opt/satchel", "args": ["mcp"]}
    entries = {name: written(targets(name)[0]) for name in CLIENTS if name not in {"gemini", "qwen", "codex"}}
    assert entries == {
        "claude": {"mcpServers": {"satchel": {"type": "stdio", **command}}},
        "copilot": {"mcpServers": {"satchel": {"type": "local", "tools": ["*"], **command}}},
        "opencode": {
            "$schema": "https://opencode.ai/config.json",
            "mcp": {"satchel": {"type": "local", "command": ["/opt/satchel", "mcp"]}},
        },
        "cursor": {"mcpServers": {"satchel": command}},
        "vscode": {"servers": {"satchel": {"type": "stdio", **command}}},
    }
    assert written(targets("gemini")[0]) == {"mcpServers": {"satchel": command}}


def test_codex_hands_on_every_variable_that_satchel_reads_outside_its_configuration() -> None:
    entry = written(targets("codex")[0])["mcp_servers"]
    assert isinstance(entry, dict)
    variables = set(RESERVED_VARIABLES) - {"SATCHEL_DEBUG"} | {"XDG_CONFIG_HOME", "XDG_STATE_HOME"}
    variables |= {"SATCHEL_URL", "SATCHEL_SERVER_INSECURE"}
    assert set(entry["satchel"].pop("env_vars")) == variables
    assert entry == {"satchel": {"command": "/opt/satchel", "args": ["mcp"]}}


@pytest.mark.parametrize("name", ["claude", "codex", "qwen"])
def test_hooks_in_groups(name: str) -> None:
    hooks = written(targets(name)[1])["hooks"]
    limit = 10_000 if name == "qwen" else 10
    ends = 3 if name == "codex" else limit
    of_all = {
        event: [{"hooks": [{"type": "command", "command": f"/opt/satchel hook {name} {event}", "timeout": seconds}]}]
        for event, seconds in (("SessionStart", limit), ("SubagentStart", limit), ("SessionEnd", ends), ("Stop", limit))
    }
    assert isinstance(hooks, dict)
    assert {event: groups for event, groups in hooks.items() if event in of_all} == of_all


MATCHERS = {
    "claude": {
        "PreToolUse": "Edit|Write|MultiEdit|NotebookEdit",
        "PostToolUse": "Edit|Write|MultiEdit|NotebookEdit|Read|Bash|ExitPlanMode",
        "PostToolUseFailure": "Bash",
    },
    "codex": {"PreToolUse": "apply_patch", "PostToolUse": "apply_patch|Bash"},
    "gemini": {
        "BeforeTool": "^(write_file|replace)$",
        "AfterTool": "^(write_file|replace|read_file|run_shell_command)$",
    },
    "qwen": {
        "PreToolUse": "^(write_file|edit|notebook_edit)$",
        "PostToolUse": "^(write_file|edit|notebook_edit|read_file|run_shell_command|exit_plan_mode)$",
        "PostToolUseFailure": "^(run_shell_command)$",
    },
    "copilot": {"preToolUse": "create|edit|apply_patch", "postToolUse": "create|edit|apply_patch|view|bash"},
    "cursor": {
        "preToolUse": "Write|StrReplace|Edit|Delete",
        "postToolUse": "Write|StrReplace|Edit|Delete|Read|Shell",
        "postToolUseFailure": "Shell",
    },
}


@in_one_test("name", MATCHERS)
def test_hooks_at_tools_are_called_for_edits_reads_and_commands_alone(name: str) -> None:
    hooks = written(targets(name)[1])["hooks"]
    assert isinstance(hooks, dict)
    assert {event: groups[0].get("matcher") for event, groups in hooks.items() if "Tool" in event} == MATCHERS[name]


def test_hooks_of_gemini_have_a_name_and_count_in_milliseconds() -> None:
    hooks = written(targets("gemini")[1])["hooks"]
    handler = {"name": "satchel", "type": "command", "timeout": 10_000}
    assert isinstance(hooks, dict)
    assert {event: groups[0]["hooks"] for event, groups in hooks.items()} == {
        event: [{**handler, "command": f"/opt/satchel hook gemini {event}"}]
        for event in ("SessionStart", "SessionEnd", "AfterAgent", "BeforeAgent", "BeforeTool", "AfterTool")
    }


def test_hooks_of_copilot_have_a_file_of_their_own() -> None:
    content = written(targets("copilot")[1])
    hooks = content.pop("hooks")
    assert content == {"version": 1}
    assert isinstance(hooks, dict)
    without_matchers = {
        event: [{key: value for key, value in handler.items() if key != "matcher"} for handler in handlers]
        for event, handlers in hooks.items()
    }
    events = "sessionStart subagentStart sessionEnd agentStop userPromptSubmitted preToolUse postToolUse preCompact"
    assert without_matchers == {
        event: [{"type": "command", "bash": f"/opt/satchel hook copilot {event}", "timeoutSec": 10}]
        for event in events.split()
    }


def test_hooks_of_cursor() -> None:
    at_tools = {event: {"matcher": matcher} for event, matcher in MATCHERS["cursor"].items()}
    assert written(targets("cursor")[1]) == {
        "version": 1,
        "hooks": {
            event: [{**at_tools.get(event, {}), "command": f"/opt/satchel hook cursor {event}", "timeout": 10}]
            for event in ("sessionStart", "sessionEnd", *at_tools)
        },
    }


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_committed_hook_does_nothing_where_satchel_is_not_installed(shell: str, tmp_path: Path) -> None:
    content = written(targets("vscode", Wish("satchel", in_project=True), project=tmp_path)[1])
    handlers = content["hooks"]
    assert isinstance(handlers, dict)
    assert list(handlers) == ["SessionStart", "SubagentStart", "PreToolUse", "PostToolUse"]
    for (handler,) in handlers.values():
        done = subprocess.run(
            [f"/bin/{shell}", "-c", handler["command"]], env={"PATH": str(tmp_path)}, capture_output=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.slow
def test_a_committed_hook_calls_satchel_where_it_is_installed_and_hides_its_status(tmp_path: Path) -> None:
    content = written(targets("claude", Wish("satchel", in_project=True), project=tmp_path)[1])["hooks"]
    assert isinstance(content, dict)
    (tmp_path / "satchel").write_text('#!/bin/sh\necho "$@"; exit 9\n')
    (tmp_path / "satchel").chmod(0o755)
    command = content["SessionStart"][0]["hooks"][0]["command"]
    done = subprocess.run(
        ["/bin/sh", "-c", command], env={"PATH": str(tmp_path)}, capture_output=True, check=False, text=True
    )
    assert (done.returncode, done.stdout) == (0, "hook claude SessionStart\n")


def test_permissions_are_given_only_to_those_that_were_named() -> None:
    claude = targets("claude", replace(WISH, allowed=frozenset({"claude"})))[-1]
    assert written(claude) == {"permissions": {"allow": ["mcp__satchel"]}}
    gemini = targets("gemini", replace(WISH, allowed=frozenset({"gemini"})))[0]
    assert written(gemini) == {"mcpServers": {"satchel": {"command": "/opt/satchel", "args": ["mcp"], "trust": True}}}
    assert targets("qwen", replace(WISH, allowed=frozenset({"gemini", "claude"}))) == targets("qwen")


def test_clients_are_called_as_in_sessions() -> None:
    assert set(CLIENTS) == {client.name for client in SESSION_CLIENTS}
    assert {name for event in EVENTS for name in event.clients.split()} <= set(CLIENTS)


def test_only_clients_that_read_comments_are_written_with_them_in_mind() -> None:
    lenient = {name for name, client in CLIENTS.items() if client.syntax is Syntax.JSONC}
    assert lenient == {"gemini", "qwen", "opencode", "vscode"}
