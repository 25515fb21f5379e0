"""One search: candidates from the index, scored with what stands around them, ranked in one snapshot."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from satchel.base.errors import StoreDamaged
from satchel.base.records import dataclass, field, replace
from satchel.find import exact, scopes, scoring
from satchel.find.conditions import Term
from satchel.find.exact import Texts
from satchel.find.index import ScopedIndex, scoped_index
from satchel.find.kind import LIVE, SUPERSEDED
from satchel.find.query import MAX_TERMS, Query
from satchel.find.scopes import Scope
from satchel.find.scoring import Surroundings
from satchel.find.words import WORD
from satchel.store.transaction import NO_LIMIT, Row, Transaction, set_of

CANDIDATES = 2_000
"""In a larger one the rarest terms choose so many, the newest of them."""

OF_ONE_TERM = 500
"""Of what holds the only term so many are scored, the newest, which is the largest page: it is told apart by no more
than length and repetition.

Each document that is scored costs 3 microseconds: the commonest word of 8,000 notes took 22 ms, with it 2.7.
"""

MANY_TERMS = 24
"""A query of more looks for its rarest so many in a larger scope than :data:`CANDIDATES`, which are scored alone.

Work grows with terms times documents: 64 common words in 8,000 documents took 0.7 s, with it 0.07."""

# recall@10 on LoCoMo is .750 with 60, .747 with 100 and .746 with 40
_WITH_SURROUNDINGS = 60
_SILENCE_MS = 30 * 60 * 1_000


@dataclass(frozen=True, slots=True)
class Hit:
    """One result.

    Attributes:
        document: its number in the documents.
        score: higher is better.
        by_surroundings: it holds no term itself; what stands around it does.
    """

    document: int
    score: float
    by_surroundings: bool


@dataclass(frozen=True)
class Ranking:
    """All results of a search, best first.

    Attributes:
        hits: live items, then superseded ones.
        is_complete: False when more match than were scored: the scope is large, or the query long.
        terms: what was searched for, each with its idf.
        own: what each term scores in a document itself.
        evidence: the same with what stands around it, where that was looked at, and one more value at the end: the
            share of its loop or task.
        bonus: what a document gains when the question names its author, or loses when it names another.
        is_cut: whether the query had more words than were looked for.
        said: what the query names that occurs nowhere.
    """

    hits: tuple[Hit, ...]
    is_complete: bool
    terms: tuple[Term, ...]
    idf: tuple[float, ...]
    own: dict[int, list[float]]
    evidence: dict[int, list[float]]
    bonus: dict[int, float]
    is_cut: bool = False
    said: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of what was left out, or stands for what is nowhere."""
        return self.said + (INCOMPLETE,) * (not self.is_complete) + (CUT,) * self.is_cut


CUT = f"the search has more than {MAX_TERMS} words: only the first {MAX_TERMS} were looked for"
INCOMPLETE = "more match: very common words were left out, add a rarer one to narrow it down"

SUNK = 0.5
"""What the score of a result counts that sinks."""

Sink = Callable[[Sequence[int]], Collection[int]]
"""Returns which of some documents are to sink."""

NOTHING = Ranking((), True, (), (), {}, {}, {})

LEAST_SHARE = 0.42
"""A lookup leaves out what holds less than this share, by idf, of what the best result holds of it: where something
holds both of two words, the rarer one alone is enough; the other one is only if it is nearly as rare."""

_FEW_FOUND = 500
"""Of so many it is asked which have expired; else all that have are read, which took 20 ms where 37,500 had."""

_FEW = 20
"""In fewer documents than that the rarity of a word says little, and it is judged as if there were so many."""


