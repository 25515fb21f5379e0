"""How each client is told to ask a server over HTTP itself, with a token that does not stand in its file."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.interfaces.setup.entries import TOKEN_INPUT
from satchel.interfaces.setup.parts import Listed
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


def direct_entry(client: str, url: str) -> dict[str, object]:
    """Return the entry with which a client asks a server itself; only a reference to the token stands in it.

    Args:
        client: the client's name; another one gets the entry of Claude Code, which most others read.
        url: the server's address.
    """
    entry = dict(_FORMS.get(client, _FORMS["claude"]))
    for key in ("url", "httpUrl"):
        if key in entry:
            entry[key] = f"{url}/mcp"
    if "headers" in entry:
        entry["headers"] = {"Authorization": f"Bearer {entry['headers']}"}
    return entry


def beside_entry(client: str) -> tuple[Listed, ...]:
    """Return what belongs into the client's file beside that entry: in VS Code the question for the token."""
    return (Listed("input", ("inputs",), _QUESTION),) if client == "vscode" else ()


def where_the_token_goes(client: str, title: str) -> str:
    """Return what the user does so that a client has the token."""
    if client == "vscode":
        return f"{title} asks for the token when it first asks the server, and keeps it"
    return f"{title} reads the token from {TOKEN}: set it where you start {title}"
