"""Reading the full-text index on PostgreSQL: few statements, whose text does not depend on the values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from struct import Struct

from satchel.base.records import dataclass, field, replace
from satchel.find import scopes
from satchel.find.conditions import Condition, Every, Term, Without, terms_of
from satchel.find.index_postgres import MOST_TYPES, kind_number
from satchel.find.index_postgres_terms import IndexTerm, Postings, added, for_scoring, occurrences
from satchel.find.kind import Kind
from satchel.find.scopes import Scope
from satchel.find.scoring import Matched
from satchel.store.transaction import Row, Transaction

_POSTING = Struct(">iI")
_AS_BYTES = "string_agg(int8send(f.posting), '')"

_MOST = 2**62

_WINDOW = 20_000
"""How many of the newest documents of a large scope are checked first for a condition."""

_READ_COST = 20
"""The cost of reading the words of a document, in packed postings."""

_TERMS = """
    unnest(CAST(:of_terms AS text[]), CAST(:of_texts AS text[]), CAST(:of_bits AS bigint[]),
        CAST(:of_marks AS integer[]))
    WITH ORDINALITY AS t (term, text, bits, mark, number)
"""
_HOLDS = "(strpos(w.words, t.text) > 0 OR (t.bits & 255 <> 0 AND strpos(w.parts, t.text) > 0))"
_MAY_HOLD = f"coalesce(get_bit(w.marks, t.mark), 1) = 1 AND {_HOLDS}"
_COUNTED = """
    least((octet_length(w.{0}) - octet_length(replace(w.{0}, t.text, ''))) / octet_length(t.text), 255)
"""
_MADE = f"""
    w.document::bigint * 4294967296 + w.length * 65536::bigint
        + {_COUNTED.format("words")} * 256 + {_COUNTED.format("parts")}
"""
"""The posting of a term, computed from the words of a document."""

_RAREST = """
    (
        SELECT s.term FROM unnest(string_to_array(t.term, ' ')) AS s (term)
        ORDER BY (
            SELECT coalesce(sum(cardinality(o.postings)), 0) FROM documents_packed o
            WHERE o.project_id = :of_project AND o.term = s.term
        )
        LIMIT 1
    ) AS r
