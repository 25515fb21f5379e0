"""More like this: the query that a text itself is."""

from __future__ import annotations

from satchel.find.exact import Term
from satchel.find.index import index_of
from satchel.find.query import Query, word_counts
from satchel.find.search import Scope
from satchel.store.transaction import Transaction

_TERMS = 12
_CANDIDATES = 60
_COMMON = 2_000


def query_like(transaction: Transaction, project_id: int, text: str) -> Query:
    """Return the query of a text's most telling words: often in it, rare elsewhere, yet not in it alone.

    Args:
        project_id: where the words are counted.
        text: that of an item in the index.

    Returns:
        The query; without terms when no other item holds any of the words.
    """
    counts = word_counts(text)
    common = [word for word, _ in counts.most_common(_CANDIDATES)]
    here = index_of(transaction).within(Scope(project_id))
    found = here.counts([Term((word,)) for word in common], _COMMON)
    rarity = {word: number for word, number in zip(common, found, strict=True) if number > 1}
    telling = sorted(rarity, key=lambda word: (rarity[word] >= _COMMON, -counts[word] / (1 + rarity[word]), word))
    return Query(tuple(Term((word,)) for word in telling[:_TERMS]))
