"""Known errors near to a reported one: the same in other words, or similar, so that their solutions may help."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.records import NamedTuple
from satchel.find import search
from satchel.find.kind import Kind
from satchel.find.likeness import text_likeness, words_of
from satchel.find.query import parse
from satchel.find.scopes import Scope
from satchel.find.words import STOP_WORDS, words_in
from satchel.keep.patterns.containing import VAGUE, Wording, matching_words, names_of
from satchel.keep.patterns.records import TENTATIVE, ErrorPattern, SimilarError, solutions_of
from satchel.store.transaction import Transaction, set_of

MOST = 3
"""Maximum number of similar errors."""

LEAST = 60
"""Minimum percentage of common telling words."""

_MOST_OWN = 15
"""Maximum percentage of the words of the shorter message that the longer does not have."""

_LOOKED_AT = 20
"""Number of search results compared word by word."""

_MOST_WORDS = 24


class Neighbour(NamedTuple):
    """A known error that shares words with another; the example is its text as first reported."""

    number: int
    hash: str
    error_type: str
    message: str
    example: str

    @property
    def wording(self) -> Wording:
        return Wording(self.error_type if " " not in self.error_type else "", self.example, self.message)


def neighbours(transaction: Transaction, project_id: int, error_type: str, message: str, now: int) -> list[Neighbour]:
    """Return the known errors that share the most telling words with one, best first."""
    words = [word for word in dict.fromkeys(words_in(f"{error_type} {message}")) if word.lower() not in STOP_WORDS]
    scope = Scope(project_id, kinds=(Kind.ERROR_PATTERN,), status="all", now=now)
    query = parse(" ".join(words[:_MOST_WORDS]))
    hits = search.rank(transaction, query, scope, near_best=False).hits[: _LOOKED_AT + 1]
    if not hits:
        return []
    rows = transaction.all(
        f"""
        SELECT d.id, p.id, p.pattern_hash, p.error_type, p.message, p.example
        FROM documents d JOIN error_patterns p ON p.id = d.item_id
        WHERE d.id IN {set_of(hit.document for hit in hits)} AND p.project_id = :project
        """,
        {"project": project_id},
    )
    by_document = {row[0]: Neighbour(*row[1:]) for row in rows}
    return [by_document[hit.document] for hit in hits if hit.document in by_document]


def same_in_words(near: Sequence[Neighbour], wording: Wording) -> tuple[Neighbour, tuple[str, ...]] | None:
    """Return the known error that a report is in other words, with the words that match; None if no single one is."""
    matched = [(one, words) for one in near if (words := matching_words(wording, one.wording))]
    best = max((len(words) for _, words in matched), default=0)
    of_most = [(one, words) for one, words in matched if len(words) == best]
    return of_most[0] if len(of_most) == 1 else None


def similar_to(
    transaction: Transaction,
    project_id: int,
    pattern: ErrorPattern,
    now: int,
    near: Sequence[Neighbour] | None = None,
) -> tuple[SimilarError, ...]:
    """Return the known errors most similar to one, best first; ``near`` are its neighbours if they are known."""
    if near is None:
        near = neighbours(transaction, project_id, pattern.error_type, pattern.message, now)
    words, names = _words(pattern.message), set(names_of(pattern.message))
    alike: list[tuple[int, Neighbour, tuple[str, ...]]] = []
    for one in near:
        # errors with the same message differ in their place
        if one.number == pattern.id or one.message == pattern.message:
            continue
        theirs, their_names = _words(one.message), set(names_of(one.message))
        shared = tuple(word for word in words if word in theirs)
        fewer = min(len(words), len(theirs))
        # errors of which each says what the other does not are others, however much of their wording is the same
        is_one_sided = 100 * (fewer - len(shared)) <= _MOST_OWN * fewer
        is_about = not (names and their_names) or names <= their_names or their_names <= names
        likeness = text_likeness(words, theirs)
        if likeness >= LEAST and is_one_sided and is_about:
            alike.append((likeness, one, shared))
    best = sorted(alike, key=lambda one: (-one[0], -one[1].number))[:MOST]
    fixes = solutions_of(transaction, project_id, [one.number for _, one, _ in best], TENTATIVE) if best else {}
    return tuple(
        SimilarError(
            Kind.ERROR_PATTERN.ref(one.number),
            one.error_type,
            one.message,
            likeness,
            next(iter(fixes.get(one.number, ())), None),
            shared,
        )
        for likeness, one, shared in best
    )


def _words(message: str) -> dict[str, None]:
    return dict.fromkeys(word for word in words_of(message) if word not in VAGUE)