"""


@dataclass(frozen=True, slots=True)
class _Selection:
    """The documents to read.

    Attributes:
        first, last: the range of their numbers; None for no limit.
        documents: their numbers; None for all.
        most: how many of the newest packed postings of a term are enough.
        condition: SQL over ``documents d`` that they meet, with its parameters in ``values``.
    """

    first: int | None = None
    last: int = 0
    documents: Sequence[int] | None = None
    most: int = _MOST
    condition: str = ""
    values: Mapping[str, object] = field(default_factory=dict)


class ScopedPostgresIndex:
    """The index of one scope in a PostgreSQL store."""

    def __init__(self, transaction: Transaction, scope: Scope, population: int | None) -> None:
        self._transaction = transaction
        self._scope = scope
        self._population = population
        self._known: dict[Term, IndexTerm] = {}
        self._complete: dict[IndexTerm, Postings] = {}

    @cached_property
    def _place(self) -> tuple[int, int, int]:
        """The population, and the lowest and highest possible document number."""
        run = self._scope.run_id
        if run is None:
            sql = "SELECT documents, NULL, 1, (SELECT max(id) FROM documents) FROM projects WHERE id = :project"
        else:
            sql = """
                SELECT documents,
                    (SELECT count(*) FROM (SELECT 1 FROM documents WHERE run_id = :run LIMIT :most) AS counted),
                    (SELECT min(id) FROM documents WHERE run_id = :run),
                    (SELECT max(id) FROM documents WHERE run_id = :run)
                FROM projects WHERE id = :project
            """
        most = scopes.SMALL + 1 if self._population is None else 0
        row = self._transaction.one(sql, {"project": self._scope.project_id, "run": run, "most": most})
        of_project, of_run, first, last = row or (0, None, 1, 0)
        is_few = of_run is not None and of_run <= scopes.SMALL
        return of_run if is_few else of_project, first or 1, last or 0

    @property
    def population(self) -> int:
        return self._place[0] if self._population is None else self._population

    @cached_property
    def _of_place(self) -> tuple[tuple[str, ...], dict[str, object]]:
        """The conditions of the scope on a column ``place``, with parameters."""
        scope = self._scope
        values: dict[str, object] = {}
        conditions: list[str] = []
        if scope.run_id is not None:
            conditions.append("place >> 16 = :of_run")
            values["of_run"] = scope.run_id
        if scope.types:
            conditions.append("place & 65535 = ANY (CAST(:of_kinds AS bigint[]))")
            values["of_kinds"] = [kind_number(kind, number) for kind, number in scope.types]
        elif scope.kinds and len(scope.kinds) < len(Kind):
            conditions.append(f"place / {MOST_TYPES} & {MOST_TYPES - 1} = ANY (CAST(:of_kinds AS bigint[]))")
            values["of_kinds"] = [kind.number for kind in scope.kinds]
        return tuple(conditions), values

    def _selection(self, most: int = _MOST) -> _Selection:
        _, first, last = self._place
        return _Selection(None if self._scope.run_id is None else first, last, most=most)

    def counts(self, terms: Sequence[Term], most: int) -> list[int]:
        index_terms = [self._index_term(term) for term in terms]
        words = list(dict.fromkeys(one for one in index_terms if one.is_word))
        counted = {
            one: len(postings)
            for one, postings in self._postings([*{*index_terms} - {*words}], self._selection(most)).items()
        }
        if words:
            selection = self._selection(most)
            if selection.first is None and not self._of_place[0] and not any(one.in_text for one in words):
                packed = """
                    SELECT cardinality(p.postings) FROM documents_packed p
                    WHERE p.project_id = :of_project AND p.term = t.term
                """
            else:
                packed = f"SELECT count(*) FROM ({self._packed(selection)}) AS c"
            fresh = f"SELECT count(*) FROM (SELECT 1 FROM read w WHERE {_MAY_HOLD}) AS c"
            rows = self._ask(words, selection, f"{packed} UNION ALL {fresh}", "sum(f.posting)")
            counted |= {words[number - 1]: count for number, count in rows}
        return [min(counted.get(one, 0), most) for one in index_terms]

    def holding(self, terms: Sequence[Term], most: int) -> list[int]:
        postings = self._postings([self._index_term(term) for term in terms], self._selection(most))
        return sorted(set().union(*postings.values()), reverse=True)[:most]

    def matches(
        self, terms: Sequence[Term], choosing: Sequence[Term], condition: Condition | None, most: int, *, newest: bool
    ) -> list[Matched]:
        index_terms = [self._index_term(term) for term in terms]
        if condition is not None:
            return self._meeting(index_terms, condition, most, newest=newest)
        # in a small scope little is cut off, so the filters are applied once to the documents with any term
        selecting = [self._index_term(term) for term in choosing] or index_terms
        selection = self._selection()
        if newest:
            filters, values = scopes.filters(self._scope)
            selection = replace(selection, most=most, condition=filters, values=values)
        postings = self._postings(selecting, selection)
        documents = self._passing(set().union(*postings.values()), most, newest=newest)
        if choosing:
            postings = self._postings(index_terms, _Selection(documents=documents))
        return for_scoring(index_terms, postings, documents)

    def _meeting(
        self, index_terms: Sequence[IndexTerm], condition: Condition, most: int, *, newest: bool
    ) -> list[Matched]:
        """Return documents that meet a condition; in a large scope in windows, from the newest."""
        every = [*index_terms, *(self._index_term(term) for term in terms_of(condition))]
        _, first, last = self._place
        size = _WINDOW if newest else last - first + 1
        matched: list[Matched] = []
        while first <= last and len(matched) < most:
            low = max(first, last - size + 1)
            postings = self._postings(every, _Selection(low, last))
            candidates = {document for document in self._of(condition, postings) if low <= document <= last}
            documents = self._passing(candidates, most - len(matched), newest=newest)
            matched += for_scoring(index_terms, postings, documents)
            last -= size
            size *= 4
        return matched

    def _index_term(self, term: Term) -> IndexTerm:
        if term not in self._known:
            self._known[term] = IndexTerm.of(term)
        return self._known[term]

    def _postings(self, terms: Sequence[IndexTerm], selection: _Selection) -> dict[IndexTerm, Postings]:
        postings = {one: self._complete.get(one, {}) for one in terms}
        unread = [one for one in postings if one.words and one not in self._complete]
        documents = selection.documents
        if documents is not None and len(documents) * _READ_COST < self.population:
            self._read_postings(unread, selection, "", postings)
        else:
            words = [one for one in unread if one.is_word]
            self._read_postings(words, selection, self._packed(selection), postings)
            prefixes = [one for one in unread if one.is_prefix and len(one.words) == 1]
            begun = "p.term >= t.term AND p.term < t.term || chr(1114111)"
            self._read_postings(prefixes, selection, self._packed(replace(selection, most=_MOST), term=begun), postings)
            phrases = [one for one in unread if len(one.words) > 1]
            self._read_postings(
                phrases, selection, "" if documents is not None else self._packed(selection, is_phrase=True), postings
            )
        if selection == self._selection(selection.most):
            self._complete |= {one: postings[one] for one in unread if len(postings[one]) < selection.most}
        return postings

    def _read_postings(
        self, terms: Sequence[IndexTerm], selection: _Selection, packed: str, results: dict[IndexTerm, Postings]
    ) -> None:
        """Add the postings of terms, from the SQL for packed ones and from unpacked words."""
        if not terms:
            return
        read = f"SELECT {_MADE} FROM read w WHERE {_MAY_HOLD}"
        both = f"({packed}) UNION ALL {read}" if packed else read
        for number, postings in self._ask(terms, selection, both, _AS_BYTES, reads_packed=not packed):
            term = terms[number - 1]
            documents = results[term]
            if term.is_prefix and len(term.words) == 1:
                # a document counts all words with the prefix
                for document, counts in _POSTING.iter_unpack(postings):
                    documents[document] = added(documents.get(document, 0), counts)
            else:
                documents.update(_POSTING.iter_unpack(postings))
            if term.may_overlap and len(term.words) > 1:
                self._count_overlapping(term, documents)

    def _ask(
        self,
        terms: Sequence[IndexTerm],
        selection: _Selection,
        postings: str,
        aggregate: str,
        *,
        reads_packed: bool = False,
    ) -> list[Row]:
        """Aggregate the postings of each term.

        ``postings`` is SQL for the postings of a term ``t``, in which ``read`` has the words of documents that are not
        packed, or with ``reads_packed`` of all. ``aggregate`` is the result for each term.
        """
        conditions, of_place = self._of_place
        values: dict[str, object] = {
            **selection.values,
            **of_place,
            "of_project": self._scope.project_id,
            "of_most": selection.most,
            "of_terms": [item.listed for item in terms],
            "of_texts": [item.text for item in terms],
            "of_bits": [item.bits for item in terms],
            "of_marks": [item.mark for item in terms],
        }
        which = ["w.project_id = :of_project", *(f"w.{item}" for item in conditions)]
        if not reads_packed:
            which.append(
                "w.document > coalesce((SELECT last FROM documents_packing WHERE project_id = :of_project), 0)"
            )
        if selection.documents is not None:
            which.append("w.document = ANY (CAST(:of_documents AS integer[]))")
            values["of_documents"] = selection.documents
        if selection.first is not None:
            which.append("w.document BETWEEN :of_first AND :of_last")
            values |= {"of_first": selection.first, "of_last": selection.last}
        return self._transaction.all(
            f"""
            WITH read AS MATERIALIZED (
                SELECT w.document, w.length, w.marks, w.words, w.parts FROM documents_words w
                WHERE {" AND ".join(which)}
            )
            SELECT t.number, {aggregate} FROM {_TERMS} CROSS JOIN LATERAL ({postings}) AS f (posting) GROUP BY t.number
            """,
            values,
        )

    def _packed(self, selection: _Selection, *, term: str = "p.term = t.term", is_phrase: bool = False) -> str:
        """Return SQL for the packed postings of a term.

        ``term`` is SQL over ``documents_packed p`` and the term ``t``. A phrase is searched for in the documents that
        contain its rarest word.
        """
        conditions, _ = self._of_place
        word = "r.term" if is_phrase else "t.term"
        blocks = ["p.project_id = :of_project", f"p.term = {word}" if is_phrase else term]
        postings_conditions = [_HOLDS if is_phrase else "u.posting & t.bits <> 0", *(f"u.{one}" for one in conditions)]
        if selection.first is not None:
            blocks.append("p.first <= :of_last")
            if term == "p.term = t.term":
                # from the block that contains the first document, if any
                blocks.append(
                    f"""
                    p.first >= coalesce((
                        SELECT max(o.first) FROM documents_packed o
                        WHERE o.project_id = :of_project AND o.term = {word} AND o.first <= :of_first
                    ), 0)
                    """
                )
            postings_conditions.append("u.posting >> 32 BETWEEN :of_first AND :of_last")
        if selection.documents is not None:
            # IS TRUE keeps this and the filters from becoming joins, whose nested loops are a hundred times as slow
            postings_conditions.append("(u.posting >> 32 IN (SELECT unnest(CAST(:of_documents AS bigint[])))) IS TRUE")
        if selection.condition:
            postings_conditions.append(
                f"(EXISTS (SELECT 1 FROM documents d WHERE d.id = u.posting >> 32 AND {selection.condition})) IS TRUE"
            )
        words = "JOIN documents_words w ON w.project_id = :of_project AND w.document = u.posting >> 32"
        # blocks are read from the last, and no more than needed: a nested loop keeps the order of its outer rows
        is_newest = selection.most < _MOST
        return f"""
            SELECT f.posting FROM {f"{_RAREST} CROSS JOIN LATERAL" if is_phrase else ""} (
                SELECT p.postings, p.places FROM documents_packed p WHERE {" AND ".join(blocks)}
                {"ORDER BY p.first DESC" if is_newest else ""}
            ) AS k CROSS JOIN LATERAL (
                SELECT {_MADE if is_phrase else "u.posting"} AS posting FROM (
                    SELECT unnest(k.postings) AS posting{", unnest(k.places) AS place" if conditions else ""}
                ) AS u {words if is_phrase else ""}
                WHERE {" AND ".join(postings_conditions)} {"ORDER BY u.posting DESC" if is_newest else ""}
            ) AS f {"LIMIT :of_most" if is_newest else ""}
        """

    def _count_overlapping(self, phrase: IndexTerm, documents: Postings) -> None:
        """Count a phrase whose occurrences may overlap."""
        rows = self._transaction.all(
            """
            SELECT document, words, parts FROM documents_words
            WHERE project_id = :of_project AND document = ANY (CAST(:of_documents AS integer[]))
            """,
            {"of_project": self._scope.project_id, "of_documents": list(documents)},
        )
        for document, *texts in rows:
            own, of_parts = (min(occurrences(phrase.text, text), 255) for text in texts)
            documents[document] = (documents[document] & 0xFFFF_0000) + (own << 8) + of_parts

    def _passing(self, documents: set[int], most: int, *, newest: bool) -> list[int]:
        """Return the newest documents that pass the filters of the scope."""
        filters, values = scopes.filters(self._scope)
        passing = sorted(documents, reverse=newest)
        if filters and documents:
            rows = self._transaction.all(
                f"""
                SELECT d.id FROM documents d
                WHERE d.project_id = :of_project AND d.id = ANY (CAST(:of_documents AS bigint[])) AND {filters}
                """,
                {**values, "of_project": self._scope.project_id, "of_documents": passing},
            )
            passing_rows = {row[0] for row in rows}
            passing = [document for document in passing if document in passing_rows]
        passing = passing[:most]
        return passing if newest else passing[::-1]

    def _of(self, condition: Condition, postings: Mapping[IndexTerm, Postings]) -> set[int]:
        """Return the documents that meet a condition."""
        if isinstance(condition, Term):
            return set(postings[self._index_term(condition)])
        if isinstance(condition, Without):
            return self._of(condition.required, postings) - self._of(condition.excluded, postings)
        parts = [self._of(part, postings) for part in condition.parts]
        return set.intersection(*parts) if isinstance(condition, Every) else set().union(*parts)
