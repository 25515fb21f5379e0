"""Looking into the full-text index on PostgreSQL: few statements, whose text is the same for other values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from struct import Struct

from satchel.base.records import dataclass
from satchel.find import search
from satchel.find.conditions import Condition, Every, Without, terms_of
from satchel.find.exact import Term
from satchel.find.index_postgres import LONGEST, MOST_TYPES, joined, kind_number, stems
from satchel.find.kind import Kind
from satchel.find.scoring import Matched
from satchel.find.search import Scope
from satchel.store.transaction import Transaction

_POSTING = Struct(">iI")
_POSTINGS = "string_agg(int4send(document) || int4send(counts), '')"

_BITS_OF_TEXT = 0xFF00
_MOST = 2**62

_LEAST_OF_RAREST = 2_000
"""Words of a phrase that are in more documents are as common as each other."""

Found = dict[int, int]
"""The documents that hold a term, each with its length and counts; see :mod:`satchel.find.index_postgres`."""


@dataclass(frozen=True, slots=True)
class _Sought:
    """A term as it is looked for.

    Attributes:
        words: as they stand in the postings.
        is_prefix: whether a word that begins as the last one does is meant too.
        in_text: whether only the text is looked at.
    """

    words: tuple[str, ...]
    is_prefix: bool
    in_text: bool

    @staticmethod
    def of(term: Term) -> _Sought:
        """Return how a term is looked for."""
        words = stems(" ".join(term.words))
        if term.prefix and words:
            words[-1] = words[-1][:LONGEST]
        return _Sought(tuple(words), term.prefix, term.in_text)

    @property
    def is_word(self) -> bool:
        """Whether it is a single whole word."""
        return len(self.words) == 1 and not self.is_prefix

    @property
    def text(self) -> str:
        """What the words of a document hold where they hold the phrase."""
        text = joined(self.words)
        return text[:-1] if self.is_prefix else text

    @property
    def may_overlap(self) -> bool:
        """Whether one occurrence may begin in another."""
        size = len(self.words)
        return self.is_prefix or any(self.words[:part] == self.words[size - part :] for part in range(1, size))


class ScopedPostgresIndex:
    """The index of what a scope holds; see :class:`satchel.find.index.ScopedIndex`."""

    def __init__(self, transaction: Transaction, scope: Scope, population: int | None) -> None:
        self._transaction = transaction
        self._scope = scope
        self._given = population
        self._known: dict[Term, _Sought] = {}
        self._others: dict[_Sought, Found] = {}

    @cached_property
    def _place(self) -> tuple[int, int, int]:
        """The population, and the first and last document of the run."""
        run = self._scope.run_id
        sql = "SELECT (SELECT documents FROM projects WHERE id = :project)"
        if run is not None:
            sql += """
                , (SELECT count(*) FROM (SELECT 1 FROM documents WHERE run_id = :run LIMIT :most) AS counted),
                (SELECT min(id) FROM documents WHERE run_id = :run), (SELECT max(id) FROM documents WHERE run_id = :run)
            """
        most = search.SMALL + 1 if self._given is None else 0
        row = self._transaction.one(sql, {"project": self._scope.project_id, "run": run, "most": most})
        of_project, of_run, first, last = (*(row or (0,)), None, 0, 0)[:4]
        population = of_run if of_run is not None and of_run <= search.SMALL else of_project
        return int(population or 0), first or 0, last or 0

    @property
    def population(self) -> int:
        """How many documents there are to choose from: those of the run where they are few, else the project's."""
        return self._place[0] if self._given is None else self._given

    @cached_property
    def _within(self) -> tuple[str, dict[str, object]]:
        """What postings of the scope meet, as SQL over ``documents_postings p``, with its parameters."""
        scope = self._scope
        values: dict[str, object] = {"of_project": scope.project_id}
        asked = ["p.project_id = :of_project"]
        if scope.run_id is not None:
            _, first, last = self._place
            asked.append("p.document BETWEEN :of_first AND :of_last AND p.run_id = :of_run")
            values |= {"of_run": scope.run_id, "of_first": first, "of_last": last}
        if scope.types:
            asked.append("p.kind = ANY (CAST(:of_kinds AS smallint[]))")
            values["of_kinds"] = [kind_number(kind, number) for kind, number in scope.types]
        elif scope.kinds and len(scope.kinds) < len(Kind):
            asked.append(f"p.kind / {MOST_TYPES} = ANY (CAST(:of_kinds AS smallint[]))")
            values["of_kinds"] = [kind.number for kind in scope.kinds]
        return " AND ".join(asked), values

    def counts(self, terms: Sequence[Term], most: int) -> list[int]:
        """Return how many documents hold each term, counted no further than so many."""
        within, values = self._within
        sought = [self._sought(term) for term in terms]
        words = [one for one in sought if one.is_word]
        found = [0] * len(terms)
        if words:
            rows = self._transaction.all(
                f"""
                SELECT t.place, count(*) FROM unnest(CAST(:of_terms AS text[]), CAST(:of_texts AS integer[]))
                    WITH ORDINALITY AS t (term, in_text, place)
                CROSS JOIN LATERAL (
                    SELECT 1 FROM documents_postings p
                    WHERE {within} AND p.term = t.term AND p.counts & t.in_text <> 0 LIMIT :of_most
                ) AS f GROUP BY t.place
                """,
                {**values, **_listed(words), "of_most": most},
            )
            places = [place for place, one in enumerate(sought) if one.is_word]
            for place, count in rows:
                found[places[place - 1]] = count
        if len(words) < len(terms):
            others = self._postings([one for one in sought if not one.is_word], _MOST)
            for place, one in enumerate(sought):
                if not one.is_word:
                    found[place] = min(most, len(others[one]))
        return found

    def holding(self, terms: Sequence[Term], most: int) -> list[int]:
        """Return the documents that hold any of some terms, the newest first, at most so many."""
        found = self._postings([self._sought(term) for term in terms], most)
        return sorted(set().union(*found.values()), reverse=True)[:most]

    def matches(
        self, terms: Sequence[Term], choosing: Sequence[Term], condition: Condition | None, most: int, *, newest: bool
    ) -> list[Matched]:
        """Return documents that match and pass every filter, with how often they hold each term, the newest first."""
        sought = [self._sought(term) for term in terms]
        if condition is not None:
            every = [self._sought(term) for term in terms_of(condition)]
            found = self._postings([*sought, *every], _MOST)
            documents = self._passing(self._meeting(condition, found), most, newest=newest)
            return _matched(sought, found, documents)
        # in a small scope hardly anything is cut off, and filters are asked once for what holds any of the terms
        chosen = [self._sought(term) for term in choosing] or sought
        found = self._postings(chosen, most if newest else _MOST, is_filtered=newest)
        is_filtered = newest and all(one.is_word for one in chosen)
        documents = self._passing(set().union(*found.values()), most, newest=newest, is_filtered=is_filtered)
        if choosing:
            found = self._counted(sought, documents)
        return _matched(sought, found, documents)

    def _sought(self, term: Term) -> _Sought:
        if term not in self._known:
            self._known[term] = _Sought.of(term)
        return self._known[term]

    def _postings(self, sought: Sequence[_Sought], most: int, *, is_filtered: bool = False) -> dict[_Sought, Found]:
        """Return where each of some terms is: all of it, or of a single word at least the newest so many.

        Args:
            is_filtered: whether single words are looked for only in what passes the filters of the scope.
        """
        found: dict[_Sought, Found] = {one: {} for one in sought}
        words = [one for one in found if one.is_word]
        if words:
            within, values = self._within
            asked, given = search.filters(self._scope) if is_filtered else ("", {})
            joined_with = "JOIN documents d ON d.id = p.document" if asked else ""
            rows = self._transaction.all(
                f"""
                SELECT t.place, {_POSTINGS} FROM unnest(CAST(:of_terms AS text[]), CAST(:of_texts AS integer[]))
                    WITH ORDINALITY AS t (term, in_text, place)
                CROSS JOIN LATERAL (
                    SELECT p.document, p.counts FROM documents_postings p {joined_with}
                    WHERE {within} AND p.term = t.term AND p.counts & t.in_text <> 0
                        {f"AND {asked}" if asked else ""}
                    {"ORDER BY p.document DESC LIMIT :of_most" if most < _MOST else ""}
                ) AS f GROUP BY t.place
                """,
                {**given, **values, **_listed(words), "of_most": most},
            )
            for place, postings in rows:
                found[words[place - 1]] = dict(_POSTING.iter_unpack(postings))
        new = [one for one in found if not one.is_word and one not in self._others]
        self._others |= {one: {} for one in new}
        prefixes = [one for one in new if len(one.words) == 1]
        phrases = [one for one in new if len(one.words) > 1]
        if prefixes:
            self._find_prefixes(prefixes)
        if phrases:
            self._find_phrases(phrases)
        return {one: self._others.get(one, documents) for one, documents in found.items()}

    def _find_prefixes(self, prefixes: Sequence[_Sought]) -> None:
        """Look for words that begin with others: a document counts all of those that it holds."""
        within, values = self._within
        rows = self._transaction.all(
            f"""
            SELECT t.place, {_POSTINGS} FROM unnest(CAST(:of_terms AS text[]), CAST(:of_texts AS integer[]))
                WITH ORDINALITY AS t (term, in_text, place)
            JOIN documents_postings p ON {within} AND p.term >= t.term AND p.term < t.term || chr(1114111)
                AND p.counts & t.in_text <> 0
            GROUP BY t.place
            """,
            {**values, **_listed(prefixes)},
        )
        for place, postings in rows:
            documents = self._others[prefixes[place - 1]]
            for document, counts in _POSTING.iter_unpack(postings):
                documents[document] = _added(documents.get(document, 0), counts)

    def _find_phrases(self, phrases: Sequence[_Sought]) -> None:
        """Look for words that follow each other, in the words of the documents that hold the rarest of them."""
        within, values = self._within
        rows = self._transaction.all(
            f"""
            SELECT t.place, w.document, p.counts,
                (length(w.words) - length(replace(w.words, t.text, ''))) / length(t.text),
                (length(w.parts) - length(replace(w.parts, t.text, ''))) / length(t.text),
                CASE WHEN t.may_overlap = 1 THEN w.words END, CASE WHEN t.may_overlap = 1 THEN w.parts END
            FROM unnest(CAST(:of_phrases AS text[]), CAST(:of_words AS text[]), CAST(:of_overlaps AS integer[]))
                WITH ORDINALITY AS t (text, words, may_overlap, place)
            CROSS JOIN LATERAL (
                SELECT s.term FROM unnest(string_to_array(t.words, ' ')) AS s (term)
                ORDER BY (
                    SELECT count(*) FROM (
                        SELECT 1 FROM documents_postings p WHERE {within} AND p.term = s.term LIMIT {_LEAST_OF_RAREST}
                    ) AS counted
                )
                LIMIT 1
            ) AS rarest
            JOIN documents_postings p ON {within} AND p.term = rarest.term
            JOIN documents_words w ON w.project_id = :of_project AND w.document = p.document
                AND (strpos(w.words, t.text) > 0 OR strpos(w.parts, t.text) > 0)
            """,
            {
                **values,
                "of_phrases": [one.text for one in phrases],
                # a word that only begins so has no postings of its own
                "of_words": [" ".join(one.words[:-1] if one.is_prefix else one.words) for one in phrases],
                "of_overlaps": [int(one.may_overlap) for one in phrases],
            },
        )
        for place, document, counts, in_text, in_parts, words, parts in rows:
            one = phrases[place - 1]
            counted = (in_text, in_parts)
            if one.may_overlap:
                counted = (_occurrences(one.text, words), _occurrences(one.text, parts))
            own, of_parts = (min(count, 255) for count in counted)
            if own or (of_parts and not one.in_text):
                self._others[one][document] = (counts & 0xFFFF_0000) + (own << 8) + of_parts

    def _counted(self, sought: Sequence[_Sought], documents: Sequence[int]) -> dict[_Sought, Found]:
        """Return where each of some terms is among some documents.

        Without ``OFFSET 0`` every posting of the words is read: 2.7 ms where 80 documents took 0.3.
        """
        words = list(dict.fromkeys(one for one in sought if one.is_word))
        others = [one for one in sought if not one.is_word]
        found = self._postings(others, _MOST) if others else {}
        found |= {one: {} for one in words}
        if words and documents:
            rows = self._transaction.all(
                f"""
                SELECT t.place, {_POSTINGS} FROM unnest(CAST(:of_terms AS text[]), CAST(:of_texts AS integer[]))
                    WITH ORDINALITY AS t (term, in_text, place)
                CROSS JOIN LATERAL (
                    SELECT p.document, p.counts FROM documents_postings p
                    WHERE p.project_id = :of_project AND p.term = t.term AND p.counts & t.in_text <> 0
                        AND p.document = ANY (CAST(:of_documents AS integer[]))
                    OFFSET 0
                ) AS f GROUP BY t.place
                """,
                {"of_project": self._scope.project_id, **_listed(words), "of_documents": list(documents)},
            )
            for place, postings in rows:
                found[words[place - 1]] = dict(_POSTING.iter_unpack(postings))
        return found

    def _passing(self, documents: set[int], most: int, *, newest: bool, is_filtered: bool = False) -> list[int]:
        """Return which of some documents pass the filters of the scope, at most so many, the newest first.

        Args:
            is_filtered: whether they all do.
        """
        asked, values = ("", {}) if is_filtered else search.filters(self._scope)
        passing = sorted(documents, reverse=newest)
        if asked and documents:
            rows = self._transaction.all(
                f"""
                SELECT d.id FROM documents d
                WHERE d.project_id = :of_project AND d.id = ANY (CAST(:of_documents AS bigint[])) AND {asked}
                """,
                {**values, "of_project": self._scope.project_id, "of_documents": passing},
            )
            kept = {row[0] for row in rows}
            passing = [document for document in passing if document in kept]
        passing = passing[:most]
        return passing if newest else passing[::-1]

    def _meeting(self, condition: Condition, found: Mapping[_Sought, Found]) -> set[int]:
        """Return the documents that meet a condition."""
        if isinstance(condition, Term):
            return set(found[self._sought(condition)])
        if isinstance(condition, Without):
            return self._meeting(condition.kept, found) - self._meeting(condition.excluded, found)
        parts = [self._meeting(part, found) for part in condition.parts]
        return set.intersection(*parts) if isinstance(condition, Every) else set().union(*parts)