def rank(
    transaction: Transaction,
    query: Query,
    scope: Scope,
    *,
    small: int | None = None,
    candidates: int | None = None,
    population: int | None = None,
    sink: Sink | None = None,
    texts: Texts | None = None,
    near_best: bool = True,
) -> Ranking:
    """Search and rank.

    Args:
        near_best: whether what is far below the best is left out; who weighs results with more than their scores
            wants it too.
        texts: reads documents, to tell what holds a path or the like from what holds its words; None takes either.
        small: up to how many documents a scope is scored whole; None is ``scopes.SMALL``. Of what holds the only term
            it is :data:`OF_ONE_TERM`.
        candidates: how many the rarest terms choose in a larger one; None is :data:`CANDIDATES`.
        population: how many documents the scope has, which tells how rare a word is; None counts those of the run or
            project.
        sink: which documents count :data:`SUNK` of their score; asked once, with the best first.

    Returns:
        Every result in one snapshot, so that pages of it fit together.
    """
    if not query.terms:
        return NOTHING
    small = scopes.SMALL if small is None else small
    candidates = CANDIDATES if candidates is None else candidates
    index = scoped_index(transaction, scope, population)
    population = index.population
    is_long = len(query.terms) > MANY_TERMS and population > candidates
    is_small = population <= small and not is_long
    asking = _resolve(transaction, query, index, texts)
    terms = asking.terms
    if not terms:
        return replace(NOTHING, said=asking.said)
    if len(terms) == 1 and query.condition is None:
        small, candidates = min(small, OF_ONE_TERM), min(candidates, OF_ONE_TERM)
        is_small = population <= small
    most = small if is_small else candidates
    choosing: tuple[Term, ...] = ()
    if query.condition is None and not is_small and len(terms) > 1:
        terms, choosing = _rarest(index, terms, candidates, MANY_TERMS if is_long else len(terms))
        if not terms:
            return replace(NOTHING, said=asking.said)
    found = index.matches(terms, choosing, query.condition, most + 1, newest=not is_small)
    is_complete = not choosing and len(found) <= most
    old, hidden = _put_back(transaction, scope, [row[0] for row in found[:most]])
    if scope.status == "live":
        hidden |= {document for document, status in old.items() if status == SUPERSEDED}
    matched = [row for row in found[:most] if row[0] not in hidden]
    matched = asking.only_whole(matched, terms)
    everything = max(population, _FEW)
    if query.is_lookup and near_best and len(asking.things) > 1:
        matched = scoring.holding_most(matched, asking.places(terms), asking.whole, everything, LEAST_SHARE)
    if not matched:
        return Ranking((), is_complete, terms, (), {}, {}, {}, query.is_cut, asking.said)
    scores, idf = scoring.term_scores(matched, [term.weight for term in terms], population)
    totals = {document: sum(values) for document, values in scores.items()}
    evidence: dict[int, list[float]] = {}
    bonus: dict[int, float] = {}
    if query.is_question and query.condition is None:
        best = heapq.nlargest(_WITH_SURROUNDINGS, totals, key=lambda document: (totals[document], document))
        agents = transaction.ask(
            "SELECT id, folded FROM agents WHERE project_id = :project", {"project": scope.project_id}
        )
        places, rows = _surroundings(transaction, best, scope)
        evidence = scoring.with_surroundings(scores, places)
        authors = _authors_named(agents.all(), query.terms)
        for document, shares in evidence.items():
            total = sum(shares)
            # what only time holds together would be lifted whatever it says
            if authors and (document in scores or shares[-1]):
                is_theirs = rows[document][1] in authors
                bonus[document] = scoring.AUTHOR_BONUS if is_theirs else (scoring.OTHERS_SHARE - 1) * total
            totals[document] = total + bonus.get(document, 0.0)
        if near_best:
            flat = scores
            if everything > population:
                flat, _ = scoring.term_scores(matched, [term.weight for term in terms], everything)
            totals = scoring.near_best(totals, flat, evidence)
    ordered = _ordered(totals, old)
    sunk = () if sink is None else sink(ordered)
    if sunk:
        totals |= {document: totals[document] * SUNK for document in sunk}
        ordered = _ordered(totals, old)
    hits = tuple(Hit(document, totals[document], document not in scores) for document in ordered)
    return Ranking(hits, is_complete, terms, tuple(idf), scores, evidence, bonus, query.is_cut, asking.said)


def newest(transaction: Transaction, scope: Scope, offset: int, limit: int) -> tuple[Ranking, int]:
    """Return a page of what a scope holds, the newest first, and how many there are, in one snapshot.

    The documents are sorted from the last one on, which is mostly the newest: of 100,000 the sort keeps the first page
    at once, which takes 11 ms, 30 in the order of the table, and 160 to number all.
    """
    where, values = _held(scope)
    rows = transaction.all(
        f"""
        SELECT id FROM (
            SELECT d.id, d.created_at FROM documents d WHERE {where} ORDER BY d.id DESC LIMIT {NO_LIMIT}
        ) AS found ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset
        """,
        {**values, "limit": limit, "offset": offset},
    )
    hits = tuple(Hit(row[0], 0.0, by_surroundings=False) for row in rows)
    return replace(NOTHING, hits=hits), count(transaction, scope)


def count(transaction: Transaction, scope: Scope) -> int:
    """Return how many documents a scope holds."""
    where, values = _held(scope)
    row = transaction.one(f"SELECT count(*) FROM documents d WHERE {where}", values)
    return int(row[0]) if row else 0


