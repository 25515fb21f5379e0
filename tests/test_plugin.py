"""The plugin for Claude Code and the skill say what the program does, and their hooks disturb nobody."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

import satchel
from documents import ROOT, run_example
from make_plugin import HOOK_EVENTS, files
from satchel.interfaces.operations.as_tool import ALL_TOOLS, DEFAULT_TOOLSETS

PLUGIN = ROOT / "plugin"
SKILL = PLUGIN / "skills" / "satchel" / "SKILL.md"
MAX_SKILL_LINES = 150


def skill() -> tuple[str, str]:
    """Return the front matter and the body of the skill."""
    _, front, body = SKILL.read_text(encoding="utf-8").split("---\n", 2)
    return front, body


def hook_commands() -> dict[str, str]:
    hooks: dict[str, Any] = json.loads((PLUGIN / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    return {event: handler["command"] for event, (group,) in hooks.items() for handler in group["hooks"]}


def test_the_plugin_is_what_the_program_says() -> None:
    written = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for folder in (PLUGIN, ROOT / ".claude-plugin")
        for path in folder.rglob("*")
        if path.is_file()
    }
    written["server.json"] = (ROOT / "server.json").read_text(encoding="utf-8")
    assert written == files(), "run: python scripts/make_plugin.py"


def test_the_entry_of_the_registry_is_that_of_the_package_and_starts_its_server() -> None:
    server = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    (package,) = server["packages"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    assert server["version"] == package["version"] == manifest["version"] == satchel.__version__
    assert package["identifier"] == project["name"]
    assert f"<!-- mcp-name: {server['name']} -->" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(server["description"]) <= 100
    (argument,) = package["packageArguments"]
    assert (
        argument["value"]
        in json.loads((PLUGIN / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]["satchel"]["args"]
    )


def test_the_skill_has_the_name_of_its_folder() -> None:
    front, _ = skill()
    assert f"name: {SKILL.parent.name}\n" in front


def test_the_descriptions_of_the_skill_are_as_long_as_the_format_allows() -> None:
    front, _ = skill()
    description = re.search(r"^description: >-\n((?:  .*\n)+)", front, re.MULTILINE)
    compatibility = re.search(r"^compatibility: (.*)$", front, re.MULTILINE)
    assert description is not None
    assert compatibility is not None
    assert len(description[1]) <= 1024
    assert len(compatibility[1]) <= 500


def test_the_skill_is_short() -> None:
    assert len(SKILL.read_text(encoding="utf-8").splitlines()) <= MAX_SKILL_LINES


def test_the_skill_lists_the_tools_that_are_served_by_default() -> None:
    _, body = skill()
    listed = re.findall(r"^\| `(\w+)` \|", body, re.MULTILINE)
    assert listed == [tool.name for tool in ALL_TOOLS if tool.toolset in DEFAULT_TOOLSETS]


@pytest.mark.slow
def test_the_commands_of_the_skill_run(tmp_path: Path) -> None:
    source = tmp_path / "project" / "src"
    source.mkdir(parents=True)
    (source.parent / ".git").mkdir()
    (source / "auth.py").write_text("TTL = 300\n")
    _, body = skill()
    (commands,) = re.findall(r"^```sh\n(.*?)^```$", body, re.MULTILINE | re.DOTALL)
    done = run_example("sh", "satchel init\n" + commands, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "The gateway caches sessions for 300 s" in done.stdout


def test_the_plugin_has_a_hook_for_each_event() -> None:
    assert list(hook_commands()) == list(HOOK_EVENTS)


def run_hook(command: str, folder: Path, satchel: str | None = None) -> tuple[int, str, str]:
    """Run a hook's command where the only programs are ``cat`` and, if given, a ``satchel``."""
    cat = shutil.which("cat")
    assert cat is not None
    (folder / "cat").symlink_to(cat)
    if satchel is not None:
        (folder / "satchel").write_text(f"#!/bin/sh\n{satchel}\n")
        (folder / "satchel").chmod(0o755)
    shell = shutil.which("sh") or os.defpath
    done = subprocess.run(
        [shell, "-c", command],
        check=False,
        env={"PATH": str(folder)},
        input='{"session_id": "s"}',
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("event", HOOK_EVENTS)
def test_a_hook_hands_its_event_to_the_program(event: str, tmp_path: Path) -> None:
    done = run_hook(hook_commands()[event], tmp_path, 'echo "$@"; cat')
    assert done == (0, f'hook claude {event}\n{{"session_id": "s"}}', "")


@pytest.mark.slow
@pytest.mark.parametrize("event", HOOK_EVENTS)
def test_a_hook_without_the_program_is_silent(event: str, tmp_path: Path) -> None:
    assert run_hook(hook_commands()[event], tmp_path) == (0, "", "")


@pytest.mark.slow
@pytest.mark.parametrize("event", HOOK_EVENTS)
def test_a_hook_whose_program_fails_lets_the_session_go_on(event: str, tmp_path: Path) -> None:
    status, _, _ = run_hook(hook_commands()[event], tmp_path, "exit 2")
    assert status == 0
