"""The full-text index on PostgreSQL: the words of each document, and postings of our own in blocks.

A new document is looked for in its words. Once a project has some hundreds of those, their postings are packed; see
:mod:`satchel.store.postgres.packing`.

Words are made by FTS5's own tokenizer, in this process, so that both databases find the same. The scoring is done in
Python (:mod:`satchel.find.scoring`) from what the postings count.
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
"""A longer word is kept as its first so many characters and a digest: an index of PostgreSQL takes no row above 2.7 KB.

A prefix of more is looked for by its first so many.
"""

MOST_TYPES = 256
"""No kind has so many types."""

_SAMPLE_WORDS = 24
_PER_STEP = 50_000
_BLOCKS_PER_STEP = 1_000

_LARGE = 4_096
"""After so long a text it is asked whether packing is due; after others, where their numbers say so, one of 32."""

_MARKS = 256
"""One bit for each word tells most documents without it, so that a word takes a third of the time among new ones."""

_SPREAD = 0x9E3779B1
"""Spreads numbers: those that a project gets may all be even."""

_INSERT = """
    INSERT INTO documents_words (project_id, document, place, length, marks, words, parts)
    VALUES (:project, :document, :place, :length, :marks, :words, :parts)
"""
_BLOCK = """
    SELECT b.first, b.postings, b.places FROM documents_packed b
    WHERE b.project_id = :project AND b.term = t.term AND b.first <= :document ORDER BY b.first DESC LIMIT 1
"""
"""The block in which the posting of a document stands, of the words ``t``."""

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
# slices: to unnest a block and to aggregate it again took twice the time
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
_KEPT = f"""
    SELECT w.place, w.length, w.marks, w.words, w.parts, CASE
        WHEN w.document > coalesce((SELECT last FROM documents_packing WHERE project_id = :project), 0) THEN :size
        ELSE (
            SELECT count(*) FROM unnest(CAST(:terms AS text[]), CAST(:postings AS bigint[])) AS t (term, posting)
            CROSS JOIN LATERAL ({_BLOCK}) AS f CROSS JOIN LATERAL unnest(f.postings, f.places) AS u (posting, place)
            WHERE u.posting = t.posting AND u.place = w.place
        ) END
    FROM documents_words w WHERE w.project_id = :project AND w.document = :document
