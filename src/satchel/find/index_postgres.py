"""The full-text index on PostgreSQL: postings of our own, and beside them the words of each document.

Words are made by FTS5's own tokenizer, in this process, so that both databases find the same. The scoring is done in
Python (:mod:`satchel.find.scoring`) from what the postings count.
"""

from __future__ import annotations

import threading
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import apsw

from satchel.find.words import parts_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from satchel.find.documents import Document
    from satchel.find.index import ScopedIndex
    from satchel.find.kind import Kind
    from satchel.find.search import Scope
    from satchel.store.transaction import Transaction

LONGEST = 256
"""A longer word is kept as its first so many characters and a digest: an index of PostgreSQL takes no row above 2.7 KB.

A prefix of more is looked for by its first so many.
"""

MOST_TYPES = 256
"""No kind has so many types."""

_SAMPLE_WORDS = 24
_PER_STEP = 50_000

_INSERT = """
    INSERT INTO documents_postings (project_id, document, run_id, counts, kind, term)
    SELECT :project, :document, :run, p.counts, :kind, p.term
    FROM unnest(CAST(:terms AS text[]), CAST(:counts AS integer[])) AS p (term, counts)
"""
_INSERT_WORDS = """
    INSERT INTO documents_words (project_id, document, words, parts) VALUES (:project, :document, :words, :parts)
"""
_DELETE = """
    DELETE FROM documents_postings p USING documents_words w
    WHERE w.project_id = :project AND w.document = :document AND p.project_id = :project AND p.document = :document
        AND p.term = ANY (string_to_array(trim(w.words || w.parts), '  '))
"""
_DELETE_WORDS = "DELETE FROM documents_words WHERE project_id = :project AND document = :document"


class _Tokenizing(threading.local):
    """FTS5's tokenizer: it belongs to a connection, which one thread at a time may use."""

    def __init__(self) -> None:
        connection = apsw.Connection(":memory:")
        self.tokenizer = connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])


_TOKENIZING = _Tokenizing()


def stems(text: str) -> list[str]:
    """Return the words of a text as they stand in the postings."""
    found: Any = _TOKENIZING.tokenizer(
        text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
    )
    return [word if len(word) <= LONGEST else _shortened(word) for word in found]


def joined(words: Iterable[str]) -> str:
    """Return words so that no two occurrences of a phrase share a space."""
    return "".join(f" {word} " for word in words)


def kind_number(kind: Kind, item_type: int | None) -> int:
    """Return the number that stands for a kind and a type within it."""
    return kind.number * MOST_TYPES + (item_type or 0)


def _shortened(word: str) -> str:
    return word[:LONGEST] + blake2b(word.encode(), digest_size=16).hexdigest()


class _Indexed:
    """What the index keeps of a text.

    Attributes:
        words, parts: of the text and of the parts of its identifiers, in order.
        counts: by words, in a signed number of 32 bits: the length of the text in words, up to 65,535, above 8 bits for
            how often it is in the text and 8 for the parts, each up to 255.
    """

    def __init__(self, text: str) -> None:
        words, parts = stems(text), stems(parts_text(text))
        self.words, self.parts = joined(words), joined(parts)
        length = min(len(words), 65_535)
        in_text, in_parts = Counter(words), Counter(parts)
        above = (length << 16) - (1 << 32 if length > 32_767 else 0)
        self.counts = {
            word: above + (min(in_text[word], 255) << 8) + min(in_parts[word], 255)
            for word in sorted(in_text.keys() | in_parts.keys())
        }


