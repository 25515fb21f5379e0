"""The tables of the search index, which each database has its own of."""

from __future__ import annotations

from satchel.store.transaction import Transaction

_COUNT = {"sqlite": "SELECT count(*) FROM documents_fts", "postgresql": "SELECT count(*) FROM documents_words"}
_LOSE = {
    "sqlite": "DELETE FROM documents_fts WHERE rowid = :number",
    "postgresql": "DELETE FROM documents_words WHERE document = :number",
}
_REPLACE = {
    "sqlite": """
        INSERT OR REPLACE INTO documents_fts (rowid, text, parts, scope) VALUES (:number, 'another', '', 'p1 r1 k1')
    """,
    "postgresql": "UPDATE documents_words SET words = ' another ' WHERE document = :number",
}


def indexed(transaction: Transaction) -> int:
    """Return how many texts the index holds."""
    ((count,),) = transaction.all(_COUNT[transaction.database])
    return int(count)


def lose_text(transaction: Transaction, number: int) -> None:
    """Take the text of a document out of the index, and leave the document."""
    transaction.run(_LOSE[transaction.database], {"number": number})


def replace_text(transaction: Transaction, number: int) -> None:
    """Let the index hold another text of a document."""
    transaction.run(_REPLACE[transaction.database], {"number": number})
