"""A project's record of the texts of documents that a person accepted or rejected."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from satchel.base.records import NamedTuple
from satchel.find.kind import Kind
from satchel.keep.names import shown_name
from satchel.store.transaction import Transaction

SOURCE = "documents"
"""The source of what was accepted, among the states of items that an import replaced."""


class TextState(NamedTuple):
    """A decided text.

    Attributes:
        clients: those that load it by themselves; None for an edited text.
        kind, item, seq: what it became, and that item's last change then; 0 for a rejected text.
        agent: the number of the person.
    """

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
    words = " ".join(text.split())
    return hashlib.blake2b(repr((key, words, tuple(paths))).encode(), digest_size=16).hexdigest()


def load_states(transaction: Transaction, project_id: int) -> list[TextState]:
    rows = transaction.all(
        """
        SELECT path, digest, line, clients, kind, item_id, seq, agent_id, created_at FROM document_texts
        WHERE project_id = :project ORDER BY path, line, digest
        """,
        {"project": project_id},
    )
    return [TextState(path, digest.hex(), *rest) for path, digest, *rest in rows]


def save_states(transaction: Transaction, project_id: int, states: Iterable[TextState]) -> None:
    transaction.many(
        """
        INSERT INTO document_texts (project_id, path, digest, line, clients, kind, item_id, seq, agent_id, created_at)
        VALUES (:project, :path, :digest, :line, :clients, :kind, :item, :seq, :agent, :created_at)
        ON CONFLICT (project_id, path, digest) DO UPDATE SET line = excluded.line, clients = excluded.clients,
            kind = excluded.kind, item_id = excluded.item_id, seq = excluded.seq, agent_id = excluded.agent_id,
            created_at = excluded.created_at
        """,
        [{"project": project_id, **one._asdict(), "digest": bytes.fromhex(one.digest)} for one in states],
    )


def delete_states(transaction: Transaction, project_id: int, states: Sequence[TextState]) -> None:
    transaction.many(
        "DELETE FROM document_texts WHERE project_id = :project AND path = :path AND digest = :digest",
        [{"project": project_id, "path": one.path, "digest": bytes.fromhex(one.digest)} for one in states],
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
    places = " and ".join(f"{path}:{line}" for path, line, _ in rows)
    return (f"from {places}, accepted by {shown_name(rows[0][2] or 'somebody unnamed')}",)


def forget(transaction: Transaction, project_id: int, kind: Kind, number: int) -> None:
    """Make the texts of a deleted item rejected ones, so that they are not proposed again."""
    transaction.run(
        "UPDATE document_texts SET kind = 0, item_id = 0, seq = 0 "
        "WHERE project_id = :project AND kind = :kind AND item_id = :item",
        {"project": project_id, "kind": kind.number, "item": number},
    )