def _listed(words: Sequence[_Sought]) -> dict[str, object]:
    """Return single words as parameters, with the bits of which one must be set in the counts."""
    return {
        "of_terms": [one.words[0] for one in words],
        "of_texts": [_BITS_OF_TEXT if one.in_text else 0xFFFF for one in words],
    }


def _added(one: int, other: int) -> int:
    """Return the counts of two words of one document together."""
    in_text = min(255, (one >> 8 & 255) + (other >> 8 & 255))
    return (other & 0xFFFF_0000) + (in_text << 8) + min(255, (one & 255) + (other & 255))


def _occurrences(phrase: str, words: str) -> int:
    """Return how often a phrase is in words, also where one occurrence begins in another."""
    count = 0
    place = words.find(phrase)
    while place >= 0:
        count += 1
        place = words.find(phrase, place + 1)
    return count


def _matched(sought: Sequence[_Sought], found: Mapping[_Sought, Found], documents: Iterable[int]) -> list[Matched]:
    """Return documents as the scoring wants them."""
    size = len(sought)
    totals = dict.fromkeys(documents, 0)
    top = 16 * size
    for place, one in enumerate(sought):
        shift = 16 * (size - place - 1)
        bits = _BITS_OF_TEXT if one.in_text else 0xFFFF
        for document, counts in found[one].items():
            if document in totals:
                totals[document] |= (counts >> 16) << top | (counts & bits) << shift
    return [(document, total.to_bytes(2 * size + 2, "big")) for document, total in totals.items()]
