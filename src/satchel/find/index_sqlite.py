"""The full-text index on SQLite: a contentless FTS5 table with the scope as a column."""

# The built-in bm25() reads the whole posting list of every term, including those of the scope. A function of our own,
# registered when a connection first searches, reports the length and term counts of each matched row; the scoring is
# done in Python (`satchel.find.scoring`). The schema does not depend on it.

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, cast

import apsw

from satchel.find.stemming import stems
from satchel.find.words import parts_text
from satchel.store.damage import MARK
from satchel.store.transaction import set_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from satchel.find.documents import Document
    from satchel.store.sqlite_transaction import SqliteTransaction
    from satchel.store.transaction import Row, Transaction

_INSERT = "INSERT OR REPLACE INTO documents_fts (rowid, text, parts, scope) VALUES (:id, :text, :parts, :scope)"

# FTS5 truncates words here, even within a character (FTS5_MAX_TOKEN_SIZE in fts5Int.h).
_MAX_WORD_BYTES = 32_768


@lru_cache(maxsize=256)
def scope_tokens(project: int | None, run: int | None, kind: int | None, item_type: int | None = None) -> str:
    """Return the tokens for where a text belongs, such as ``p3 r57 k1 k1t2``; None omits one."""
    tokens = [f"{letter}{number}" for letter, number in (("p", project), ("r", run), ("k", kind)) if number is not None]
    if kind is not None and item_type is not None:
        tokens.append(f"k{kind}t{item_type}")
    return " ".join(tokens)


def _text_of(document: Document) -> str:
    return document.text.replace(MARK, " ")


def _scope_of(document: Document) -> str:
    return scope_tokens(document.project_id, document.run_id, document.kind.number, document.type)


class SqliteIndex:
    """The index of a SQLite store."""

    __slots__ = ("_transaction",)

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def insert(self, number: int, document: Document) -> None:
        """Index a text; REPLACE as a safeguard: INSERT on an existing id would silently merge two texts."""
        text = _text_of(document)
        self._transaction.run(
            _INSERT, {"id": number, "text": text, "parts": parts_text(text), "scope": _scope_of(document)}
        )

    def delete(self, number: int, project_id: int) -> None:  # noqa: ARG002
        self._transaction.run("DELETE FROM documents_fts WHERE rowid = :id", {"id": number})

    def fingerprints(self, documents: Sequence[int] | None = None) -> dict[int, int]:
        connection = self._connection
        is_reader = connection.pragma("query_only")
        connection.pragma("query_only", False)  # the vocabulary is a temporary table
        try:
            connection.execute(
                "CREATE VIRTUAL TABLE IF NOT EXISTS temp.documents_words USING fts5vocab(main, documents_fts, instance)"
            )
        finally:
            connection.pragma("query_only", is_reader)
        hashes: dict[int, int] = {}
        some = "" if documents is None else f" WHERE doc IN {set_of(documents)}"
        for word, document, column, place in connection.execute(
            f'SELECT CAST(term AS BLOB), doc, col, "offset" FROM documents_words{some}'
        ):
            hashes[document] = hashes.get(document, 0) + hash((word, column, place))
        return hashes

    def fingerprint(self, document: Document) -> int:
        text = _text_of(document)
        return sum(
            hash((word.encode()[:_MAX_WORD_BYTES], column, place))
            for column, content in (("text", text), ("parts", parts_text(text)), ("scope", _scope_of(document)))
            for place, word in enumerate(stems(content))
        )

    def empty(self) -> None:
        self._transaction.run("INSERT INTO documents_fts (documents_fts) VALUES ('delete-all')")

    def optimize(self) -> None:
        """Merge the index into one segment, which drops deleted text."""
        self._transaction.run("INSERT INTO documents_fts (documents_fts) VALUES ('optimize')")

    def remove_unknown(self) -> None:
        for (document,) in self._unknown():
            self._transaction.run("DELETE FROM documents_fts WHERE rowid = :id", {"id": document})

    def is_sound(self) -> bool:
        try:
            self._transaction.run("INSERT INTO documents_fts (documents_fts, rank) VALUES ('integrity-check', 0)")
        except apsw.CorruptError:
            return False
        return True

    def mismatches(self) -> tuple[list[Row], list[Row]]:
        """Return the mismatches; SQLite's integrity check covers the structure."""
        missing = self._transaction.all("SELECT id FROM documents EXCEPT SELECT id FROM documents_fts_docsize")
        return missing, self._unknown()

    def _unknown(self) -> list[Row]:
        return self._transaction.all("SELECT id FROM documents_fts_docsize EXCEPT SELECT id FROM documents")

    @property
    def _connection(self) -> apsw.Connection:
        return connection_of(self._transaction)


def connection_of(transaction: Transaction) -> apsw.Connection:
    return cast("SqliteTransaction", transaction).connection
