"""The recorded texts of documents that a person accepted or rejected, and the files that clients load themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.base.records import NamedTuple
from satchel.find.kind import Kind
from satchel.store.transaction import Transaction, put_rows

if TYPE_CHECKING:
    from satchel.keep.kind import Line
    from satchel.keep.projects import Workplace
    from satchel.keep.sessions.records import Actor

# the source of what was accepted, among the states of items that an import replaced
SOURCE = "documents"


_COLUMNS = ("path", "digest", "line", "clients", "kind", "item_id", "seq", "agent_id", "created_at")


class TextState(NamedTuple):
    """A decided text; ``item`` is 0 for a rejected one, ``clients`` None for an edited one."""

    path: str
    digest: str
    line: int
    clients: str | None
    kind: int
    item: int
    seq: int
    agent: int | None
    created_at: int


def digest_of(key: str, text: str, paths: Sequence[str]) -> str:
    """Return what identifies a text with its key and the files that it binds; blanks do not count."""
    from hashlib import blake2b  # imported here: it loads OpenSSL

    words = " ".join(text.split())
    return blake2b(repr((key, words, tuple(paths))).encode(), digest_size=16).hexdigest()


def load_states(transaction: Transaction, project_id: int) -> list[TextState]:
    rows = transaction.all(
        f"SELECT {', '.join(_COLUMNS)} FROM document_texts WHERE project_id = :project ORDER BY path, line, digest",
        {"project": project_id},
    )
    return [TextState(path, digest.hex(), *rest) for path, digest, *rest in rows]


def save_states(transaction: Transaction, project_id: int, states: Iterable[TextState]) -> None:
    rows = [
        {"project_id": project_id, **dict(zip(_COLUMNS, state, strict=True)), "digest": bytes.fromhex(state.digest)}
        for state in states
    ]
    put_rows(transaction, "document_texts", ("project_id", "path", "digest"), rows)


def delete_states(transaction: Transaction, project_id: int, states: Sequence[TextState]) -> None:
    transaction.many(
        "DELETE FROM document_texts WHERE project_id = :project AND path = :path AND digest = :digest",
        [{"project": project_id, "path": state.path, "digest": bytes.fromhex(state.digest)} for state in states],
    )


def notes_of(transaction: Transaction, project_id: int, kind: Kind, number: int) -> tuple[str, ...]:
    """Return a note on the document that an item comes from, and who accepted it."""
    rows = transaction.all(
        """
        SELECT d.path, d.line, a.name FROM document_texts d LEFT JOIN agents a ON a.id = d.agent_id
        WHERE d.project_id = :project AND d.kind = :kind AND d.item_id = :item ORDER BY d.created_at, d.path
        """,
        {"project": project_id, "kind": kind.number, "item": number},
    )
    if not rows:
        return ()
    from satchel.keep.names import shown_name  # imported here: briefings do not need it

    places = " and ".join(f"{path}:{line}" for path, line, _ in rows)
    return (f"from {places}, accepted by {shown_name(rows[0][2] or 'somebody unnamed')}",)


def forget(transaction: Transaction, project_id: int, kind: Kind, number: int) -> None:
    """Make the texts of a deleted item rejected ones, so that they are not proposed again."""
    transaction.run(
        "UPDATE document_texts SET kind = 0, item_id = 0, seq = 0 "
        "WHERE project_id = :project AND kind = :kind AND item_id = :item",
        {"project": project_id, "kind": kind.number, "item": number},
    )


# the names of files with instructions for agents
INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md")

# by the name of a client; what it loads only on request or with a setting is not listed
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


def clients_loading(paths: Iterable[str]) -> str:
    from fnmatch import fnmatchcase

    paths = tuple(paths)
    names = [name for name, loaded in LOADED.items() if any(fnmatchcase(path, one) for path in paths for one in loaded)]
    return f" {' '.join(names)} " if names else ""


def loaded_items(transaction: Transaction, work: Workplace, project_id: int, actor: Actor) -> dict[int, dict[int, int]]:
    """Return the seq at acceptance of the items that a session's client loads itself, by kind and item number.

    Of a hook without a session, as one that is explained, it is the hook's client.
    """
    items: dict[int, dict[int, int]] = {}
    caller = work.caller
    client = None if caller is None or not caller.is_hook or caller.client is None else caller.client.name
    if actor.session is not None or client is not None:
        # Claude Code then loads what Codex does; it is looked up now, since a CLAUDE.md may come and go
        alias = "codex" if _claude_reads_agents(work.files_root) else "claude"
        rows = transaction.all(
            f"""
            SELECT d.kind, d.item_id, d.seq FROM document_texts d
            JOIN (SELECT COALESCE((SELECT client FROM sessions WHERE id = :session), :client) AS client) s ON 1 = 1
            WHERE d.project_id = :project AND d.item_id <> 0 AND d.clients LIKE
                '% ' || CASE s.client WHEN 'claude' THEN '{alias}' ELSE s.client END || ' %'
            """,
            {"project": project_id, "session": actor.session, "client": client},
        )
        for kind, item, seq in rows:
            items.setdefault(kind, {})[item] = seq
    return items


def _claude_reads_agents(root: str | None) -> bool:
    if root is None or not Path(root, "AGENTS.md").is_file():
        return False
    return not any(Path(root, name).exists() for name in (*LOADED["claude"], "CLAUDE.local.md"))


def reopen(
    workplace: Workplace, transaction: Transaction, project_id: int, item: tuple[Kind, int], accepted_at: int
) -> bool:
    """Propose again what was accepted for an item at a time, and return whether its former state was restored.

    New items have no former state, and decisions have a history of their own.
    """
    former = _restore(workplace, transaction, project_id, item, accepted_at)
    kind, number = item[0].number, item[1]
    states = [
        one
        for one in load_states(transaction, project_id)
        if (one.kind, one.item) == (kind, number) and one.created_at >= accepted_at
    ]
    delete_states(transaction, project_id, states)
    if former is not None:
        # so that the text in the document is a change of the former one again
        digest = digest_of("", str(former.get("text", former.get("content"))), former.get("paths", ()))
        save_states(transaction, project_id, [state._replace(digest=digest) for state in states])
    return former is not None


def _restore(
    workplace: Workplace, transaction: Transaction, project_id: int, item: tuple[Kind, int], accepted_at: int
) -> Line | None:
    # imported here: only undo needs them
    from satchel.keep.moving.states import forget_losing, kept_of
    from satchel.keep.moving.taking import Taking

    kept_states = kept_of(transaction, project_id, item[0].table, item[1])
    lines = [one.line for one in kept_states if one.is_ours and (one.source, one.kept_at) == (SOURCE, accepted_at)]
    if not lines:
        return None
    # it is no lost state any more, and can become one again
    forget_losing(transaction, project_id, lines[0]["uid"], accepted_at)
    taking = Taking(workplace, source=SOURCE, decided=True, is_accepted=True)
    taking.take(transaction, project_id, lines[:1])
    return lines[0]
