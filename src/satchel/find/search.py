"""One search: candidates from the index, scored together with their neighbours and ranked in one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from satchel.base.errors import Interrupted, StoreDamaged
from satchel.base.paging import COUNTED
from satchel.base.records import NamedTuple, dataclass, field, replace
from satchel.find import exact, scopes, scoring
from satchel.find.documents import until_expiry
from satchel.find.exact import Texts, resolve, with_forms
from satchel.find.index import ScopedIndex, scoped_index
from satchel.find.kind import LIVE, SUPERSEDED
from satchel.find.query import MAX_TERMS, Query
from satchel.find.scopes import Either, Scope, Term
from satchel.find.scoring import Surroundings
from satchel.find.words import WORD
from satchel.store.transaction import NO_LIMIT, Row, Transaction, set_of

if TYPE_CHECKING:
    from satchel.find.meaning import Meaning

# How many of the newest matches the rarest terms select in larger scopes.
CANDIDATES = 2_000

# How many of the newest matches of a single term are scored: only length and repetition distinguish them.
OF_ONE_TERM = 500

# How many of them are scored where the index tells which contain most of the query without reading them; a page that
# reaches further scores all.
BEST = 150

# The most terms of a query in scopes larger than :data:`CANDIDATES`: the rarest are kept, because work grows with
# terms times documents.
MANY_TERMS = 24

# recall@10 on LoCoMo is .750 with 60, .747 with 100 and .746 with 40
_WITH_SURROUNDINGS = 60
_SILENCE_MS = 30 * 60 * 1_000


class Hit(NamedTuple):
    """One result; a higher score is better.

    Attributes:
        by_surroundings: whether only its neighbours contain a term.
    """

    document: int
    score: float
    by_surroundings: bool


@dataclass(frozen=True)
class Ranking:
    """All results of a search, best first.

    Attributes:
        hits: live items, then superseded ones; those that were not scored have a score of 0.
        total: the number of results, including those that no requested page reaches; one more than
            :data:`satchel.base.paging.COUNTED` (or than the end of the page) means that there are more.
        own: the score of each term in a document itself.
        evidence: the same including the neighbours, where they were considered, and the share of its loop or task last.
        bonus: what a document gains if the question names its author, or loses if it names another.
        meaning: what the best gain or lose by their meaning, where that was considered.
        is_cut: whether the query had more words than the limit.
        limits: notes about the bounds of the search, and about names in the query that do not occur.
    """

    hits: tuple[Hit, ...]
    total: int
    terms: tuple[Term, ...]
    idf: tuple[float, ...]
    own: dict[int, list[float]]
    evidence: dict[int, list[float]]
    bonus: dict[int, float]
    is_cut: bool = False
    limits: tuple[str, ...] = ()
    meaning: Mapping[int, float] = field(default_factory=dict)
    is_of_best: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader about omissions and replacements."""
        return self.limits + (CUT,) * self.is_cut


CUT = f"the search has more than {MAX_TERMS} words: only the first {MAX_TERMS} were looked for"

# Factor for the score of a result that sinks.
SUNK = 0.5

# Returns which of some documents to rank lower.
Sink = Callable[[Sequence[int]], Collection[int]]

NOTHING = Ranking((), 0, (), (), {}, {}, {})

# A lookup leaves out results that contain less of the query, by idf, than this share of what the best contains: where
# a result contains both of two words, the rarer one alone is enough; the other is only if it is nearly as rare.
LEAST_SHARE = 0.42

# The most matches to check for expiry by number; beyond, all expired documents are read.
_FEW_MATCHES = 500

_MAX_NAMED = 3

