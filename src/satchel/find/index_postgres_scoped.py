"""Looking into the full-text index on PostgreSQL: few statements, whose text is the same for other values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from struct import Struct

from satchel.base.records import dataclass, field, replace
from satchel.find import scopes
from satchel.find.conditions import Condition, Every, Term, Without, terms_of
from satchel.find.index_postgres import MOST_TYPES, kind_number
from satchel.find.index_postgres_terms import Found, Sought, added, for_scoring, occurrences
from satchel.find.kind import Kind
from satchel.find.scopes import Scope
from satchel.find.scoring import Matched
from satchel.store.transaction import Row, Transaction

_POSTING = Struct(">iI")
_SENT = "string_agg(int8send(f.posting), '')"

_MOST = 2**62

_WINDOW = 20_000
"""Of so many documents, the newest, it is asked first which meet a condition in a large scope."""

_READ_COST = 20
"""To read the words of a document takes as long as so many packed postings of a common word."""

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
"""The posting of a term as the words of a document give it."""

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
class _Looking:
    """What documents are looked at.

    Attributes:
        first, last: between which they lie; None where nothing bounds them.
        documents: which they are; None looks at all.
        most: how many packed ones of a term are enough, the newest.
        asked: SQL over ``documents d`` that these meet, with its parameters.
    """

    first: int | None = None
    last: int = 0
    documents: Sequence[int] | None = None
    most: int = _MOST
    asked: str = ""
    values: Mapping[str, object] = field(default_factory=dict)


class ScopedPostgresIndex:
    """The index of what a scope holds; see :class:`satchel.find.index.ScopedIndex`."""

    def __init__(self, transaction: Transaction, scope: Scope, population: int | None) -> None:
        self._transaction = transaction
        self._scope = scope
        self._given = population
        self._known: dict[Term, Sought] = {}
        self._complete: dict[Sought, Found] = {}

    @cached_property
    def _place(self) -> tuple[int, int, int]:
        """The population, and the first and last document that there may be."""
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
        most = scopes.SMALL + 1 if self._given is None else 0
        row = self._transaction.one(sql, {"project": self._scope.project_id, "run": run, "most": most})
        of_project, of_run, first, last = row or (0, None, 1, 0)
        is_few = of_run is not None and of_run <= scopes.SMALL
        return of_run if is_few else of_project, first or 1, last or 0

    @property
    def population(self) -> int:
        """How many documents there are to choose from: those of the run where they are few, else the project's."""
        return self._place[0] if self._given is None else self._given

    @cached_property
    def _of_place(self) -> tuple[tuple[str, ...], dict[str, object]]:
        """What the place of a document in the scope meets, as SQL over a column ``place``, with its parameters."""
        scope = self._scope
        values: dict[str, object] = {}
        asked: list[str] = []
        if scope.run_id is not None:
            asked.append("place >> 16 = :of_run")
            values["of_run"] = scope.run_id
        if scope.types:
            asked.append("place & 65535 = ANY (CAST(:of_kinds AS bigint[]))")
            values["of_kinds"] = [kind_number(kind, number) for kind, number in scope.types]
        elif scope.kinds and len(scope.kinds) < len(Kind):
            asked.append(f"place / {MOST_TYPES} & {MOST_TYPES - 1} = ANY (CAST(:of_kinds AS bigint[]))")
            values["of_kinds"] = [kind.number for kind in scope.kinds]
        return tuple(asked), values

    def _looking(self, most: int = _MOST) -> _Looking:
        """Return that all of the scope is looked at, or at least so many of each term, the newest."""
        _, first, last = self._place
        return _Looking(None if self._scope.run_id is None else first, last, most=most)

    def counts(self, terms: Sequence[Term], most: int) -> list[int]:
        """Return how many documents hold each term, counted no further than so many."""
        sought = [self._sought(term) for term in terms]
        words = list(dict.fromkeys(one for one in sought if one.is_word))
        counted = {one: len(found) for one, found in self._found([*{*sought} - {*words}], self._looking(most)).items()}
        if words:
            looking = self._looking(most)
            if looking.first is None and not self._of_place[0] and not any(one.in_text for one in words):
                packed = """
                    SELECT cardinality(p.postings) FROM documents_packed p
                    WHERE p.project_id = :of_project AND p.term = t.term
                """
            else:
                packed = f"SELECT count(*) FROM ({self._packed(looking)}) AS c"
            fresh = f"SELECT count(*) FROM (SELECT 1 FROM read w WHERE {_MAY_HOLD}) AS c"
            rows = self._ask(words, looking, f"{packed} UNION ALL {fresh}", "sum(f.posting)")
            counted |= {words[number - 1]: count for number, count in rows}
        return [min(counted.get(one, 0), most) for one in sought]

    def holding(self, terms: Sequence[Term], most: int) -> list[int]:
        """Return the documents that hold any of some terms, the newest first, at most so many."""
        found = self._found([self._sought(term) for term in terms], self._looking(most))
        return sorted(set().union(*found.values()), reverse=True)[:most]

    def matches(
        self, terms: Sequence[Term], choosing: Sequence[Term], condition: Condition | None, most: int, *, newest: bool
    ) -> list[Matched]:
        """Return documents that match and pass every filter, with how often they hold each term, the newest first."""
        sought = [self._sought(term) for term in terms]
        if condition is not None:
            return self._meeting(sought, condition, most, newest=newest)
        # in a small scope hardly anything is cut off, and filters are asked once for what holds any of the terms
        chosen = [self._sought(term) for term in choosing] or sought
        looking = self._looking()
        if newest:
            asked, values = scopes.filters(self._scope)
            looking = replace(looking, most=most, asked=asked, values=values)
        found = self._found(chosen, looking)
        documents = self._passing(set().union(*found.values()), most, newest=newest)
        if choosing:
            found = self._found(sought, _Looking(documents=documents))
        return for_scoring(sought, found, documents)

    def _meeting(self, sought: Sequence[Sought], condition: Condition, most: int, *, newest: bool) -> list[Matched]:
        """Return the documents that meet a condition: in a large scope window by window, from the newest on."""
        every = [*sought, *(self._sought(term) for term in terms_of(condition))]
        _, first, last = self._place
        size = _WINDOW if newest else last - first + 1
        matched: list[Matched] = []
        while first <= last and len(matched) < most:
            low = max(first, last - size + 1)
            found = self._found(every, _Looking(low, last))
            meeting = {document for document in self._of(condition, found) if low <= document <= last}
            documents = self._passing(meeting, most - len(matched), newest=newest)
            matched += for_scoring(sought, found, documents)
            last -= size
            size *= 4
        return matched

    def _sought(self, term: Term) -> Sought:
        if term not in self._known:
            self._known[term] = Sought.of(term)
        return self._known[term]

    def _found(self, sought: Sequence[Sought], looking: _Looking) -> dict[Sought, Found]:
        """Return where each of some terms is."""
        found = {one: self._complete.get(one, {}) for one in sought}
        wanted = [one for one in found if one.words and one not in self._complete]
        given = looking.documents
        if given is not None and len(given) * _READ_COST < self.population:
            self._find(wanted, looking, "", found)
        else:
            words = [one for one in wanted if one.is_word]
            self._find(words, looking, self._packed(looking), found)
            prefixes = [one for one in wanted if one.is_prefix and len(one.words) == 1]
            begun = "p.term >= t.term AND p.term < t.term || chr(1114111)"
            self._find(prefixes, looking, self._packed(replace(looking, most=_MOST), term=begun), found)
            phrases = [one for one in wanted if len(one.words) > 1]
            self._find(phrases, looking, "" if given is not None else self._packed(looking, is_phrase=True), found)
        if looking == self._looking(looking.most):
            self._complete |= {one: found[one] for one in wanted if len(found[one]) < looking.most}
        return found

    def _find(self, sought: Sequence[Sought], looking: _Looking, packed: str, found: dict[Sought, Found]) -> None:
        """Look for terms, in what is packed by the SQL given, and in what is read."""
        if not sought:
            return
        read = f"SELECT {_MADE} FROM read w WHERE {_MAY_HOLD}"
        both = f"({packed}) UNION ALL {read}" if packed else read
        for number, postings in self._ask(sought, looking, both, _SENT, reads_packed=not packed):
            one = sought[number - 1]
            documents = found[one]
            if one.is_prefix and len(one.words) == 1:
                # a document counts all the words that begin so
                for document, counts in _POSTING.iter_unpack(postings):
                    documents[document] = added(documents.get(document, 0), counts)
            else:
                documents.update(_POSTING.iter_unpack(postings))
            if one.may_overlap and len(one.words) > 1:
                self._count_overlapping(one, documents)

    def _ask(
        self, sought: Sequence[Sought], looking: _Looking, found: str, sent: str, *, reads_packed: bool = False
    ) -> list[Row]:
        """Ask for something of the postings of each of some terms.

        Args:
            found: SQL for the postings of a term ``t``; ``read`` is the words of the documents that are not packed.
            sent: what of these is sent for each term.
            reads_packed: whether the words of packed documents are read too.
        """
        conditions, of_place = self._of_place
        values: dict[str, object] = {
            **looking.values,
            **of_place,
            "of_project": self._scope.project_id,
            "of_most": looking.most,
            "of_terms": [one.listed for one in sought],
            "of_texts": [one.text for one in sought],
            "of_bits": [one.bits for one in sought],
            "of_marks": [one.mark for one in sought],
        }
        which = ["w.project_id = :of_project", *(f"w.{one}" for one in conditions)]
        if not reads_packed:
            which.append(
                "w.document > coalesce((SELECT last FROM documents_packing WHERE project_id = :of_project), 0)"
            )
        if looking.documents is not None:
            which.append("w.document = ANY (CAST(:of_documents AS integer[]))")
            values["of_documents"] = looking.documents
        if looking.first is not None:
            which.append("w.document BETWEEN :of_first AND :of_last")
            values |= {"of_first": looking.first, "of_last": looking.last}
        return self._transaction.all(
            f"""
            WITH read AS MATERIALIZED (
                SELECT w.document, w.length, w.marks, w.words, w.parts FROM documents_words w
                WHERE {" AND ".join(which)}
            )
            SELECT t.number, {sent} FROM {_TERMS} CROSS JOIN LATERAL ({found}) AS f (posting) GROUP BY t.number
            """,
            values,
        )

    def _packed(self, looking: _Looking, *, term: str = "p.term = t.term", is_phrase: bool = False) -> str:
        """Return SQL for the packed postings of a term.

        Args:
            term: which words are meant, as SQL over ``documents_packed p`` and the term ``t``.
            is_phrase: whether a phrase is looked for, in the documents that hold the rarest of its words.
        """
        conditions, _ = self._of_place
        word = "r.term" if is_phrase else "t.term"
        blocks = ["p.project_id = :of_project", f"p.term = {word}" if is_phrase else term]
        asked = [_HOLDS if is_phrase else "u.posting & t.bits <> 0", *(f"u.{one}" for one in conditions)]
        if looking.first is not None:
            blocks.append("p.first <= :of_last")
            if term == "p.term = t.term":
                # the block that holds the first one, where there is any
                blocks.append(
                    f"""
                    p.first >= coalesce((
                        SELECT max(o.first) FROM documents_packed o
                        WHERE o.project_id = :of_project AND o.term = {word} AND o.first <= :of_first
                    ), 0)
                    """
                )
            asked.append("u.posting >> 32 BETWEEN :of_first AND :of_last")
        if looking.documents is not None:
            # IS TRUE keeps this, and the filters, from becoming joins: as a nested loop one took 350 ms in place of 3
            asked.append("(u.posting >> 32 IN (SELECT unnest(CAST(:of_documents AS bigint[])))) IS TRUE")
        if looking.asked:
            asked.append(
                f"(EXISTS (SELECT 1 FROM documents d WHERE d.id = u.posting >> 32 AND {looking.asked})) IS TRUE"
            )
        words = "JOIN documents_words w ON w.project_id = :of_project AND w.document = u.posting >> 32"
        # blocks are read from the last one on, no more than needed: a nested loop keeps the order of its outer rows
        is_newest = looking.most < _MOST
        return f"""
            SELECT f.posting FROM {f"{_RAREST} CROSS JOIN LATERAL" if is_phrase else ""} (
                SELECT p.postings, p.places FROM documents_packed p WHERE {" AND ".join(blocks)}
                {"ORDER BY p.first DESC" if is_newest else ""}
            ) AS k CROSS JOIN LATERAL (
                SELECT {_MADE if is_phrase else "u.posting"} AS posting FROM (
                    SELECT unnest(k.postings) AS posting{", unnest(k.places) AS place" if conditions else ""}
                ) AS u {words if is_phrase else ""}
                WHERE {" AND ".join(asked)} {"ORDER BY u.posting DESC" if is_newest else ""}
            ) AS f {"LIMIT :of_most" if is_newest else ""}
        """

    def _count_overlapping(self, phrase: Sought, documents: Found) -> None:
        """Count a phrase of which one occurrence may begin in another."""
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
        """Return which of some documents pass the filters of the scope, at most so many, the newest first."""
        asked, values = scopes.filters(self._scope)
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

    def _of(self, condition: Condition, found: Mapping[Sought, Found]) -> set[int]:
        """Return the documents that meet a condition."""
        if isinstance(condition, Term):
            return set(found[self._sought(condition)])
        if isinstance(condition, Without):
            return self._of(condition.required, found) - self._of(condition.excluded, found)
        parts = [self._of(part, found) for part in condition.parts]
        return set.intersection(*parts) if isinstance(condition, Every) else set().union(*parts)
