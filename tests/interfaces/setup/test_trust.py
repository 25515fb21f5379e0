"""What a user has to do before a client starts Satchel in a project."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from satchel.interfaces.setup.clients import CLIENTS, Client, Place
from satchel.interfaces.setup.guide import trust_step

CLAUDE, CODEX, GEMINI, QWEN = (CLIENTS[name] for name in ("claude", "codex", "gemini", "qwen"))
TRUST, PARENT, REFUSED = "TRUST_FOLDER", "TRUST_PARENT", "DO_NOT_TRUST"


@pytest.fixture
def bare(place: Place) -> Place:
    """The place with no variable that says what is trusted."""
    return replace(place, environ={"HOME": str(place.home)})


def write(file: Path, content: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))


def step(client: Client, place: Place, *, in_project: bool = False) -> str:
    return trust_step(client, place, in_project=in_project) or ""


def asks_for_trust(client: Client, place: Place) -> bool:
    return "Trust folder" in step(client, place)


def test_gemini_cli_asks_for_a_folder_that_it_does_not_know(bare: Place) -> None:
    assert step(GEMINI, bare) == 'start Gemini CLI here once and choose "Trust folder"'


def test_nothing_is_left_outside_a_project(bare: Place) -> None:
    assert step(GEMINI, replace(bare, project=None)) == ""


@pytest.mark.parametrize(("value", "expected"), [("true", ""), ("false", "unset GEMINI_CLI_TRUST_WORKSPACE")])
def test_the_variable_of_gemini_cli_comes_first(value: str, expected: str, bare: Place) -> None:
    write(bare.home / ".gemini" / "trustedFolders.json", {str(bare.project): REFUSED if value == "true" else TRUST})
    given = replace(bare, environ={**bare.environ, "GEMINI_CLI_TRUST_WORKSPACE": value})
    assert step(GEMINI, given).startswith(expected)
    assert bool(step(GEMINI, given)) is bool(expected)


def test_trust_of_folders_is_on_in_gemini_cli_and_off_in_qwen_code_unless_settings_say_otherwise(bare: Place) -> None:
    assert asks_for_trust(GEMINI, bare)
    assert step(QWEN, bare) == ""
    for name, is_on in (("gemini", "false"), ("qwen", "true")):
        settings = f'{{"security": {{"folderTrust": {{"enabled": {is_on}}}}}}} // mine'
        write(bare.home / f".{name}" / "settings.json", settings)
    assert step(GEMINI, bare) == ""
    assert asks_for_trust(QWEN, bare)


def test_the_rule_that_the_client_itself_takes_counts(bare: Place) -> None:
    write(bare.home / ".qwen" / "settings.json", {"security": {"folderTrust": {"enabled": True}}})
    project = str(bare.project)
    home, sub = str(bare.home), f"{project}/src"
    cases = [
        ({}, "Trust folder", "Trust folder"),
        ({project: TRUST}, "", ""),
        ({home: TRUST}, "", ""),
        ({project: PARENT}, "", ""),
        ({sub: PARENT}, "", ""),
        ({sub: TRUST}, "Trust folder", "Trust folder"),
        ({project: REFUSED}, "/permissions trust", "/trust"),
        ({home: TRUST, project: REFUSED}, "/permissions trust", "/trust"),
        ({home: REFUSED, project: TRUST}, "", ""),
        ({project: REFUSED, sub: PARENT}, "", "/trust"),
        ({project: "no level", f"{home}/proj": TRUST}, "Trust folder", "Trust folder"),
    ]
    wrong = []
    for rules, of_gemini, of_qwen in cases:
        for client, expected in ((GEMINI, of_gemini), (QWEN, of_qwen)):
            write(bare.home / f".{client.name}" / "trustedFolders.json", json.dumps(rules) + " // mine")
            said = step(client, bare)
            if bool(said) is not bool(expected) or expected not in said:
                wrong.append((client.name, rules, said))
    assert wrong == []


def test_a_link_to_a_trusted_folder_is_trusted(bare: Place) -> None:
    assert bare.project is not None
    link = bare.home / "link"
    link.symlink_to(bare.project)
    write(bare.home / ".gemini" / "trustedFolders.json", {str(bare.project): TRUST})
    assert step(GEMINI, replace(bare, project=link)) == ""


def test_a_variable_moves_the_file_of_trusted_folders(bare: Place) -> None:
    file = bare.home / "elsewhere.json"
    write(file, {str(bare.project): TRUST})
    moved = replace(bare, environ={**bare.environ, "GEMINI_CLI_TRUSTED_FOLDERS_PATH": str(file)})
    assert step(GEMINI, moved) == ""


def test_codex_reads_the_files_of_a_project_only_in_a_trusted_folder(bare: Place) -> None:
    assert step(CODEX, bare) == ""
    assert "Trust and continue" in step(CODEX, bare, in_project=True)
    write(bare.home / ".codex" / "config.toml", f'[projects."{bare.project}"]\ntrust_level = "trusted"\n')
    assert step(CODEX, bare, in_project=True) == ""


@pytest.mark.parametrize(
    ("file", "content", "expected"),
    [
        ("project/.claude/settings.local.json", {}, "Use this MCP server"),
        ("project/.claude/settings.local.json", {"enabledMcpjsonServers": ["satchel"]}, ""),
        ("project/.claude/settings.local.json", {"enabledMcpjsonServers": ["other"]}, "Use this MCP server"),
        (".claude/settings.json", {"enableAllProjectMcpServers": True}, ""),
        ("project/.claude/settings.local.json", {"disabledMcpjsonServers": ["satchel"]}, "disabledMcpjsonServers"),
    ],
)
def test_claude_code_asks_before_it_starts_the_server_of_a_project(
    file: str, content: object, expected: str, bare: Place
) -> None:
    write(bare.home / file, content)
    said = step(CLAUDE, bare, in_project=True)
    assert bool(said) is bool(expected)
    assert expected in said
    assert step(CLAUDE, bare) == ""
