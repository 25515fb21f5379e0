"""Entries to write by hand for clients that ask a server over HTTP themselves; they hold no token."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.interfaces.setup.editing import Append, Change, Put
from satchel.interfaces.setup.entries import TOKEN_INPUT
from satchel.interfaces.setup.parts import NAME, Keys
from satchel.remote.where import TOKEN

_FORMS: Mapping[str, Mapping[str, object]] = {
    "claude": {"type": "http", "url": "", "headers": f"${{{TOKEN}}}"},
    "codex": {"url": "", "bearer_token_env_var": TOKEN},
    "gemini": {"httpUrl": "", "headers": f"${{{TOKEN}}}"},
    "qwen": {"httpUrl": "", "headers": f"${{{TOKEN}}}"},
    "copilot": {"type": "http", "url": "", "headers": f"${{{TOKEN}}}", "tools": ["*"]},
    "opencode": {"type": "remote", "url": "", "headers": f"{{env:{TOKEN}}}", "oauth": False},
    "cursor": {"url": "", "headers": f"${{env:{TOKEN}}}"},
    "vscode": {"type": "http", "url": "", "headers": f"${{input:{TOKEN_INPUT}}}"},
}

_QUESTION = {"type": "promptString", "id": TOKEN_INPUT, "description": "Token for the Satchel server", "password": True}


def http_entry(client: str, url: str) -> dict[str, object]:
    """Return the entry of a client; an unknown one gets that of Claude Code, which most others read."""
    entry = dict(_FORMS.get(client, _FORMS["claude"]))
    for key in ("url", "httpUrl"):
        if key in entry:
            entry[key] = f"{url}/mcp"
    if "headers" in entry:
        entry["headers"] = {"Authorization": f"Bearer {entry['headers']}"}
    return entry


def http_changes(client: str, place: Keys, url: str) -> list[Change]:
    """Return what to write into a client's file: the entry, and in VS Code the question for the token."""
    question: list[Change] = [Append(("inputs",), _QUESTION)] if client == "vscode" else []
    return [Put((*place, NAME), http_entry(client, url)), *question]


def token_step(client: str, title: str) -> str:
    """Return what the user does so that a client has the token."""
    if client == "vscode":
        return f"{title} asks for the token when it first asks the server, and keeps it"
    return f"{title} reads the token from {TOKEN}: set it where you start {title}"
