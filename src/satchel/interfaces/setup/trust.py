"""Whether a client trusts what setup writes: the project's folder, and the project's own server."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from satchel.base.user_files import followed
from satchel.interfaces.setup.clients import Client, Place
from satchel.interfaces.setup.doubles import content_of
from satchel.interfaces.setup.editing import Syntax
from satchel.interfaces.setup.parts import NAME, Content, at

_UNTRUSTED = "DO_NOT_TRUST"
_PARENT = "TRUST_PARENT"
_LEVELS = {"TRUST_FOLDER", _PARENT, _UNTRUSTED}

_RULES_FILE = {"gemini": "GEMINI_CLI_TRUSTED_FOLDERS_PATH", "qwen": "QWEN_CODE_TRUSTED_FOLDERS_PATH"}
"""The variable that moves the file of trusted folders, by client."""

_COMMAND = {"gemini": "/permissions trust", "qwen": "/trust"}
"""What changes the answer that a user gave once, by client."""


def trust_step(client: Client, place: Place, *, in_project: bool) -> str | None:
    """Return what the user has to do before a client starts Satchel in this project; None if nothing.

    Folders are looked at where an untrusted one keeps Satchel out without a word; whether hooks are trusted, only Codex
    itself can tell.
    """
    if place.project is None:
        return None
    if client.name in _RULES_FILE:
        return _folder_step(client, place, place.project)
    if client.name == "codex" and in_project and not trusts_folder_of_codex(client, place):
        return 'start Codex here and choose "Trust and continue"'
    if client.name == "claude" and in_project:
        return _approval_step(client, place, place.project)
    return None


def trusts_folder_of_codex(client: Client, place: Place) -> bool:
    """Whether the configuration of Codex says that the project's folder is trusted."""
    content = _own(client.folder_in(place) / "config.toml", place, Syntax.TOML)
    return at(content, ("projects", str(place.project), "trust_level")) == "trusted"


def _folder_step(client: Client, place: Place, project: Path) -> str | None:
    if client.name == "gemini":
        variable = "GEMINI_CLI_TRUST_WORKSPACE"
        if place.environ.get(variable) == "true":
            return None
        if place.environ.get(variable) == "false":
            return f"unset {variable} in your environment: it makes Gemini CLI trust no folder"
    folder = client.folder_in(place)
    is_on = at(_own(folder / "settings.json", place, client.syntax), ("security", "folderTrust", "enabled"))
    if is_on is False or (client.name == "qwen" and is_on is not True):
        return None
    rules = _own(place.named(_RULES_FILE[client.name], folder / "trustedFolders.json"), place, client.syntax)
    level = _level(client, rules, project)
    if level == _UNTRUSTED:
        return f"start {client.title} here, enter `{_COMMAND[client.name]}` and trust this folder: it was told not to"
    return None if level is not None else f'start {client.title} here once and choose "Trust folder"'


def _level(client: Client, rules: Mapping[str, object], project: Path) -> object:
    here = os.path.realpath(project)
    best: tuple[tuple[int, bool], object] | None = None
    for rule, level in rules.items():
        folder = os.path.realpath(Path(rule).parent if level == _PARENT else rule)
        if level not in _LEVELS or not Path(here).is_relative_to(folder):
            continue
        # Gemini CLI takes the longest rule as it is written, Qwen Code the deepest folder and of two the refusal
        rank = (len(rule), False) if client.name == "gemini" else (len(Path(folder).parts), level == _UNTRUSTED)
        if best is None or rank > best[0]:
            best = rank, level
    return best and best[1]


def _approval_step(client: Client, place: Place, project: Path) -> str | None:
    of_project = at(_own(place.home / ".claude.json", place), ("projects", str(project)))
    sources = [content_of(project / ".claude" / name) for name in ("settings.json", "settings.local.json")]
    sources += [_own(client.folder_in(place) / "settings.json", place)]
    sources += [of_project] if isinstance(of_project, Mapping) else []
    if any(_names_server(source, "disabledMcpjsonServers") for source in sources):
        return (
            f"take {NAME} out of disabledMcpjsonServers in .claude/settings.local.json: Claude Code does not start it"
        )
    if any(
        _names_server(source, "enabledMcpjsonServers") or source.get("enableAllProjectMcpServers") is True
        for source in sources
    ):
        return None
    return 'start Claude Code here once and choose "Use this MCP server"'


def _own(file: Path, place: Place, syntax: Syntax = Syntax.JSON) -> Content:
    return content_of(followed(file, place.home), syntax)


def _names_server(source: Mapping[str, object], key: str) -> bool:
    names = source.get(key)
    return isinstance(names, list) and NAME in names
