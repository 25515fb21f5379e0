"""Reading the full-text index on PostgreSQL: the GIN index selects candidates, whose words are counted here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from satchel.base.records import dataclass
from satchel.find import scopes
from satchel.find.conditions import Condition, Either, Every, Term, Without, terms_of
from satchel.find.index_postgres import LONGEST, MOST_TYPES, joined, kind_number, stems
from satchel.find.kind import Kind
from satchel.find.scopes import Scope
from satchel.find.scoring import Matched
from satchel.store.postgres.schema import BUCKET_BITS, LEXEMES
from satchel.store.transaction import Row, Transaction

_NOWHERE = "-"
"""No word of a document contains this."""

_FEW = 1_000
"""Ranges of documents up to this size are read whole, without the GIN index."""


@dataclass(frozen=True, slots=True)
class _IndexTerm:
    """A term in the form of the index.

    Attributes:
        words: in the form of the index; none match nothing.
        text: the words as they occur in those of a document.
        is_prefix: whether the last word also matches longer words that start with it.
        in_text: whether to search the text only.
    """

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
        """The query of the GIN index, with a question mark in place of project and bucket."""
        lexemes = [f"'?{word}'" for word in self.words or (_NOWHERE,)]
        if self.is_prefix:
            lexemes[-1] += ":*"
        return f"({' & '.join(lexemes)})"

    @property
    def is_exact(self) -> bool:
        """Whether the GIN index alone selects the right documents."""
        return len(self.words) < 2 and not self.in_text

    @property
    def may_overlap(self) -> bool:
        """Whether one occurrence may begin in another."""
        size = len(self.words)
        return size > 1 and (
            self.is_prefix or any(self.words[:part] == self.words[size - part :] for part in range(1, size))
        )


class ScopedPostgresIndex:
    """The index of one scope in a PostgreSQL store."""

    def __init__(self, transaction: Transaction, scope: Scope, population: int | None) -> None:
        self._transaction = transaction
        self._scope = scope
        self._population = population

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
    def _conditions(self) -> tuple[str, dict[str, object]]:
        """The conditions of the scope over ``documents_words w``, with parameters."""
        scope = self._scope
        _, first, last = self._place
        values: dict[str, object] = {"of_first": first, "of_last": last, "of_project": scope.project_id}
        conditions = ""
        if scope.run_id is not None:
            conditions += " AND w.place >> 16 = :of_run"
            values["of_run"] = scope.run_id
        if scope.types:
            conditions += " AND w.place & 65535 = ANY (CAST(:of_kinds AS bigint[]))"
            values["of_kinds"] = [kind_number(kind, number) for kind, number in scope.types]
        elif scope.kinds and len(scope.kinds) < len(Kind):
            conditions += f" AND w.place / {MOST_TYPES} & {MOST_TYPES - 1} = ANY (CAST(:of_kinds AS bigint[]))"
            values["of_kinds"] = [kind.number for kind in scope.kinds]
        return conditions, values

    def counts(self, terms: Sequence[Term], most: int) -> list[int]:
        index_terms = [_IndexTerm.of(term) for term in terms]
        holds = "(strpos(w.words, t.text) > 0 OR t.in_text = 0 AND strpos(w.parts, t.text) > 0)"
        rows = self._transaction.all(
            f"""
            SELECT (SELECT count(*) FROM ({self._candidates("1", "t.lexemes", holds, "t.is_exact = 1")}) AS f)
            FROM unnest(
                CAST(:of_lexemes AS text[]), CAST(:of_texts AS text[]), CAST(:of_text_only AS bigint[]),
                CAST(:of_exact AS bigint[])
            ) WITH ORDINALITY AS t (lexemes, text, in_text, is_exact, number)
            ORDER BY t.number
            """,
            {
                **self._conditions[1],
                "of_lexemes": [term.lexemes for term in index_terms],
                "of_texts": [term.text for term in index_terms],
                "of_text_only": [term.in_text for term in index_terms],
                "of_exact": [term.is_exact for term in index_terms],
                "of_most": most,
            },
        )
        return [row[0] for row in rows]

    def documents(self, condition: Condition, most: int, *, newest: bool = True, filtered: bool = False) -> list[int]:
        filters: tuple[str, dict[str, object]] = scopes.filters(self._scope) if filtered else ("", {})
        return [row[0] for row in self._select("w.document", condition, most, filters, newest=newest)]

    def matches(
        self, terms: Sequence[Term], choosing: Sequence[Term], condition: Condition | None, most: int, *, newest: bool
    ) -> list[Matched]:
        selecting = condition or Either(tuple(choosing or terms))
        columns = "w.document, w.length, w.words, w.parts"
        rows = self._select(columns, selecting, most, scopes.filters(self._scope), newest=newest)
        return _counted([_IndexTerm.of(term) for term in terms], rows if newest else rows[::-1])

    def _select(
        self,
        columns: str,
        condition: Condition,
        most: int,
        filters: tuple[str, dict[str, object]] = ("", {}),
        *,
        newest: bool = True,
    ) -> list[Row]:
        """Return columns of the newest or oldest documents that meet a condition and pass the filters."""
        texts: dict[str, object] = {}
        holds = _holds(condition, texts)
        is_exact = all(_IndexTerm.of(term).is_exact for term in terms_of(condition))
        sql = self._candidates(
            columns, ":of_lexemes", holds, "true" if is_exact else "", filters[0], "DESC" if newest else "ASC"
        )
        return self._transaction.all(
            sql,
            {
                **filters[1],
                **self._conditions[1],
                **texts,
                "of_lexemes": _lexemes(condition, is_exact=is_exact),
                "of_most": most,
            },
        )

    def _candidates(
        self, columns: str, lexemes: str, holds: str, is_exact: str = "", filters: str = "", order: str = "DESC"
    ) -> str:
        """Return SQL for columns of documents in order, up to ``:of_most``.

        ``lexemes`` is SQL for the query of the GIN index, ``holds`` for the same condition on the words, ``is_exact``
        for whether the first alone suffices, empty for never, and ``filters`` over ``documents d``.
        """
        conditions, _ = self._conditions
        if filters:
            # IS TRUE keeps this from becoming a join, whose nested loop may be a hundred times as slow
            conditions += f" AND (EXISTS (SELECT 1 FROM documents d WHERE d.id = w.document AND {filters})) IS TRUE"
        _, first, last = self._place
        if last - first < _FEW:
            return f"""
                SELECT {columns} FROM documents_words w
                WHERE w.project_id = :of_project AND w.document BETWEEN :of_first AND :of_last AND {holds} {conditions}
                ORDER BY w.document {order} LIMIT :of_most
            """
        buckets = [f":of_last >> {BUCKET_BITS}", f":of_first >> {BUCKET_BITS}"]
        step = -1
        if order == "ASC":
            buckets.reverse()
            step = 1
        if is_exact != "true":
            conditions += f" AND ({is_exact} OR {holds})" if is_exact else f" AND {holds}"
        # a bucket is read once those before it had too few documents
        return f"""
            SELECT f.* FROM generate_series({", ".join(buckets)}, {step}) AS b (number) CROSS JOIN LATERAL (
                SELECT {columns} FROM documents_words w
                WHERE {LEXEMES} @@ CAST(replace({lexemes}, '?', :of_project || ':' || b.number || ':') AS tsquery)
                    {conditions}
                ORDER BY w.document {order} LIMIT :of_most
            ) AS f LIMIT :of_most
        """


def _lexemes(condition: Condition, *, is_exact: bool) -> str:
    """Return the query of the GIN index for a condition, or without ``is_exact`` for at least its documents."""
    if isinstance(condition, Term):
        return _IndexTerm.of(condition).lexemes
    if isinstance(condition, Without):
        required = _lexemes(condition.required, is_exact=is_exact)
        return f"({required} & !{_lexemes(condition.excluded, is_exact=True)})" if is_exact else required
    operator = " & " if isinstance(condition, Every) else " | "
    return f"({operator.join(_lexemes(part, is_exact=is_exact) for part in condition.parts)})"


def _holds(condition: Condition, texts: dict[str, object]) -> str:
    """Return a condition as SQL over the words of ``documents_words w``; add its parameters to ``texts``."""
    if isinstance(condition, Term):
        term = _IndexTerm.of(condition)
        name = f"of_text{len(texts)}"
        texts[name] = term.text
        columns = ("words",) if term.in_text else ("words", "parts")
        return f"({' OR '.join(f'strpos(w.{column}, :{name}) > 0' for column in columns)})"
    if isinstance(condition, Without):
        return f"({_holds(condition.required, texts)} AND NOT {_holds(condition.excluded, texts)})"
    operator = " AND " if isinstance(condition, Every) else " OR "
    return f"({operator.join([_holds(part, texts) for part in condition.parts])})"


def _counted(terms: Sequence[_IndexTerm], rows: Iterable[Row]) -> list[Matched]:
    """Return documents with the counts of each term in the form that the scoring reads."""
    matched: list[Matched] = []
    for document, length, words, parts in rows:
        report = [length >> 8, length & 255]
        for term in terms:
            count = _occurrences if term.may_overlap else str.count
            report.append(count(words, term.text))
            report.append(0 if term.in_text or not parts else count(parts, term.text))
        try:
            matched.append((document, bytes(report)))
        except ValueError:
            matched.append((document, bytes(min(number, 255) for number in report)))
    return matched


def _occurrences(words: str, phrase: str) -> int:
    """Return how often a phrase occurs, including overlaps."""
    count = 0
    place = words.find(phrase)
    while place >= 0:
        count += 1
        place = words.find(phrase, place + 1)
    return count
