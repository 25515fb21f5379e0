"""The full-text index on PostgreSQL: the words of each document in order, behind a GIN index.

FTS5's tokenizer splits words in this process, so that both databases find the same.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import apsw

from satchel.find.words import parts_text

if TYPE_CHECKING:
    from satchel.find.documents import Document
    from satchel.find.kind import Kind
    from satchel.store.transaction import Row, Transaction

LONGEST = 256
"""Longer words are cut to this length and get a digest, because a lexeme of PostgreSQL has less than 2 KB.

Longer prefixes are only cut.
"""

MOST_TYPES = 256
"""An upper bound of the types of a kind."""

_LONG = 20_000
_PREFIX_BYTES = 20
_MOST_BYTES = 1_000_000
"""A tsvector has at most 1 MB of different words, each with project and bucket in front; a text is cut there."""

_PER_STEP = 50_000

_INSERT = """
    INSERT INTO documents_words (project_id, document, place, length, words, parts)
    VALUES (:project, :document, :place, :length, :words, :parts)
"""
_RENEW = """
    ON CONFLICT (project_id, document) DO UPDATE
    SET (place, length, words, parts) = (excluded.place, excluded.length, excluded.words, excluded.parts)
    WHERE (documents_words.place, documents_words.length, documents_words.words, documents_words.parts)
        IS DISTINCT FROM (excluded.place, excluded.length, excluded.words, excluded.parts)
"""


class _Tokenizer(threading.local):
    """FTS5's tokenizer: it belongs to a connection, which only one thread at a time may use."""

    def __init__(self) -> None:
        connection = apsw.Connection(":memory:")
        self.tokenizer = connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])


_TOKENIZER = _Tokenizer()


def stems(text: str) -> list[str]:
    """Return the words of a text in the form of the index."""
    words: Any = _TOKENIZER.tokenizer(
        text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
    )
    return [word if len(word) <= LONGEST else _shortened(word) for word in words]


def joined(words: Iterable[str]) -> str:
    """Return words joined so that no two occurrences of a phrase share a space."""
    return "".join(f" {word} " for word in words)


def place_number(run: int | None, kind: Kind, item_type: int | None) -> int:
    """Return a number for a run (0 for none), a kind, and a type within it."""
    return ((run or 0) << 16) + kind_number(kind, item_type)


def kind_number(kind: Kind, item_type: int | None) -> int:
    """Return a number for a kind and a type within it."""
    return kind.number * MOST_TYPES + (item_type or 0)


def _shortened(word: str) -> str:
    return word[:LONGEST] + blake2b(word.encode(), digest_size=16).hexdigest()


def _entry(text: str) -> tuple[int, str, str]:
    """Return the length of a text in words (up to 65,535), its words, and the parts of its identifiers."""
    words, parts = stems(text), stems(parts_text(text))
    if len(text) > _LONG:
        indexed: set[str] = set()
        words, parts = _cut(words, indexed), _cut(parts, indexed)
    return min(len(words), 65_535), joined(words), joined(parts)


def _cut(words: list[str], indexed: set[str]) -> list[str]:
    """Return as many words as fit into a tsvector together with those already indexed, and add them to these."""
    size = sum(len(word.encode()) + _PREFIX_BYTES for word in indexed)
    for number, word in enumerate(words):
        if word not in indexed:
            indexed.add(word)
            size += len(word.encode()) + _PREFIX_BYTES
            if size > _MOST_BYTES:
                return words[:number]
    return words


class PostgresIndex:
    """The index of a store on PostgreSQL."""

    __slots__ = ("_transaction",)

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def insert(self, number: int, document: Document, *, is_new: bool = False) -> None:
        length, words, parts = _entry(document.text)
        self._transaction.run(
            _INSERT if is_new else _INSERT + _RENEW,
            {
                "project": document.project_id,
                "document": number,
                "place": place_number(document.run_id, document.kind, document.type),
                "length": length,
                "words": words,
                "parts": parts,
            },
        )

    def delete(self, number: int, project_id: int) -> None:
        self._transaction.run(
            "DELETE FROM documents_words WHERE project_id = :project AND document = :document",
            {"project": project_id, "document": number},
        )

    def tokens(self, text: str) -> list[tuple[int, int, str]]:
        words: Any = _TOKENIZER.tokenizer(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False)
        return [(start, end, word) for start, end, word in words]

    def holds(self, number: int, project_id: int, text: str) -> bool:
        row = self._transaction.one(
            "SELECT length, words, parts FROM documents_words WHERE project_id = :project AND document = :document",
            {"project": project_id, "document": number},
        )
        return row == _entry(text)

    def fingerprints(self) -> dict[int, int]:
        hashes: dict[int, int] = {}
        after = (0, 0)
        rows: list[Row] = [()]
        while rows:
            rows = self._transaction.all(
                f"""
                SELECT project_id, document, place, length, words, parts FROM documents_words
                WHERE (project_id, document) > (:project, :document) ORDER BY project_id, document LIMIT {_PER_STEP}
                """,
                {"project": after[0], "document": after[1]},
            )
            for project, document, *columns in rows:
                hashes[document] = hash((project, *columns))
                after = (project, document)
        return hashes

    def fingerprint(self, document: Document) -> int:
        place = place_number(document.run_id, document.kind, document.type)
        return hash((document.project_id, place, *_entry(document.text)))

    def problems(self) -> list[str]:
        messages: list[str] = []
        for text, one, other in (
            ("not indexed", "documents d", "documents_words w"),
            ("indexed without an item", "documents_words w", "documents d"),
        ):
            number = "d.id" if one == "documents d" else "w.document"
            row = self._transaction.one(
                f"SELECT count(*), min({number}) FROM {one} "
                f"WHERE NOT EXISTS (SELECT 1 FROM {other} WHERE w.project_id = d.project_id AND w.document = d.id)"
            )
            if row and row[0]:
                messages.append(f"{row[0]} documents are {text}, the first is {row[1]}")
        return messages

    def is_sound(self) -> bool:
        """Return True: PostgreSQL keeps its own index in step with the table."""
        return True

    def empty(self) -> None:
        self._transaction.run("DELETE FROM documents_words")

    def remove_unknown(self) -> int:
        return self._transaction.execute(
            """
            DELETE FROM documents_words w
            WHERE NOT EXISTS (SELECT 1 FROM documents d WHERE d.id = w.document AND d.project_id = w.project_id)
            """
        )

    def optimize(self) -> None:
        """Do nothing: VACUUM removes deleted text, but cannot run in a transaction."""
