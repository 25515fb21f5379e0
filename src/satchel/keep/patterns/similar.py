"""Errors that are like a new one: never the same, but what fixed them may help."""

from __future__ import annotations

from satchel.find import search
from satchel.find.kind import Kind
from satchel.find.likeness import text_likeness, words_of
from satchel.find.query import parse
from satchel.find.scopes import Scope
from satchel.keep.patterns.records import TENTATIVE, ErrorPattern, SimilarError, solutions_of
from satchel.store.transaction import Transaction, set_of

MOST = 3
"""So many are shown."""

LEAST = 50
"""From so many percent of common words on one error is like another.

Of the pairs in benchmarks/data/errors/seen.json with the same cause and another signature all were, of those with
nothing in common 0.1 %.
"""

_LOOKED_AT = 20
"""So many results of the search are compared word by word."""


def similar_to(transaction: Transaction, project_id: int, pattern: ErrorPattern, now: int) -> tuple[SimilarError, ...]:
    """Return the known errors that are most like one, the most alike first.

    Args:
        now: milliseconds UTC.
    """
    said = f"{pattern.error_type} {pattern.message}"
    scope = Scope(project_id, kinds=(Kind.ERROR_PATTERN,), status="all", now=now)
    hits = search.rank(transaction, parse(said), scope).hits[: _LOOKED_AT + 1]
    if not hits:
        return ()
    rows = transaction.all(
        f"""
        SELECT p.id, p.error_type, p.message FROM documents d JOIN error_patterns p ON p.id = d.item_id
        WHERE d.id IN {set_of(hit.document for hit in hits)} AND p.project_id = :project AND p.id <> :own
        """,
        {"project": project_id, "own": pattern.id},
    )
    words = words_of(said)
    alike = sorted(
        (
            (text_likeness(words, words_of(f"{kind} {message}")), number, kind, message)
            for number, kind, message in rows
        ),
        key=lambda one: (-one[0], -one[1]),
    )
    chosen = [one for one in alike if one[0] >= LEAST][:MOST]
    fixes = solutions_of(transaction, project_id, [one[1] for one in chosen], TENTATIVE) if chosen else {}
    return tuple(
        SimilarError(Kind.ERROR_PATTERN.ref(number), kind, message, likeness, next(iter(fixes.get(number, ())), None))
        for likeness, number, kind, message in chosen
    )