"""


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


def mark(word: str) -> int:
    """Return the bit that stands for a word in the marks of documents."""
    return crc32(word.encode()) % _MARKS


def marks(words: str, parts: str) -> bytes:
    """Return the bits of all words of a document, as PostgreSQL's ``get_bit`` counts them."""
    bits = 0
    for word in {*words.split(), *parts.split()}:
        bits |= 1 << mark(word)
    return bits.to_bytes(_MARKS // 8, "little")


def place_number(run: int | None, kind: Kind, item_type: int | None) -> int:
    """Return the number that stands for a run, 0 for none, a kind, and a type within it."""
    return ((run or 0) << 16) + kind_number(kind, item_type)


def kind_number(kind: Kind, item_type: int | None) -> int:
    """Return the number that stands for a kind and a type within it."""
    return kind.number * MOST_TYPES + (item_type or 0)


def _shortened(word: str) -> str:
    return word[:LONGEST] + blake2b(word.encode(), digest_size=16).hexdigest()


class _Indexed:
    """What the index keeps of a text.

    Attributes:
        words, parts: of the text and of the parts of its identifiers, in order.
        length: of the text in words, up to 65,535.
    """

    def __init__(self, text: str) -> None:
        words, parts = stems(text), stems(parts_text(text))
        self.words, self.parts = joined(words), joined(parts)
        self.length = min(len(words), 65_535)

    @property
    def kept(self) -> tuple[int, bytes, str, str]:
        """The length, the marks, the words and the parts."""
        return self.length, marks(self.words, self.parts), self.words, self.parts

    @property
    def counts(self) -> dict[str, int]:
        """By words: the length above 16 bits, and how often it is in the text and in the parts, each up to 255."""
        return _counts(self.length, self.words, self.parts)


def _counts(length: int, words: str, parts: str) -> dict[str, int]:
    in_text, in_parts = Counter(words.split()), Counter(parts.split())
    return {
        word: (length << 16) + (min(in_text[word], 255) << 8) + min(in_parts[word], 255)
        for word in sorted(in_text.keys() | in_parts.keys())
    }


class PostgresIndex:
    """The index of a store on PostgreSQL; see :class:`satchel.find.index.Index`."""

    __slots__ = ("_transaction",)

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def insert(self, number: int, document: Document, *, is_new: bool = False) -> None:
        """Index the text of a document, in the place of what was indexed under its number."""
        indexed, project = _Indexed(document.text), document.project_id
        place = place_number(document.run_id, document.kind, document.type)
        words = {
            "project": project,
            "document": number,
            "place": place,
            **dict(zip(("length", "marks", "words", "parts"), indexed.kept, strict=True)),
        }
        if is_new:
            self._transaction.run(_INSERT, words)
            if number * _SPREAD >> 16 & 31 == 0 or len(indexed.words) + len(indexed.parts) > _LARGE:
                self._transaction.run(PACK, amounts(project))
            return
        counts = indexed.counts
        if self._kept(number, project, counts) == (place, *indexed.kept, len(counts)):
            return
        self.delete(number, project)
        self._transaction.run(_INSERT, words)
        packed = {"terms": list(counts), "postings": _postings(number, counts)}
        self._transaction.run(_PACK_LATE, {"project": project, "document": number, "place": place, **packed})

    def delete(self, number: int, project_id: int) -> None:
        """Take one text out of the index."""
        self._transaction.run(_DELETE, {"project": project_id, "document": number})

    def _kept(self, number: int, project_id: int, counts: Mapping[str, int]) -> Row | None:
        """Return what is kept of a document: its place, length, marks, words, parts, and how many of some postings."""
        values = {"project": project_id, "document": number, "size": len(counts)}
        return self._transaction.one(_KEPT, {**values, "terms": list(counts), "postings": _postings(number, counts)})

    def tokens(self, text: str) -> list[tuple[int, int, str]]:
        """Return the words of a text as the index keeps them, stemmed, each with its first and last byte in UTF-8."""
        found: Any = _TOKENIZING.tokenizer(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False)
        return [(start, end, word) for start, end, word in found]

    def holds(self, number: int, project_id: int, text: str) -> bool:
        """Whether the index holds a text under a document's number: its words, and the postings of the first ones."""
        indexed = _Indexed(text)
        some = dict(islice(indexed.counts.items(), _SAMPLE_WORDS))
        row = self._kept(number, project_id, some)
        return row is not None and row[1:] == (*indexed.kept, len(some))

    def fingerprints(self) -> dict[int, int]:
        """Return for every document a number that stands for its words in order, and for its postings."""
        found: dict[int, int] = {}
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
                    number += _of_postings(place, _counts(length, words, parts))
                found[document] = found.get(document, 0) + number
            for term, _, postings, places in self._steps(
                "SELECT term, first, postings, places FROM documents_packed",
                "term, first",
                ("", -1),
                project,
                _BLOCKS_PER_STEP,
            ):
                for posting, place in zip(postings, places, strict=True):
                    document = posting >> 32
                    found[document] = found.get(document, 0) + hash((term, place, posting & 0xFFFF_FFFF))
        return found

    def fingerprint(self, document: Document) -> int:
        """Return the number that :meth:`fingerprints` gives for a document that is indexed as it should be."""
        indexed = _Indexed(document.text)
        place = place_number(document.run_id, document.kind, document.type)
        return hash((document.project_id, *indexed.kept)) + _of_postings(place, indexed.counts)

    def _steps(
        self, selection: str, order: str, first: tuple[object, ...], project: int, most: int
    ) -> Iterable[Sequence[Any]]:
        """Yield every row of a project, some at a time, in the order of the first columns, which tell rows apart."""
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
        """Whether each packed posting is of a word that its document holds, and of a document that is packed."""
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
        """Take every text out of the index, as before it is rebuilt."""
        for table in ("documents_words", "documents_packed", "documents_packing"):
            self._transaction.run(f"DELETE FROM {table}")

    def remove_unknown(self) -> int:
        """Take out what is not in the documents, and return how many texts that was."""
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
        """Pack what is due in one of the projects, as much as at once, and return whether there was any."""
        projects = self._transaction.all("SELECT id FROM projects ORDER BY id")
        return any(self._transaction.one(PACK, amounts(project)) for (project,) in projects)

    def optimize(self) -> None:
        """Leave it to VACUUM to remove what was deleted: it runs in no transaction."""


def _postings(document: int, counts: Mapping[str, int]) -> list[int]:
    return [(document << 32) + count for count in counts.values()]


def _of_postings(place: int, counts: Mapping[str, int]) -> int:
    """Return the number that stands for the postings of a document."""
    return sum(hash((term, place, count)) for term, count in counts.items())
