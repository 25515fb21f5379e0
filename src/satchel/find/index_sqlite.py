"""The full-text index on SQLite: FTS5, contentless, with the scope as a column of its own."""

from __future__ import annotations

from satchel.store.sqlite import Transaction

_INSERT = "INSERT OR REPLACE INTO documents_fts (rowid, text, parts, scope) VALUES (:id, :text, '', :scope)"

RANK = "bm25(documents_fts, 1.0, 0.5, 0.0)"
"""Lower is better: how well a row of ``documents_fts`` matches."""


def scope_tokens(project: int | None, run: int | None, kind: int) -> str:
    """Return the tokens that tell where a text belongs, as in ``p3 r57 k4``."""
    tokens = [f"{letter}{number}" for letter, number in (("p", project), ("r", run), ("k", kind)) if number]
    return " ".join(tokens)


def match_expression(words: str, scope: str) -> str:
    """Combine an expression of words with the scope into one for MATCH."""
    within = " AND ".join(f"scope : {token}" for token in scope.split())
    return f"{within} AND {{text parts}} : ({words})"


def insert(transaction: Transaction, document: int, text: str, scope: str) -> None:
    """Index one text. REPLACE is a belt: a plain INSERT on a living id would merge two texts without a word."""
    transaction.execute(_INSERT, {"id": document, "text": text, "scope": scope})


def delete(transaction: Transaction, document: int) -> None:
    """Take one text out of the index."""
    transaction.execute("DELETE FROM documents_fts WHERE rowid = :id", {"id": document})


def optimize(transaction: Transaction) -> None:
    """Merge the whole index into one segment, so that nothing of a deleted text is left in it."""
    transaction.execute("INSERT INTO documents_fts (documents_fts) VALUES ('optimize')")


def problems(transaction: Transaction) -> list[str]:
    """Return where the index and the spine disagree; nothing when all is well.

    The index's own structure is part of SQLite's integrity check.
    """
    found = []
    for missing, text in (
        ("SELECT id FROM documents EXCEPT SELECT id FROM documents_fts_docsize", "not indexed"),
        ("SELECT id FROM documents_fts_docsize EXCEPT SELECT id FROM documents", "indexed without an item"),
    ):
        ids = [row[0] for row in transaction.all(missing)]
        if ids:
            found.append(f"{len(ids)} documents are {text}, the first is {ids[0]}")
    return found
