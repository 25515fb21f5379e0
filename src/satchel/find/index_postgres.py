"""The full-text index on PostgreSQL: the words of each document, and our own postings in blocks.

A new document is searched by its words. Once a project has some hundreds of those, their postings are packed; see
:mod:`satchel.store.postgres.packing`.

FTS5's tokenizer splits words in this process, so that both databases find the same. The scoring is done in Python
(:mod:`satchel.find.scoring`) from the counts in the postings.
"""

from __future__ import annotations

import threading
from collections import Counter
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any
from zlib import crc32

import apsw

from satchel.find.words import parts_text
from satchel.store.postgres.packing import PACK, amounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from satchel.find.documents import Document
    from satchel.find.kind import Kind
    from satchel.store.transaction import Row, Transaction

LONGEST = 256
"""Longer words are cut to this length and get a digest, because a PostgreSQL index takes no row above 2.7 KB.

Longer prefixes are only cut.
"""

MOST_TYPES = 256
"""An upper bound of the types of a kind."""

_SAMPLE_WORDS = 24
_PER_STEP = 50_000
_BLOCKS_PER_STEP = 1_000

_LARGE = 4_096
"""A longer text triggers a check whether packing is due; of other texts one in 32 does, chosen by number."""

_MARKS = 256
"""One bit for each word excludes most documents without it, so that their words need not be read."""

_SPREAD = 0x9E3779B1
"""A multiplier that spreads document numbers, because those of a project may all be even."""

_INSERT = """
    INSERT INTO documents_words (project_id, document, place, length, marks, words, parts)
    VALUES (:project, :document, :place, :length, :marks, :words, :parts)
"""
_BLOCK = """
    SELECT b.first, b.postings, b.places FROM documents_packed b
    WHERE b.project_id = :project AND b.term = t.term AND b.first <= :document ORDER BY b.first DESC LIMIT 1
"""
"""The block with the posting of a document, for the words ``t``."""

_PACK_LATE = f"""
    INSERT INTO documents_packed AS p (project_id, first, term, postings, places)
    SELECT :project, coalesce((SELECT first FROM ({_BLOCK}) AS f), 0), t.term,
        ARRAY[t.posting], ARRAY[CAST(:place AS bigint)]
    FROM unnest(CAST(:terms AS text[]), CAST(:postings AS bigint[])) AS t (term, posting)
    WHERE :document <= (SELECT last FROM documents_packing WHERE project_id = :project)
    ON CONFLICT (project_id, term, first) DO UPDATE SET (postings, places) = (
        SELECT p.postings[1:(b.before)] || excluded.postings || p.postings[(b.before + 1):],
            p.places[1:(b.before)] || excluded.places || p.places[(b.before + 1):]
        FROM (
            SELECT CAST(count(*) AS integer) AS before FROM unnest(p.postings) AS u (posting)
            WHERE u.posting < excluded.postings[1]
        ) AS b
    )
"""
# slices take half the time of unnesting a block and aggregating it again
_DELETE = f"""
    WITH held AS MATERIALIZED (
        SELECT t.term, f.first, cardinality(f.postings) AS size, CAST(u.number AS integer) AS number
        FROM (
            SELECT DISTINCT unnest(string_to_array(trim(w.words || w.parts), '  ')) AS term FROM documents_words w
            WHERE w.project_id = :project AND w.document = :document
        ) AS t CROSS JOIN LATERAL ({_BLOCK}) AS f
        JOIN LATERAL unnest(f.postings) WITH ORDINALITY AS u (posting, number) ON u.posting >> 32 = :document
    ), emptied AS (
        DELETE FROM documents_packed p USING held h
        WHERE h.size = 1 AND p.project_id = :project AND p.term = h.term AND p.first = h.first
    ), taken AS (
        UPDATE documents_packed p SET postings = p.postings[1:(h.number - 1)] || p.postings[(h.number + 1):],
            places = p.places[1:(h.number - 1)] || p.places[(h.number + 1):]
        FROM held h WHERE h.size > 1 AND p.project_id = :project AND p.term = h.term AND p.first = h.first
    )
    DELETE FROM documents_words WHERE project_id = :project AND document = :document
"""
_STORED = f"""
    SELECT w.place, w.length, w.marks, w.words, w.parts, CASE
        WHEN w.document > coalesce((SELECT last FROM documents_packing WHERE project_id = :project), 0) THEN :size
        ELSE (
            SELECT count(*) FROM unnest(CAST(:terms AS text[]), CAST(:postings AS bigint[])) AS t (term, posting)
            CROSS JOIN LATERAL ({_BLOCK}) AS f CROSS JOIN LATERAL unnest(f.postings, f.places) AS u (posting, place)
            WHERE u.posting = t.posting AND u.place = w.place
        ) END
    FROM documents_words w WHERE w.project_id = :project AND w.document = :document
"""


