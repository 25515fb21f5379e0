"""Similar errors: different from a new one, but their solutions may help."""

from __future__ import annotations

from satchel.find import search
from satchel.find.kind import Kind
from satchel.find.likeness import text_likeness, words_of
from satchel.find.query import parse
from satchel.find.scopes import Scope
from satchel.keep.patterns.records import TENTATIVE, ErrorPattern, SimilarError, solutions_of
from satchel.store.transaction import Transaction, set_of

MOST = 3
"""Maximum number of results."""

LEAST = 50
"""Minimum percentage of common words.

All pairs of benchmarks/data/errors/seen.json with one cause and two signatures pass, and 0.1 % of unrelated pairs.
"""

_LOOKED_AT = 20
"""Number of search results compared word by word."""


def similar_to(transaction: Transaction, project_id: int, pattern: ErrorPattern, now: int) -> tuple[SimilarError, ...]:
    """Return the known errors most similar to one, best first."""
    text = f"{pattern.error_type} {pattern.message}"
    scope = Scope(project_id, kinds=(Kind.ERROR_PATTERN,), status="all", now=now)
    hits = search.rank(transaction, parse(text), scope).hits[: _LOOKED_AT + 1]
    if not hits:
        return ()
    rows = transaction.all(
        f"""
        SELECT p.id, p.error_type, p.message FROM documents d JOIN error_patterns p ON p.id = d.item_id
        WHERE d.id IN {set_of(hit.document for hit in hits)} AND p.project_id = :project AND p.id <> :own
        """,
        {"project": project_id, "own": pattern.id},
    )
    words = words_of(text)
    alike = sorted(
        (
            (text_likeness(words, words_of(f"{kind} {message}")), number, kind, message)
            for number, kind, message in rows
        ),
        key=lambda one: (-one[0], -one[1]),
    )
    best = [one for one in alike if one[0] >= LEAST][:MOST]
    fixes = solutions_of(transaction, project_id, [one[1] for one in best], TENTATIVE) if best else {}
    return tuple(
        SimilarError(Kind.ERROR_PATTERN.ref(number), kind, message, likeness, next(iter(fixes.get(number, ())), None))
        for likeness, number, kind, message in best
    )
