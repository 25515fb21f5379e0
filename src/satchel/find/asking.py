"""What a query asks for, once it is known which of the names in it occur."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from satchel.base.records import dataclass, field
from satchel.find.exact import Term, Texts, choose
from satchel.find.index import ScopedIndex
from satchel.find.query import Query
from satchel.find.scoring import Matched
from satchel.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Asking:
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

    def only_whole(self, matched: Sequence[Matched], terms: Sequence[Term]) -> list[Matched]:
        """Leave out the counts of words in documents that do not hold the whole, and what then holds nothing."""
        only = [(place, self.only[term]) for place, term in enumerate(terms) if term in self.only]
        if not only:
            return list(matched)
        kept: list[Matched] = []
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


def ask(transaction: Transaction, query: Query, index: ScopedIndex, texts: Texts | None) -> Asking:
    """Settle how the names in a query are looked for, by what occurs in the scope."""
    if not query.names:
        return Asking(tuple((term,) for term in query.terms))
    whole: list[tuple[Term, ...]] = []
    others: list[tuple[Term, ...]] = [(term,) for term in query.beside]
    only: dict[Term, frozenset[int]] = {}
    said: list[str] = []
    for name in query.names:
        chosen = choose(transaction, name, index, texts)
        stage = chosen.stage
        if stage.apart:
            others += [(term,) for term in stage.terms]
        else:
            whole += [stage.terms] if stage.terms else []
        if chosen.only is not None:
            only |= {term: only.get(term, frozenset()) | chosen.only for term in stage.terms}
        said += [chosen.note] if chosen.note else []
    return Asking((*whole, *others), len(whole), only, tuple(said))
