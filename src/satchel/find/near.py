"""Near-duplicates of texts: what says nearly the same is kept beside it and pointed out.

What is written seldom (rules, decisions, strategies) is looked for by an ordinary search, whose first results are
judged by the words they share with the shorter text. What is written often (notes) is looked for by bands that are
recorded with it (:mod:`satchel.find.likeness`), and judged by the words they share of all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from satchel.base.records import dataclass
from satchel.base.text import shortened
from satchel.find.kind import Kind
from satchel.find.likeness import MIN_WORDS, words_of
from satchel.store.transaction import Transaction, set_of

THRESHOLD = 60
"""From so many percent of shared words on a text is pointed to another."""

_MAX_NAMED = 3

_LEAST_OF_SHORTER = 4
"""Of lines of four change logs three shared words point 15 of 100 to a commit of another project, four point 4."""

_FIRST = 5
_MAX_TERMS = 24
_SMALL, _CANDIDATES = 400, 200


@dataclass(frozen=True, slots=True, order=True)
class Near:
    """An item that says nearly the same.

    Attributes:
        distance: what its likeness lacks of 100 percent, so that the most alike come first.
    """

    distance: int
    item: int
    text: str

    def note(self, kind: Kind, shown: str | None = None) -> str:
        """Return the sentence that points to it."""
        return (
            f"{kind.ref(self.item)} says nearly the same ({100 - self.distance} % alike): "
            f"{shortened(shown or self.text)}"
        )


def share_of_shorter(one: Collection[str], other: Collection[str]) -> int:
    """Return how many percent of the words of the shorter text the other has too; 0 for few, unless they are all."""
    mine, theirs = frozenset(one), frozenset(other)
    shared = len(mine & theirs)
    if shared < _LEAST_OF_SHORTER and (shared < MIN_WORDS or mine != theirs):
        return 0
    return round(100 * shared / min(len(mine), len(theirs)))


def share_of_both(one: Collection[str], other: Collection[str]) -> int:
    """Return how many percent of the words of two texts are in both; 0 for fewer than three."""
    shared = len(frozenset(one) & frozenset(other))
    return round(100 * shared / (len(one) + len(other) - shared)) if shared >= MIN_WORDS else 0


def judged(
    text: str, others: Iterable[tuple[int, str]], likeness: Callable[[Collection[str], Collection[str]], int]
) -> tuple[Near, ...]:
    """Return which of other texts say nearly the same as one, the most alike first, three at most.

    Args:
        others: items with their texts.
        likeness: :func:`share_of_shorter` or :func:`share_of_both`.
    """
    words = frozenset(words_of(text))
    judged_ones = ((likeness(words, words_of(other)), item, other) for item, other in others)
    found = [Near(100 - percent, item, other) for percent, item, other in judged_ones if percent >= THRESHOLD]
    return tuple(sorted(found)[:_MAX_NAMED])


def by_search(
    transaction: Transaction,
    project_id: int,
    kind: Kind,
    text: str,
    read: Callable[[Transaction, Sequence[int]], Mapping[int, str]],
) -> tuple[Near, ...]:
    """Return which items of a kind say nearly the same as a text.

    Args:
        read: returns the texts to compare of items that hold, by their numbers.
    """
    if len(words_of(text)) < MIN_WORDS:
        return ()
    # who writes nothing that is looked for leaves the search alone: its modules take 4 ms to load
    from satchel.find import search
    from satchel.find.conditions import Term
    from satchel.find.query import Query, word_counts
    from satchel.find.scopes import Scope

    terms = tuple(Term((word,)) for word in list(word_counts(text))[:_MAX_TERMS])
    scope = Scope(project_id, kinds=(kind,), status="all")
    hits = search.rank(transaction, Query(terms), scope, small=_SMALL, candidates=_CANDIDATES).hits[:_FIRST]
    if not hits:
        return ()
    documents = set_of(hit.document for hit in hits)
    items = [row[0] for row in transaction.all(f"SELECT item_id FROM documents WHERE id IN {documents}")]
    return judged(text, read(transaction, items).items(), share_of_shorter)