def _held(scope: Scope) -> tuple[str, dict[str, object]]:
    """Return what documents of a scope meet, as SQL over ``documents d``, with its parameters."""
    asked = ["d.project_id = :project", "(d.expires_at IS NULL OR d.expires_at > :now)"]
    if scope.kinds:
        asked.append(f"d.kind IN ({', '.join(str(kind.number) for kind in scope.kinds)})")
    if scope.types:
        some = (f"d.kind = {kind.number} AND d.type = {number}" for kind, number in scope.types)
        asked.append(f"({' OR '.join(some)})")
    if scope.run_id is not None:
        asked.append("d.run_id = :run")
    if scope.status == "live":
        asked.append(f"d.status <> {SUPERSEDED}")
    condition, values = scopes.filters(scope, asked)
    return condition, {**values, "project": scope.project_id, "run": scope.run_id, "now": scope.now}


def disagreement() -> StoreDamaged:
    """Return the error for a result that the index names and the documents or the tables do not have."""
    return StoreDamaged("the search index names what is not kept", "`satchel doctor --rebuild` rebuilds it")


def _ordered(totals: Mapping[int, float], old: Mapping[int, int]) -> list[int]:
    """Return the best first, of equals the newest, and superseded ones last: each sort keeps the order before it."""
    ordered = sorted(totals, reverse=True)
    ordered.sort(key=totals.__getitem__, reverse=True)
    if old:
        ordered.sort(key=old.__contains__)
    return ordered


def _rarest(
    index: ScopedIndex, terms: Sequence[Term], most: int, max_terms: int
) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """Choose the rarest terms: the others would bring little but work.

    Args:
        most: how many candidates are enough.
        max_terms: how many terms to score by.

    Returns:
        The terms to score by, and of those the ones that choose candidates; none where all terms may.
    """
    counted = sorted((count, place) for place, count in enumerate(index.counts(terms, most + 1)))
    scored = counted
    if len(counted) > max_terms:
        scored = [found for found in counted if found[0]][:max_terms]
    choosing: list[int] = []
    total = 0
    for count, place in scored:
        if choosing and total and (count > most or total + count > most):
            break
        choosing.append(place)
        total += count
    kept = tuple(terms[place] for place in sorted(place for _, place in scored))
    if len(choosing) == len(counted):
        return kept, ()
    return kept, tuple(terms[place] for place in sorted(choosing))


def _put_back(transaction: Transaction, scope: Scope, found: Sequence[int]) -> tuple[dict[int, int], set[int]]:
    """Return what ranks below the rest, with its status, and which of some documents have expired."""
    parts: list[str] = []
    if scope.status != "superseded":
        run = "" if scope.run_id is None else " AND run_id = :run"
        parts.append(f"SELECT id, status FROM documents WHERE project_id = :project AND status <> {LIVE}{run}")
    if found:
        some = f" AND id IN {set_of(found)}" if len(found) <= _FEW_FOUND else ""
        # with those that were not swept away yet
        parts.append(f"SELECT id, 0 FROM documents WHERE expires_at <= :now AND project_id = :project{some}")
    if not parts:
        return {}, set()
    rows = transaction.all(
        " UNION ALL ".join(parts), {"project": scope.project_id, "run": scope.run_id, "now": scope.now}
    )
    return {number: status for number, status in rows if status}, {number for number, status in rows if not status}


def _authors_named(agents: Iterable[Row], terms: Sequence[Term]) -> frozenset[int]:
    """Return which agents have their whole name among the words of the query."""
    words = {word for term in terms for word in term.words}
    return frozenset(number for number, name in agents if (parts := WORD.findall(name)) and words.issuperset(parts))


def _neighbour(sign: str, direction: str, distance: int) -> str:
    """Return SQL for the document at a distance from ``documents d``; PostgreSQL looks up no IS NOT DISTINCT FROM."""
    alone, together = (
        f"(SELECT n.id FROM documents n WHERE n.run_id = d.run_id AND {same} AND n.id {sign} d.id "
        f"ORDER BY n.id {direction} LIMIT 1 OFFSET {distance - 1})"
        for same in ("n.segment IS NULL", "n.segment = d.segment")
    )
    return f"CASE WHEN d.segment IS NULL THEN {alone} ELSE {together} END"


_PLACE = "d.id, d.agent_id, d.run_id, d.segment, d.created_at"
_NEAR = ", ".join(
    _neighbour(sign, direction, distance) for sign, direction in (("<", "DESC"), (">", "ASC")) for distance in (1, 2)
)