# Smaller populations count as this many, because rarity among fewer documents means little.
_FEW = 20


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
    reach: int | None = None,
    order: str | None = None,
    meaning: Meaning | None = None,
) -> Ranking:
    """Search, and return every result in one snapshot, so that its pages are consistent."""
    if not query.terms:
        return NOTHING
    small = scopes.SMALL if small is None else small
    candidates = CANDIDATES if candidates is None else candidates
    # a list by time needs every match, and so does a page beyond the best
    is_of_best = order is None and (reach is None or 0 < reach <= BEST)
    index = scoped_index(transaction, scope, population, BEST if is_of_best else None)
    population = index.population
    is_long = len(query.terms) > MANY_TERMS and population > candidates
    is_small = population <= small and not is_long
    # a search that only counts shows no similar names, which take as long to find as all else
    nearest_in = None if reach == 0 else texts
    resolved = resolve(transaction, query, index, texts, nearest_in)
    if is_small and query.condition is None:
        resolved = with_forms(resolved, index)
    terms = resolved.terms
    if not terms:
        return replace(NOTHING, limits=resolved.missing)
    if len(terms) == 1 and query.condition is None:
        small, candidates = min(small, OF_ONE_TERM), min(candidates, OF_ONE_TERM)
        is_small = population <= small
    most = small if is_small else candidates
    choosing: tuple[Term, ...] = ()
    if query.condition is None and not is_small and len(terms) > 1:
        terms, choosing = _rarest(index, terms, candidates, MANY_TERMS if is_long else len(terms))
        if not terms:
            return replace(NOTHING, limits=resolved.missing)
    oldest = order == "asc"
    result = index.matches(terms, choosing, query.condition, most + 1, newest=not is_small and not oldest)
    matches, unread = result.read, result.unread
    is_bounded = len(matches) + unread.total() > most
    if oldest and is_bounded:
        del matches[0]
    is_flat = not choosing and (len(terms) == 1 or query.condition is not None)
    demoted, excluded = _demotions(transaction, scope, [row[0] for row in matches[:most]], every=is_bounded and is_flat)
    if scope.status == "live":
        excluded |= {document for document, status in demoted.items() if status == SUPERSEDED}
    matched = [row for row in matches[:most] if row[0] not in excluded]
    matched = resolved.only_whole(matched, terms)
    judged_population = max(population, _FEW)
    if query.is_lookup and near_best and len(resolved.things) > 1:
        matched = scoring.with_most(
            matched, resolved.places(terms), resolved.whole, judged_population, LEAST_SHARE, unread
        )
    limits = [*resolved.missing]
    unscored: list[int] = []
    least_total = 0
    if is_bounded and is_flat and reach is not None:
        bound = max(COUNTED, reach) if reach else NO_LIMIT - 1
        selecting = query.condition or Either(terms)
        numbers = index.documents(selecting, min(bound + 1 + len(excluded), NO_LIMIT), newest=not oldest, filtered=True)
        without = excluded.union(row[0] for row in matched)
        of_name = resolved.only.get(terms[0])
        unscored = [number for number in numbers if number not in without and (of_name is None or number in of_name)]
        is_listed_whole = len(matched) + len(unscored) <= bound
        limits += _listing_notes(len(matched), None if is_listed_whole else bound, order)
        least_total = 0 if is_listed_whole else bound + 1
        del unscored[max(0, bound - len(matched)) :]
    elif is_bounded or choosing or unread:
        scored = len(matches) if unread else None
        limits.append(_ranking_note(choosing, most if is_bounded else None, scored, oldest=oldest))
    if not matched:
        if query.is_lookup and not query.names and len(terms) == 1 and not index.documents(terms[0], 1):
            (word,) = terms[0].words
            limits.append(exact.missing_note(transaction, word, (word,), index, nearest_in))
        return replace(NOTHING, terms=terms, limits=tuple(limits), is_cut=query.is_cut)
    words, weights = resolved.words(terms), [term.weight for term in terms]
    scores, idf = scoring.term_scores(matched, weights, population, words, unread)
    totals = {document: sum(values) for document, values in scores.items()}
    evidence: dict[int, list[float]] = {}
    bonus: dict[int, float] = {}
    if query.is_question and query.condition is None:
        best = _ordered(totals, {})[:_WITH_SURROUNDINGS]
        agents = transaction.ask(
            "SELECT id, folded FROM agents WHERE project_id = :project", {"project": scope.project_id}
        )
        places, rows = _surroundings(transaction, best, scope)
        evidence = scoring.with_surroundings(scores, places)
        authors = _authors_named(agents.all(), query.terms)
        for document, shares in evidence.items():
            total = sum(shares)
            # a match by time alone would gain whatever its text is
            if authors and (document in scores or shares[-1]):
                is_theirs = rows[document][1] in authors
                bonus[document] = scoring.AUTHOR_BONUS if is_theirs else (scoring.OTHERS_SHARE - 1) * total
            totals[document] = total + bonus.get(document, 0.0)
        if near_best:
            flat = scores
            if judged_population > population:
                flat, _ = scoring.term_scores(matched, weights, judged_population, words, unread)
            totals = scoring.near_best(totals, flat, evidence)
    by_meaning: Mapping[int, float] = {}
    if meaning is not None and query.text and len(totals) > 1:
        by_meaning = meaning.shares(transaction, scope.project_id, query.text, totals)
        totals |= {document: max(0.0, totals[document] + share) for document, share in by_meaning.items()}
    ordered = _ordered(totals, demoted)
    sunk = () if sink is None else sink(ordered)
    if sunk:
        totals |= {document: totals[document] * SUNK for document in sunk}
        ordered = _ordered(totals, demoted)
    if index.may_read_best and order is None and not is_flat and len(matches) > BEST and (reach or 0) > BEST:
        # the pages before had these, in this order
        again = partial(rank, transaction, query, scope, small=small, candidates=candidates, population=population)
        first = again(sink=sink, texts=texts, near_best=near_best, reach=BEST, meaning=meaning)
        totals = {hit.document: hit.score for hit in first.hits} | totals
        ordered = list(dict.fromkeys([*(hit.document for hit in first.hits), *ordered]))
    size = max(least_total, len(totals) + len(unscored))
    if unscored and (order is not None or (reach or 0) > len(totals.keys() - demoted.keys())):
        totals |= dict.fromkeys(unscored, 0.0)
        ordered = _ordered(totals, demoted)
    hits = tuple(
        Hit(document, totals[document], document in evidence and document not in scores) for document in ordered
    )
    omitted = query.is_cut, tuple(limits)
    return Ranking(hits, size, terms, tuple(idf), scores, evidence, bonus, *omitted, by_meaning, bool(unread))