class PostgresIndex:
    """The index of a store on PostgreSQL; see :class:`satchel.find.index.Index`."""

    __slots__ = ("_transaction",)

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def insert(self, number: int, document: Document, *, is_new: bool = False) -> None:
        """Index the text of a document, in the place of what was indexed under its number."""
        if not is_new:
            self.delete(number, document.project_id)
        indexed = _Indexed(document.text)
        values = {
            "project": document.project_id,
            "document": number,
            "run": document.run_id,
            "kind": kind_number(document.kind, document.type),
            "terms": list(indexed.counts),
            "counts": list(indexed.counts.values()),
        }
        if indexed.counts:
            self._transaction.run(_INSERT, values)
        self._transaction.run(
            _INSERT_WORDS,
            {
                "project": document.project_id,
                "document": number,
                "words": indexed.words,
                "parts": indexed.parts,
            },
        )

    def delete(self, number: int, project_id: int) -> None:
        """Take one text out of the index."""
        values = {"project": project_id, "document": number}
        self._transaction.run(_DELETE, values)
        self._transaction.run(_DELETE_WORDS, values)

    def within(self, scope: Scope, population: int | None = None) -> ScopedIndex:
        """Return the index of what a scope holds."""
        from satchel.find.index_postgres_scoped import ScopedPostgresIndex

        return ScopedPostgresIndex(self._transaction, scope, population)

    def tokens(self, text: str) -> list[tuple[int, int, str]]:
        """Return the words of a text as the index keeps them, stemmed, each with its first and last byte in UTF-8."""
        found: Any = _TOKENIZING.tokenizer(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False)
        return [(start, end, word) for start, end, word in found]

    def holds(self, number: int, project_id: int, text: str) -> bool:
        """Whether the index holds a text under a document's number: its words, and the postings of the first ones."""
        indexed = _Indexed(text)
        some = list(indexed.counts)[:_SAMPLE_WORDS]
        row = self._transaction.one(
            """
            SELECT w.words, w.parts, (
                SELECT count(*) FROM documents_postings p
                WHERE p.project_id = :project AND p.document = :document AND p.term = ANY (CAST(:terms AS text[]))
            )
            FROM documents_words w WHERE w.project_id = :project AND w.document = :document
            """,
            {"project": project_id, "document": number, "terms": some},
        )
        return row == (indexed.words, indexed.parts, len(some))

    def fingerprints(self) -> dict[int, int]:
        """Return for every document a number that stands for its words in order, and for its postings."""
        found: dict[int, int] = {}
        for (project,) in self._transaction.all("SELECT id FROM projects ORDER BY id"):
            for document, words, parts in self._steps(
                "SELECT document, words, parts FROM documents_words", "document", (0,), project
            ):
                found[document] = found.get(document, 0) + hash((project, words, parts))
            for term, document, run, kind, counts in self._steps(
                "SELECT term, document, run_id, kind, counts FROM documents_postings",
                "term, document",
                ("", 0),
                project,
            ):
                found[document] = found.get(document, 0) + hash((term, run, kind, counts))
        return found

    def fingerprint(self, document: Document) -> int:
        """Return the number that :meth:`fingerprints` gives for a document that is indexed as it should be."""
        indexed = _Indexed(document.text)
        place = (document.run_id, kind_number(document.kind, document.type))
        return hash((document.project_id, indexed.words, indexed.parts)) + sum(
            hash((term, *place, counts)) for term, counts in indexed.counts.items()
        )

    def _steps(self, selection: str, order: str, first: tuple[object, ...], project: int) -> Iterable[Sequence[Any]]:
        """Yield every row of a project, some at a time, in the order of the first columns, which tell rows apart."""
        after = first
        names = [f"after{place}" for place in range(len(first))]
        sql = (
            f"{selection} WHERE project_id = :project AND ({order}) > ({', '.join(f':{name}' for name in names)}) "
            f"ORDER BY {order} LIMIT {_PER_STEP}"
        )
        while True:
            rows = self._transaction.all(sql, {"project": project, **dict(zip(names, after, strict=True))})
            yield from rows
            if len(rows) < _PER_STEP:
                return
            after = rows[-1][: len(first)]

    def problems(self) -> list[str]:
        """Return where the index and the documents disagree; nothing when all is well."""
        found: list[str] = []
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
                found.append(f"{row[0]} documents are {text}, the first is {row[1]}")
        return found

    def is_sound(self) -> bool:
        """Whether each posting is of a word that its document holds."""
        row = self._transaction.one(
            """
            SELECT 1 FROM documents_postings p
            LEFT JOIN documents_words w ON w.project_id = p.project_id AND w.document = p.document
            WHERE w.document IS NULL OR strpos(w.words || w.parts, ' ' || p.term || ' ') = 0 LIMIT 1
            """
        )
        return row is None

    def empty(self) -> None:
        """Take every text out of the index, as before it is rebuilt."""
        self._transaction.run("DELETE FROM documents_postings")
        self._transaction.run("DELETE FROM documents_words")

    def remove_unknown(self) -> int:
        """Take out what is not in the documents, and return how many texts that was."""
        known = "SELECT 1 FROM documents d WHERE d.id = i.document AND d.project_id = i.project_id"
        self._transaction.run(f"DELETE FROM documents_postings i WHERE NOT EXISTS ({known})")
        return self._transaction.execute(f"DELETE FROM documents_words i WHERE NOT EXISTS ({known})")

    def optimize(self) -> None:
        """Leave it to VACUUM to remove what was deleted: it runs in no transaction."""