class _Tokenizer(threading.local):
    """FTS5's tokenizer: it belongs to a connection, which only one thread at a time may use."""

    def __init__(self) -> None:
        connection = apsw.Connection(":memory:")
        self.tokenizer = connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])


_TOKENIZER = _Tokenizer()


def stems(text: str) -> list[str]:
    """Return the words of a text in the form that postings use."""
    words: Any = _TOKENIZER.tokenizer(
        text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
    )
    return [word if len(word) <= LONGEST else _shortened(word) for word in words]


def joined(words: Iterable[str]) -> str:
    """Return words joined so that no two occurrences of a phrase share a space."""
    return "".join(f" {word} " for word in words)


def mark(word: str) -> int:
    """Return the bit of a word in the marks of documents."""
    return crc32(word.encode()) % _MARKS


def marks(words: str, parts: str) -> bytes:
    """Return the bits of all words of a document in the order of PostgreSQL's ``get_bit``."""
    bits = 0
    for word in {*words.split(), *parts.split()}:
        bits |= 1 << mark(word)
    return bits.to_bytes(_MARKS // 8, "little")


def place_number(run: int | None, kind: Kind, item_type: int | None) -> int:
    """Return a number for a run (0 for none), a kind, and a type within it."""
    return ((run or 0) << 16) + kind_number(kind, item_type)


def kind_number(kind: Kind, item_type: int | None) -> int:
    """Return a number for a kind and a type within it."""
    return kind.number * MOST_TYPES + (item_type or 0)


def _shortened(word: str) -> str:
    return word[:LONGEST] + blake2b(word.encode(), digest_size=16).hexdigest()


class _IndexEntry:
    """The index entry of a text.

    Attributes:
        words, parts: the words of the text and the parts of its identifiers, in order.
        length: the number of words, up to 65,535.
    """

    def __init__(self, text: str) -> None:
        words, parts = stems(text), stems(parts_text(text))
        self.words, self.parts = joined(words), joined(parts)
        self.length = min(len(words), 65_535)

    @property
    def columns(self) -> tuple[int, bytes, str, str]:
        return self.length, marks(self.words, self.parts), self.words, self.parts

    @property
    def counts(self) -> dict[str, int]:
        """The counts by word: the length above 16 bits, then in the text and in the parts, each up to 255."""
        return _counts(self.length, self.words, self.parts)


def _counts(length: int, words: str, parts: str) -> dict[str, int]:
    in_text, in_parts = Counter(words.split()), Counter(parts.split())
    return {
        word: (length << 16) + (min(in_text[word], 255) << 8) + min(in_parts[word], 255)
        for word in sorted(in_text.keys() | in_parts.keys())
    }


class PostgresIndex:
    """The index of a store on PostgreSQL."""

    __slots__ = ("_transaction",)

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def insert(self, number: int, document: Document, *, is_new: bool = False) -> None:
        entry, project = _IndexEntry(document.text), document.project_id
        place = place_number(document.run_id, document.kind, document.type)
        words = {
            "project": project,
            "document": number,
            "place": place,
            **dict(zip(("length", "marks", "words", "parts"), entry.columns, strict=True)),
        }
        if is_new:
            self._transaction.run(_INSERT, words)
            if number * _SPREAD >> 16 & 31 == 0 or len(entry.words) + len(entry.parts) > _LARGE:
                self._transaction.run(PACK, amounts(project))
            return
        counts = entry.counts
        if self._stored(number, project, counts) == (place, *entry.columns, len(counts)):
            return
        self.delete(number, project)
        self._transaction.run(_INSERT, words)
        packed = {"terms": list(counts), "postings": _postings(number, counts)}
        self._transaction.run(_PACK_LATE, {"project": project, "document": number, "place": place, **packed})

    def delete(self, number: int, project_id: int) -> None:
        self._transaction.run(_DELETE, {"project": project_id, "document": number})

    def _stored(self, number: int, project_id: int, counts: Mapping[str, int]) -> Row | None:
        """Return the stored place, length, marks, words and parts of a document, and how many postings match."""
        values = {"project": project_id, "document": number, "size": len(counts)}
        return self._transaction.one(_STORED, {**values, "terms": list(counts), "postings": _postings(number, counts)})

    def tokens(self, text: str) -> list[tuple[int, int, str]]:
        words: Any = _TOKENIZER.tokenizer(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False)
        return [(start, end, word) for start, end, word in words]

    def holds(self, number: int, project_id: int, text: str) -> bool:
        """Return whether the words of a text are indexed, and the postings of the first ones."""
        entry = _IndexEntry(text)
        sample = dict(islice(entry.counts.items(), _SAMPLE_WORDS))
        row = self._stored(number, project_id, sample)
        return row is not None and row[1:] == (*entry.columns, len(sample))

    def fingerprints(self) -> dict[int, int]:
        hashes: dict[int, int] = {}
        packed: dict[int, int] = dict(self._transaction.all("SELECT project_id, last FROM documents_packing"))
        for (project,) in self._transaction.all("SELECT id FROM projects ORDER BY id"):
            for document, place, length, bits, words, parts in self._steps(
                "SELECT document, place, length, marks, words, parts FROM documents_words",
                "document",
                (0,),
                project,
                _PER_STEP,
            ):
                number = hash((project, length, bits, words, parts))
                if document > packed.get(project, 0):
                    number += _postings_hash(place, _counts(length, words, parts))
                hashes[document] = hashes.get(document, 0) + number
            for term, _, postings, places in self._steps(
                "SELECT term, first, postings, places FROM documents_packed",
                "term, first",
                ("", -1),
                project,
                _BLOCKS_PER_STEP,
            ):
                for posting, place in zip(postings, places, strict=True):
                    document = posting >> 32
                    hashes[document] = hashes.get(document, 0) + hash((term, place, posting & 0xFFFF_FFFF))
        return hashes

    def fingerprint(self, document: Document) -> int:
        entry = _IndexEntry(document.text)
        place = place_number(document.run_id, document.kind, document.type)
        return hash((document.project_id, *entry.columns)) + _postings_hash(place, entry.counts)

    def _steps(
        self, selection: str, order: str, first: tuple[object, ...], project: int, most: int
    ) -> Iterable[Sequence[Any]]:
        """Yield every row of a project in batches, in the order of the first columns, which are unique."""
        after = first
        names = [f"after{place}" for place in range(len(first))]
        sql = (
            f"{selection} WHERE project_id = :project AND ({order}) > ({', '.join(f':{name}' for name in names)}) "
            f"ORDER BY {order} LIMIT {most}"
        )
        while True:
            rows = self._transaction.all(sql, {"project": project, **dict(zip(names, after, strict=True))})
            yield from rows
            if len(rows) < most:
                return
            after = rows[-1][: len(first)]

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
        """Return whether each packed posting is of a packed document that contains the word."""
        row = self._transaction.one(
            """
            SELECT 1 FROM (SELECT project_id, term, unnest(postings) >> 32 AS document FROM documents_packed) AS p
            LEFT JOIN documents_packing l ON l.project_id = p.project_id
            LEFT JOIN documents_words w ON w.project_id = p.project_id AND w.document = p.document
            WHERE w.document IS NULL OR w.document > coalesce(l.last, 0)
                OR strpos(w.words || w.parts, ' ' || p.term || ' ') = 0
            LIMIT 1
            """
        )
        return row is None

    def empty(self) -> None:
        for table in ("documents_words", "documents_packed", "documents_packing"):
            self._transaction.run(f"DELETE FROM {table}")

    def remove_unknown(self) -> int:
        unknown = self._transaction.all(
            """
            SELECT document, project_id FROM documents_words w
            WHERE NOT EXISTS (SELECT 1 FROM documents d WHERE d.id = w.document AND d.project_id = w.project_id)
            """
        )
        for document, project in unknown:
            self.delete(document, project)
        return len(unknown)

    def pack(self) -> bool:
        """Pack one batch in one of the projects, and return whether there was any."""
        projects = self._transaction.all("SELECT id FROM projects ORDER BY id")
        return any(self._transaction.one(PACK, amounts(project)) for (project,) in projects)

    def optimize(self) -> None:
        """Do nothing: VACUUM removes deleted text, but cannot run in a transaction."""


def _postings(document: int, counts: Mapping[str, int]) -> list[int]:
    return [(document << 32) + count for count in counts.values()]


def _postings_hash(place: int, counts: Mapping[str, int]) -> int:
    """Return the hash of a document's postings."""
    return sum(hash((term, place, count)) for term, count in counts.items())