def newest(transaction: Transaction, scope: Scope, offset: int, limit: int) -> tuple[Ranking, int]:
    """Return a page of the newest documents in a scope, and the number of them, in one snapshot.

    The inner query runs from the last document, which is usually the newest, so that the sort keeps the first page
    early.
    """
    where, values = scopes.conditions_of(scope)

    def look() -> tuple[Ranking, int]:
        rows = transaction.all(
            f"""
            SELECT id FROM (
                SELECT d.id, d.created_at FROM documents d WHERE {where} ORDER BY d.id DESC LIMIT {NO_LIMIT}
            ) AS found ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset
            """,
            {**values, "limit": limit, "offset": offset},
        )
        hits = tuple(Hit(row[0], 0.0, by_surroundings=False) for row in rows)
        return replace(NOTHING, hits=hits), scopes.count(transaction, scope)

    of_scope = tuple(value for name, value in values.items() if name != "now")
    return until_expiry(transaction, scope.project_id, scope.now, (where, of_scope, offset, limit), look)


def disagreement() -> StoreDamaged:
    """Return the error for a result whose item does not exist."""
    return StoreDamaged("the search index lists an item that does not exist", "`satchel doctor --rebuild` rebuilds it")


def _ordered(totals: Mapping[int, float], demoted: Mapping[int, int]) -> list[int]:
    ordered = sorted(totals, reverse=True)
    ordered.sort(key=totals.__getitem__, reverse=True)
    if demoted:
        ordered.sort(key=demoted.__contains__)
    return ordered


def _rarest(
    index: ScopedIndex, terms: Sequence[Term], most: int, max_terms: int
) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    # the second is empty where all terms may select; common terms add much work and little to the ranking
    counted = sorted((count, place) for place, count in enumerate(index.counts(terms, most + 1)))
    scored = counted
    if len(counted) > max_terms:
        scored = [pair for pair in counted if pair[0]][:max_terms]
    choosing: list[int] = []
    total = 0
    for count, place in scored:
        if choosing and total and (count > most or total + count > most):
            break
        choosing.append(place)
        total += count
    scored_terms = tuple(terms[place] for place in sorted(place for _, place in scored))
    if len(choosing) == len(counted):
        return scored_terms, ()
    return scored_terms, tuple(terms[place] for place in sorted(choosing))


def _listing_notes(scored: int, bound: int | None, order: str | None) -> list[str]:
    notes = [] if order else [f"the newest {scored:,} are ranked, the others follow newest first"]
    which = "oldest" if order == "asc" else "newest"
    return notes if bound is None else [*notes, f"more match: the {which} {bound:,} are listed"]


def _ranking_note(choosing: Sequence[Term], most: int | None, scored: int | None, *, oldest: bool) -> str:
    words = [" ".join(term.words) for term in choosing[:_MAX_NAMED]]
    more = " and others" if len(choosing) > _MAX_NAMED else ""
    with_words = f" with {' or '.join(words)}{more} (the rarest words here)" if words else ""
    items = "items" if most is None else f"the {'oldest' if oldest else 'newest'} {most:,} items"
    best = "" if scored is None else f"the best {scored} {'' if most is None else 'of '}"
    return f"only {best}{items}{with_words} were ranked: a rarer word narrows it down"


