"""The documents that each client loads by itself, so that their rules are not briefed to it again."""

from __future__ import annotations

import re
from collections.abc import Iterable

LOADED: dict[str, tuple[str, ...]] = {
    "claude": ("CLAUDE.md", ".claude/CLAUDE.md"),
    "codex": ("AGENTS.md",),
    "gemini": ("GEMINI.md",),
    "qwen": ("QWEN.md",),
    "copilot": ("AGENTS.md", ".github/copilot-instructions.md"),
    "opencode": ("AGENTS.md",),
    "cursor": ("AGENTS.md", ".cursor/rules/*.mdc"),
    "vscode": ("AGENTS.md", ".github/copilot-instructions.md", ".github/instructions/*.md"),
}
"""By the name of a client; what it loads only on request or with a setting is not listed."""


def _pattern(paths: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(path).replace(r"\*", ".+") for path in paths))


def clients_loading(paths: Iterable[str]) -> str:
    """Return the names of the clients that load any of some documents, as the table stores them."""
    paths = tuple(paths)
    names = [name for name, loaded in LOADED.items() if any(map(_pattern(loaded).fullmatch, paths))]
    return f" {' '.join(names)} " if names else ""


def not_loaded(kind: int, item: str, client: str) -> str:
    """Return the SQL condition that a client does not load an item by itself; ``item`` and ``client`` are SQL."""
    return (
        f"NOT EXISTS (SELECT 1 FROM document_texts d WHERE d.kind = {kind} AND d.item_id = {item} "
        f"AND d.clients LIKE '% ' || {client} || ' %')"
    )
