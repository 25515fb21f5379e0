"""Matches of a query within the time of a briefing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from satchel.base.errors import Interrupted
from satchel.base.records import replace
from satchel.brief.briefing import run
from satchel.brief.briefing.sources import BriefingContext
from satchel.find import search
from satchel.find.kind import Kind
from satchel.find.query import Query, parse
from satchel.find.scopes import SMALL, Scope
from satchel.keep.kinds import meaning_for
from satchel.store.transaction import Transaction, answer, set_of

if TYPE_CHECKING:
    from satchel.brief.briefing.collecting import Deadline
    from satchel.find.meaning import Meaning

__all__ = ["Relevance", "find_in_time", "parse"]

# How well items match a query, by kind number and item id: 0 to 1 of the best match.
Relevance = Mapping[int, Mapping[int, float]]

# The part of its time that a briefing spends on the query before it tries fewer candidates.
_SHARE_OF_QUERY = 0.6

# The same by the clock, for both tries: the time of a database server is no processor time of this program.
_SHARES_OF_CLOCK = 0.5, 0.75

# The part of its time that the briefing may take in all after that, to read the rest.
_SHARE_IN_HASTE = 1.5

_SMALL_IN_HASTE = 200

# How long the vectors of new texts may take each time.
_SECONDS_OF_MEANING = 0.05

# How many entries are counted: the rarity of words hardly differs beyond.
_MOST_COUNTED = 20_000

# The scope that is scored whole, and how many documents of a larger one: a briefing has no pages of results.
_SMALL, _CANDIDATES = 2_000, 1_000


def find_in_time(context: BriefingContext, notes: list[str], query: Query, deadline: Deadline) -> Relevance:
    """Return the matches of a query; short of time among fewer candidates, and at last none."""
    tries = (_SHARE_OF_QUERY, _SMALL, _CANDIDATES), (1.0, _SMALL_IN_HASTE, _SMALL_IN_HASTE)
    for (share, small, candidates), of_clock in zip(tries, _SHARES_OF_CLOCK, strict=True):
        deadline.share, deadline.share_of_clock = share, of_clock
        try:
            with context.transaction.savepoint():
                relevance = _find(context, query, small, candidates)
        except Interrupted:
            if not deadline.has_passed():
                raise
            continue
        finally:
            deadline.share_of_clock = 1.0
        if share == 1.0:
            notes.append(f"the store was slow: the query was answered from the newest {_SMALL_IN_HASTE} that match")
            deadline.share = _SHARE_IN_HASTE
        deadline.share = max(1.0, deadline.share)
        return relevance
    deadline.share = _SHARE_IN_HASTE
    notes.append("the store was slow: the query was not answered")
    return {}


_HAS_OTHERS = "SELECT 1 WHERE " + " OR ".join(
    f"EXISTS (SELECT 1 FROM {kind.table} WHERE project_id = :project)" for kind in Kind if kind is not Kind.ENTRY
)


def _find(context: BriefingContext, query: Query, small: int, candidates: int) -> Relevance:
    # Entries are ranked among themselves, since a word that is rare among them may be usual elsewhere: with 5,600 other
    # items beside 600 turns of LoCoMo a briefing of 1,000 tokens then shows .822 of the evidence, else .795.
    transaction, scope = context.transaction, Scope(context.loop.project_id, now=context.now)
    meaning = meaning_for(context.workplace, query)
    if meaning is not None:
        meaning = replace(meaning, seconds=_SECONDS_OF_MEANING)
    ranking = search.rank(
        transaction, query, scope, small=small, candidates=candidates, near_best=False, meaning=meaning
    )
    scores = {hit.document: hit.score for hit in ranking.hits}
    # where a project has only entries, every word is as rare among them
    if scores and transaction.one(_HAS_OTHERS, {"project": scope.project_id}):
        # the plus keeps SQLite from reading every entry
        rows = transaction.all(f"SELECT id FROM documents WHERE id IN {set_of(scores)} AND +kind = {Kind.ENTRY.number}")
        of_entries = {document: scores.pop(document) for (document,) in rows}
        if of_entries:
            scores |= _among_entries(transaction, query, scope, of_entries, small, candidates, meaning)
    best = max(scores.values(), default=0.0)
    relevance: dict[int, dict[int, float]] = {}
    if best <= 0:
        return relevance
    documents = sorted(scores, key=lambda document: (-scores[document], -document))[:SMALL]
    items = {
        document: (kind, item)
        for document, kind, item in transaction.all(
            f"SELECT id, kind, item_id FROM documents WHERE id IN {set_of(documents)}"
        )
    }
    for document in documents:
        kind, item = items[document]
        relevance.setdefault(kind, {})[item] = max(scores[document], 0.0) / best
    entries = relevance.get(Kind.ENTRY.number, {})
    for number, newest in answer(run.newest_scratchpads(context, entries)).items() if entries else ():
        entries[newest] = max(entries.get(newest, 0.0), entries[number])
    return relevance


def _among_entries(
    transaction: Transaction,
    query: Query,
    scope: Scope,
    scores: Mapping[int, float],
    small: int,
    candidates: int,
    meaning: Meaning | None,
) -> dict[int, float]:
    counted = transaction.one(
        "SELECT count(*) FROM (SELECT 1 FROM context WHERE project_id = :project LIMIT :most) AS counted",
        {"project": scope.project_id, "most": _MOST_COUNTED},
    )
    ranking = search.rank(
        transaction,
        query,
        replace(scope, kinds=(Kind.ENTRY,)),
        small=small,
        candidates=candidates,
        population=counted[0] if counted else 0,
        near_best=False,
        meaning=meaning,
    )
    own = {hit.document: hit.score for hit in ranking.hits}
    highest = max(scores.values(), default=0.0)
    best = max(own.values(), default=0.0)
    return {document: score * highest / best for document, score in own.items()} if best > 0 and highest > 0 else {}