def _surroundings(
    transaction: Transaction, documents: Sequence[int], scope: Scope
) -> tuple[list[Surroundings], dict[int, Row]]:
    """Return the places of documents, and the rows of those and their neighbours that pass the filters too."""
    found = transaction.all(f"SELECT {_PLACE}, {_NEAR} FROM documents d WHERE d.id IN {set_of(documents)}")
    rows: dict[int, Row] = {row[0]: row for row in found}
    wanted = {number for row in found for number in row[5:] if number is not None} - rows.keys()
    if wanted:
        condition, values = scopes.filters(scope)
        parts = [f"d.id IN {set_of(wanted)}"] + ([condition] if condition else [])
        if scope.kinds:
            # the plus keeps the planner from the index by kind, which would read the whole spine
            parts.append(f"+d.kind IN ({', '.join(str(kind.number) for kind in scope.kinds)})")
        if scope.types:
            pairs = ", ".join(f"({kind.number}, {number})" for kind, number in scope.types)
            parts.append(f"(+d.kind, d.type) IN (VALUES {pairs})")
        if scope.status == "live":
            parts.append(f"d.status <> {SUPERSEDED}")
        parts.append("(d.expires_at IS NULL OR d.expires_at > :now)")
        values["now"] = scope.now
        more = transaction.all(f"SELECT {_PLACE} FROM documents d WHERE {' AND '.join(parts)}", values)
        rows.update({row[0]: row for row in more})
    return [_place(row, rows) for row in found], rows


def _place(row: Row, rows: dict[int, Row]) -> Surroundings:
    document, _, run, segment, created = row[:5]
    neighbours = []
    for distance, number in zip((1, 2, 1, 2), row[5:9], strict=True):
        neighbour = rows.get(number)
        if neighbour is None or (segment is None and abs(neighbour[4] - created) > _SILENCE_MS):
            continue
        neighbours.append((distance, int(number)))
    return Surroundings(document, None if segment is None else (run, segment), tuple(neighbours))


@dataclass(frozen=True, slots=True)
class _Resolved:
    """What is looked for, once it is known which names occur.

    Attributes:
        things: the terms that stand for one thing each: ways to write one name, or a single term.
        whole: how many of the things, the first, are names that occur whole.
        only: by terms, the documents in which they count; in any where a term is not there.
        said: which names occur nowhere.
    """

    things: tuple[tuple[Term, ...], ...]
    whole: int = 0
    only: Mapping[Term, frozenset[int]] = field(default_factory=dict)
    said: tuple[str, ...] = ()

    @property
    def terms(self) -> tuple[Term, ...]:
        """Every term, once."""
        return tuple(dict.fromkeys(term for thing in self.things for term in thing))

    def only_whole(self, matched: Sequence[scoring.Matched], terms: Sequence[Term]) -> list[scoring.Matched]:
        """Leave out the counts of words in documents that do not hold the whole, and what then holds nothing."""
        only = [(place, self.only[term]) for place, term in enumerate(terms) if term in self.only]
        if not only:
            return list(matched)
        kept: list[scoring.Matched] = []
        for document, counts in matched:
            wrong = [place for place, documents in only if document not in documents]
            if wrong:
                changed = bytearray(counts)
                for place in wrong:
                    changed[2 * place + 2 : 2 * place + 4] = b"\0\0"
                if any(changed[2:]):
                    kept.append((document, bytes(changed)))
            else:
                kept.append((document, counts))
        return kept

    def places(self, terms: Sequence[Term]) -> list[list[int]]:
        """Return for each thing the places of its terms."""
        places = {term: place for place, term in enumerate(terms)}
        return [[places[term] for term in thing if term in places] for thing in self.things]


def _resolve(transaction: Transaction, query: Query, index: ScopedIndex, texts: Texts | None) -> _Resolved:
    """Settle how the names in a query are looked for, by what occurs in the scope."""
    if not query.names:
        return _Resolved(tuple((term,) for term in query.terms))
    whole: list[tuple[Term, ...]] = []
    others: list[tuple[Term, ...]] = [(term,) for term in query.beside]
    only: dict[Term, frozenset[int]] = {}
    said: list[str] = []
    for name in query.names:
        chosen = exact.choose(transaction, name, index, texts)
        stage = chosen.stage
        if stage.apart:
            others += [(term,) for term in stage.terms]
        else:
            whole += [stage.terms] if stage.terms else []
        if chosen.only is not None:
            only |= {term: only.get(term, frozenset()) | chosen.only for term in stage.terms}
        said += [chosen.note] if chosen.note else []
    return _Resolved((*whole, *others), len(whole), only, tuple(said))
