"""The documents that each client loads by itself, so that their rules are not briefed to it again."""

from __future__ import annotations

from collections.abc import Iterable

from satchel.store.transaction import Transaction

INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md")
"""The names of files with instructions for agents."""

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


def clients_loading(paths: Iterable[str]) -> str:
    """Return the names of the clients that load any of some documents, as the table stores them."""
    from fnmatch import fnmatchcase

    paths = tuple(paths)
    names = [name for name, loaded in LOADED.items() if any(fnmatchcase(path, one) for path in paths for one in loaded)]
    return f" {' '.join(names)} " if names else ""


def loaded_items(transaction: Transaction, project_id: int, session: int | None) -> dict[int, dict[int, int]]:
    """Return the items that the client of a session loads by itself: the seq at acceptance, by kind and item number."""
    items: dict[int, dict[int, int]] = {}
    if session is not None:
        rows = transaction.all(
            """
            SELECT d.kind, d.item_id, d.seq FROM document_texts d JOIN sessions s ON s.id = :session
            WHERE d.project_id = :project AND d.item_id <> 0 AND d.clients LIKE '% ' || s.client || ' %'
            """,
            {"project": project_id, "session": session},
        )
        for kind, item, seq in rows:
            items.setdefault(kind, {})[item] = seq
    return items
