"""Prompts: what a person wrote of what clients report as one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from satchel.base.text import HOST_CONTEXT

_END_CHARS = 3_000
"""So much of a prompt is read at its begin and as much at its end: a person writes before and after what is pasted."""

_ADDED = re.compile(rf"<({HOST_CONTEXT})>.*?(?:</\1>|\Z)", re.DOTALL)
"""What clients put around a prompt."""

_CLIENTS_OWN = re.compile(
    r"<[a-z]+[-_][a-z_-]+>|\[Request interrupted|\[Function Response|Satchel: |/[\w:.-]+(?:\s|\Z)"
)
"""How a prompt begins that nobody wrote, such as a task's notification, or that is a command to the client."""

_FIELDS = ("prompt", "user_prompt", "userPrompt", "message", "text")


def read(fields: Mapping[str, object]) -> str:
    """Return what a person wrote, cut in its middle where it is long; empty where nobody wrote anything."""
    given = next((fields[name] for name in _FIELDS if fields.get(name) is not None), "")
    text = ends(_text(given), _END_CHARS)
    text = _ADDED.sub(" ", text).strip()
    return "" if _CLIENTS_OWN.match(text) else text


def ends(text: str, chars: int) -> str:
    """Return a text without its middle where it is long."""
    text = text.strip() if len(text) <= 4 * chars else text
    return text if len(text) <= 2 * chars else f"{text[:chars]}\n{text[-chars:]}"


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text, value)))
    if isinstance(value, dict) and value.get("type", "text") == "text":
        return _text(value.get("text"))
    return ""
