"""The full-text index on PostgreSQL: the words of each document in order, behind a GIN index."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import blake2b, sha256
from itertools import accumulate, chain, repeat, takewhile
from math import log
from typing import TYPE_CHECKING

from satchel.base.records import dataclass
from satchel.find import scopes, stemming
from satchel.find.kind import Kind
from satchel.find.scopes import Condition, Either, Every, Scope, Term, expression, terms_of
from satchel.find.scoring import K1, B, Matched, Matches
from satchel.find.words import parts_text
from satchel.store.postgres.schema import BUCKET_BITS, LEXEMES
from satchel.store.transaction import Row, Transaction, put_rows, set_of

if TYPE_CHECKING:
    from satchel.find.documents import Document

# longer words are cut to this length and get a digest, because a lexeme of PostgreSQL has less than 2 KB; longer
# prefixes are only cut
LONGEST = 256
# an upper bound of the types of a kind
MOST_TYPES = 256

_INDEXED, _STORED = "SELECT document, project_id FROM documents_words", "SELECT id, project_id FROM documents"
_UNKNOWN = f"{_INDEXED} EXCEPT {_STORED}"

_OF_ONE = "FROM documents_words WHERE project_id = :project AND document = :document"

_LONG = 20_000
# a tsvector has at most 1 MB of different words, each with project and bucket in front; a text is cut there
_MOST_BYTES = 1_000_000
_PREFIX_BYTES = 20


def stems(text: str) -> list[str]:
    return [word if len(word) <= LONGEST else _shortened(word) for word in stemming.stems(text)]


def joined(words: Iterable[str]) -> str:
    """Return words joined so that no two occurrences of a phrase share a space."""
    return "".join(f" {word} " for word in words)


def place_number(run: int | None, kind: Kind, item_type: int | None) -> int:
    """Return a number for a run (0 for none), a kind, and a type within it."""
    return ((run or 0) << 16) + kind.number * MOST_TYPES + (item_type or 0)


def _shortened(word: str) -> str:
    return word[:LONGEST] + blake2b(word.encode(), digest_size=16).hexdigest()


def _entry(text: str) -> tuple[int, str, str]:
    words, parts = stems(text), stems(parts_text(text))
    if len(text) > _LONG:
        different = list(dict.fromkeys([*words, *parts]))
        sizes = accumulate(len(word.encode()) + _PREFIX_BYTES for word in different)
        fitting = {word for word, size in zip(different, sizes, strict=True) if size <= _MOST_BYTES}
        words, parts = ([*takewhile(fitting.__contains__, all_words)] for all_words in (words, parts))
    return min(len(words), 65_535), joined(words), joined(parts)


def _row(document: Document) -> dict[str, object]:
    length, words, parts = _entry(document.text)
    place = place_number(document.run_id, document.kind, document.type)
    return {"project_id": document.project_id, "place": place, "length": length, "words": words, "parts": parts}


class PostgresIndex:
    """The index of a store on PostgreSQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def insert(self, number: int, document: Document) -> None:
        row = {**_row(document), "document": number}
        put_rows(self._transaction, "documents_words", ("project_id", "document"), [row])

    def delete(self, number: int, project_id: int) -> None:
        self._transaction.run(f"DELETE {_OF_ONE}", {"project": project_id, "document": number})

    def fingerprints(self, documents: Sequence[int] | None = None) -> dict[int, int]:
        entry = "concat_ws(' ', project_id, place, length, words, parts)"
        some = "" if documents is None else f" WHERE document IN {set_of(documents)}"
        rows = self._transaction.all(f"SELECT document, sha256(convert_to({entry}, 'UTF8')) FROM documents_words{some}")
        return {document: hash(digest) for document, digest in rows}

    def fingerprint(self, document: Document) -> int:
        return hash(sha256(" ".join(map(str, _row(document).values())).encode()).digest())

    def mismatches(self) -> tuple[list[Row], list[Row]]:
        return self._transaction.all(f"{_STORED} EXCEPT {_INDEXED}"), self._transaction.all(_UNKNOWN)

    def is_sound(self) -> bool:
        """Return True: PostgreSQL keeps its own index in step with the table."""
        return True

    def empty(self) -> None:
        self._transaction.run("DELETE FROM documents_words")

    def remove_unknown(self) -> None:
        self._transaction.run(f"DELETE FROM documents_words WHERE (document, project_id) IN ({_UNKNOWN})")

    def optimize(self) -> None:
        """Do nothing: VACUUM removes deleted text, but cannot run in a transaction."""


# no word of a document contains this
_NOWHERE = "-"
# most terms whose presence one number tells
_BITS = 63

_TEXTS = """
    SELECT document, length, words, parts, 0 FROM documents_words
    WHERE project_id = :of_project AND document = ANY (ARRAY ({}))
"""