def _demotions(
    transaction: Transaction, scope: Scope, documents: Sequence[int], *, every: bool = False
) -> tuple[dict[int, int], set[int]]:
    parts: list[str] = []
    if scope.status != "superseded":
        run = "" if scope.run_id is None else " AND run_id = :run"
        parts.append(f"SELECT id, status FROM documents WHERE project_id = :project AND status <> {LIVE}{run}")
    if documents:
        of_documents = f" AND id IN {set_of(documents)}" if len(documents) <= _FEW_MATCHES and not every else ""
        # expired documents may not be deleted yet
        parts.append(f"SELECT id, 0 FROM documents WHERE expires_at <= :now AND project_id = :project{of_documents}")
    if not parts:
        return {}, set()
    rows = transaction.all(
        " UNION ALL ".join(parts), {"project": scope.project_id, "run": scope.run_id, "now": scope.now}
    )
    return {number: status for number, status in rows if status}, {number for number, status in rows if not status}


def _authors_named(agents: Iterable[Row], terms: Sequence[Term]) -> frozenset[int]:
    words = {word for term in terms for word in term.words}
    return frozenset(number for number, name in agents if (parts := WORD.findall(name)) and words.issuperset(parts))


def _neighbour(sign: str, direction: str, distance: int) -> str:
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
    placed = transaction.all(f"SELECT {_PLACE}, {_NEAR} FROM documents d WHERE d.id IN {set_of(documents)}")
    rows: dict[int, Row] = {row[0]: row for row in placed}
    missing = {number for row in placed for number in row[5:] if number is not None} - rows.keys()
    if missing:
        condition, values = scopes.filters(scope)
        parts = [f"d.id IN {set_of(missing)}"] + ([condition] if condition else [])
        if scope.kinds:
            # the plus keeps the planner from the index by kind, which would read every document
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
    return [_place(row, rows) for row in placed], rows


def _place(row: Row, rows: dict[int, Row]) -> Surroundings:
    document, _, run, segment, created = row[:5]
    neighbours = []
    for distance, number in zip((1, 2, 1, 2), row[5:9], strict=True):
        neighbour = rows.get(number)
        if neighbour is None or (segment is None and abs(neighbour[4] - created) > _SILENCE_MS):
            continue
        neighbours.append((distance, int(number)))
    return Surroundings(document, None if segment is None else (run, segment), tuple(neighbours))


# How long a search may take, by the clock.
SECONDS = 5.0

_NEWEST = 200

_FEWER: dict[str, Any] = {"small": _NEWEST, "candidates": _NEWEST, "texts": None, "reach": None, "meaning": None}

# The part of the time that may have passed by the end of each try, its options, and what a note says of it.
_TRIES: tuple[tuple[float, dict[str, Any], str], ...] = (
    (0.7, {}, ""),
    (1.0, _FEWER, f"only the newest {_NEWEST} matches were ranked"),
)

_LATE = f"incomplete: the search took more than {SECONDS:g} s"

SHORTENED = f"{_LATE}, so some results show the beginning of their text"


class SearchTime:
    """The time of one search, from now on."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._began = monotonic()

    def is_over(self, share: float = 1.0) -> bool:
        return monotonic() - self._began > SECONDS * share

    def rank(self, query: Query, scope: Scope, **options: Any) -> Ranking:
        """Return what :func:`rank` does, or of too long a search what there was time for."""
        transaction = self._transaction
        outer = transaction.is_out_of_time
        for share, fewer, note in _TRIES:

            def has_passed(share: float = share) -> bool:
                return self.is_over(share) or (outer is not None and outer())

            try:
                with transaction.savepoint():
                    transaction.is_out_of_time = has_passed
                    try:
                        ranking = rank(transaction, query, scope, **options | fewer)
                    finally:
                        transaction.is_out_of_time = outer
            except Interrupted:
                if not self.is_over(share) or (outer is not None and outer()):
                    raise
                continue
            return replace(ranking, limits=(*ranking.limits, f"{_LATE}, so {note}")) if note else ranking
        return replace(NOTHING, limits=(f"{_LATE} and was given up: search for fewer words",))