@dataclass(frozen=True, slots=True)
class _IndexTerm:
    words: tuple[str, ...]
    text: str
    is_prefix: bool
    in_text: bool

    @staticmethod
    def of(term: Term) -> _IndexTerm:
        words = stems(" ".join(term.words))
        if term.prefix and words:
            words[-1] = words[-1][:LONGEST]
        text = joined(words)
        return _IndexTerm(tuple(words), (text[:-1] if term.prefix else text) or _NOWHERE, term.prefix, term.in_text)

    @property
    def lexemes(self) -> str:
        lexemes = [f"'?{word}'" for word in self.words or (_NOWHERE,)]
        if self.is_prefix:
            lexemes[-1] += ":*"
        return f"({' & '.join(lexemes)})"

    @property
    def is_exact(self) -> bool:
        return len(self.words) < 2 and not self.in_text

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Return how often it is in each text, up to 255, also where one occurrence begins in another."""
        if len(self.words) < 2:
            counts = list(map(str.count, texts, repeat(self.text)))
        else:
            counts = list(map(len, map(re.compile(f"(?={re.escape(self.text)})").findall, texts)))
        return counts if max(counts) < 256 else [min(count, 255) for count in counts]


class ScopedPostgresIndex:
    """The index of one scope in a PostgreSQL store."""

    may_read_best = True

    def __init__(self, transaction: Transaction, scope: Scope, population: int | None, best: int | None) -> None:
        self._transaction = transaction
        self._scope = scope
        of_run = "" if scope.run_id is None else "WHERE run_id = :run"
        # the documents of a run are close together
        first_and_last = f"SELECT (SELECT min(id) FROM documents {of_run}), (SELECT max(id) FROM documents {of_run})"
        ends = transaction.ask(first_and_last, {"run": scope.run_id})
        self.population = scopes.population_of(transaction, scope) if population is None else population
        self._ends = ends.one() or (None, None)
        self._counts: dict[Term, int] = {}
        self._best = best

    @cached_property
    def _conditions(self) -> tuple[str, dict[str, object]]:
        scope = self._scope
        run, (first, last) = scope.run_id, self._ends
        values: dict[str, object] = {"of_first": first or 1, "of_last": last or 0, "of_project": scope.project_id}
        place = "w.place & 65535" if run is None else "w.place"
        ranges = [(place_number(run, kind, number),) * 2 for kind, number in scope.types] or [
            (place_number(run, kind, 0), place_number(run, kind, MOST_TYPES - 1)) for kind in scope.kinds
        ]
        if run is not None and not ranges:
            ranges = [(run << 16, (run + 1 << 16) - 1)]
        # two comparisons of each row are faster than taking the run and the kind out of its number
        within = " OR ".join(f"{place} BETWEEN :of_from{at} AND :of_to{at}" for at in range(len(ranges)))
        for at, (lowest, highest) in enumerate(ranges):
            values |= {f"of_from{at}": lowest, f"of_to{at}": highest}
        return f" AND ({within})" if ranges else "", values

    def counts(self, terms: Sequence[Term], most: int) -> list[int]:
        queries = [self._query(term, most) for term in terms]
        counts = [self._transaction.ask(f"SELECT count(*) FROM ({sql}) AS counted", values) for sql, values in queries]
        self._counts |= {term: rows.all()[0][0] for term, rows in zip(terms, counts, strict=True)}
        return [self._counts[term] for term in terms]

    def documents(self, condition: Condition, most: int, *, newest: bool = True, filtered: bool = False) -> list[int]:
        return [row[0] for row in self._transaction.all(*self._query(condition, most, newest, filtered=filtered))]

    def matches(
        self, terms: Sequence[Term], choosing: Sequence[Term], condition: Condition | None, most: int, *, newest: bool
    ) -> Matches:
        selecting = condition or Either(tuple(choosing or terms))
        candidates, values = self._query(selecting, most, newest, filtered=True)
        # sorting numbers and then reading their texts takes a third less than sorting the texts
        sql = _TEXTS.format(f"SELECT document FROM ({candidates}) AS candidates")
        is_worth_it = self._best is not None and 2 * self._best < most and 1 < len(terms) < _BITS
        if newest and is_worth_it and condition is None and all(term in self._counts for term in terms):
            sql = self._texts_of_best(candidates, terms, selecting, values)
        rows = sorted(self._transaction.all(sql, values), reverse=True)
        unread: Counter[bytes] = Counter()
        for mask, length, *_, number in rows:
            if number:
                counts = (mask >> at & 1 for at in range(len(terms)))
                unread[bytes([*divmod(length, 256), *chain.from_iterable((count, 0) for count in counts)])] += number
        return Matches(_counted([*map(_IndexTerm.of, terms)], [row[:4] for row in rows if not row[4]]), unread)

    def _texts_of_best(
        self, candidates: str, terms: Sequence[Term], selecting: Condition, values: dict[str, object]
    ) -> str:
        # which documents hold a term, the index tells in a fifth of the time that counting it in their texts takes
        conditions, _ = self._conditions
        own = next((1 << at for at, term in enumerate(terms) if selecting == Either((term,))), 0)
        branches = [f"SELECT document, length, {own}::bigint AS mask, 0::float8 AS idf FROM candidates"]
        buckets = f"(SELECT :of_last >> {BUCKET_BITS}), (SELECT oldest FROM ends), -1"
        for at, term in enumerate(terms):
            if own != 1 << at:
                lexemes, idf = f"of_lexemes{at}", f"of_idf{at}"
                values[lexemes] = self._lexemes(Every((selecting, term)))
                values[idf] = log(1 + self.population / (self._counts[term] + 0.5))
                branches.append(f"""
                    SELECT w.document, NULL, {1 << at}, :{idf} FROM generate_series({buckets}) AS b (number)
                    CROSS JOIN LATERAL (
                        SELECT w.document FROM documents_words w WHERE {_contains(lexemes)} {conditions}
                    ) AS w
                """)
        values |= {"of_best": self._best, "of_plain": 1 + K1 - K1 * B, "of_long": K1 * B}
        return f"""
            WITH candidates AS MATERIALIZED ({candidates}), ends AS MATERIALIZED (
                SELECT min(document) >> {BUCKET_BITS} AS oldest, avg(length) / :of_long AS length FROM candidates
            ), graded AS MATERIALIZED (
                SELECT document, max(length) AS length, bit_or(mask) AS mask, sum(idf) AS idf
                FROM ({" UNION ALL ".join(branches)}) AS every GROUP BY document HAVING max(length) IS NOT NULL
            ), best AS MATERIALIZED (
                SELECT document FROM graded ORDER BY idf / (:of_plain + length / (SELECT length FROM ends)) DESC,
                    document DESC LIMIT (SELECT :of_best)
            )
            {_TEXTS.format("SELECT document FROM best")} UNION ALL
            SELECT mask, avg(length)::integer, '', '', count(*) FROM graded
            WHERE document NOT IN (SELECT document FROM best) GROUP BY mask
        """

    def _lexemes(self, condition: Condition, without: str | None = None) -> str:
        lexemes = expression(condition, lambda term: _IndexTerm.of(term).lexemes, " & ", " | ", without)
        return lexemes.replace("?", f"{self._scope.project_id}:?:")

    def _query(
        self, condition: Condition, most: int, newest: bool | None = None, *, filtered: bool = False
    ) -> tuple[str, dict[str, object]]:
        # None leaves the order open: sorting a bucket would read all of it, where a count ends at the limit
        conditions, of_scope = self._conditions
        values = of_scope | {"of_most": most}

        def holds_term(term: Term) -> str:
            name = f"of_text{len(values)}"
            values[name] = _IndexTerm.of(term).text
            columns = ("words",) if term.in_text else ("words", "parts")
            return f"({' OR '.join(f'strpos(w.{column}, :{name}) > 0' for column in columns)})"

        holds = expression(condition, holds_term, " AND ", " OR ", " AND NOT ")
        is_exact = all(_IndexTerm.of(term).is_exact for term in terms_of(condition))
        # what is excluded may be more than a word: then only the text tells
        values["of_lexemes"] = self._lexemes(condition, " & !" if is_exact else None)
        filters, of_filters = scopes.filters(self._scope) if filtered else ("", {})
        if filters:
            # IS TRUE keeps this from becoming a join, whose nested loop may be a hundred times as slow
            conditions += f" AND (EXISTS (SELECT 1 FROM documents d WHERE d.id = w.document AND {filters})) IS TRUE"
        order = "" if newest is None else f"ORDER BY w.document {'DESC' if newest else 'ASC'}"
        # a subquery hides its value from the planner: with known values it plans every time again
        ends = [f"(SELECT :of_first >> {BUCKET_BITS})", f"(SELECT :of_last >> {BUCKET_BITS})"]
        buckets = ", ".join([*ends, "1"] if newest is False else [*ends[::-1], "-1"])
        match = _contains("of_lexemes")
        if not is_exact:
            match += f" AND {holds}"
        # a bucket is read once those before it had too few documents
        sql = f"""
            SELECT f.* FROM generate_series({buckets}) AS b (number) CROSS JOIN LATERAL (
                SELECT w.document, w.length FROM documents_words w WHERE {match} {conditions} {order}
                LIMIT (SELECT :of_most)
            ) AS f LIMIT (SELECT :of_most)
        """
        return sql, of_filters | values


def _contains(name: str) -> str:
    return f"{LEXEMES} @@ CAST(replace(:{name}, '?', CAST(b.number AS text)) AS tsquery)"


def _counted(terms: Sequence[_IndexTerm], rows: Sequence[Row]) -> list[Matched]:
    if not rows:
        return []
    documents, lengths, words, parts = zip(*rows, strict=True)
    columns = [[length >> 8 for length in lengths], [length & 255 for length in lengths]]
    for term in terms:
        columns += (term.counts(words), [0] * len(rows) if term.in_text else term.counts(parts))
    reports = map(bytes, zip(*columns, strict=True))
    return list(zip(documents, reports, strict=True))
