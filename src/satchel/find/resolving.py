"""Resolving a query: its names and words are looked up in the index, and other forms of words added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from satchel.base.records import dataclass, field, replace
from satchel.find import exact, scoring
from satchel.find.conditions import Term
from satchel.find.exact import Texts
from satchel.find.index import ScopedIndex
from satchel.find.query import Query
from satchel.find.words import forms_of
from satchel.store.transaction import Transaction

_FORM_WEIGHT = 0.3
"""Weight of another form of a word (expiry for expire), relative to the word."""

_MAX_FORMS = 24


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """A query after its names were looked up in the index.

    Attributes:
        things: what to search for, each as alternative terms: the spellings of a name, or a single term.
        whole: how many of the things, at the start, are names that occur as a whole.
        only: the documents in which a term counts; a term that is not a key counts everywhere.
        missing: notes about names that do not occur.
        word_of: the words of the query of which terms are other forms.
    """

    things: tuple[tuple[Term, ...], ...]
    whole: int = 0
    only: Mapping[Term, frozenset[int]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    word_of: Mapping[Term, Term] = field(default_factory=dict)

    @property
    def terms(self) -> tuple[Term, ...]:
        return tuple(dict.fromkeys(term for thing in self.things for term in thing))

    def only_whole(self, matched: Sequence[scoring.Matched], terms: Sequence[Term]) -> list[scoring.Matched]:
        """Drop counts of terms in documents without the whole name, and documents left without a count."""
        only = [(place, self.only[term]) for place, term in enumerate(terms) if term in self.only]
        if not only:
            return list(matched)
        result: list[scoring.Matched] = []
        for document, counts in matched:
            wrong = [place for place, documents in only if document not in documents]
            if wrong:
                changed = bytearray(counts)
                for place in wrong:
                    changed[2 * place + 2 : 2 * place + 4] = b"\0\0"
                if any(changed[2:]):
                    result.append((document, bytes(changed)))
            else:
                result.append((document, counts))
        return result

    def words(self, terms: Sequence[Term]) -> dict[int, int]:
        """Return the positions of other forms, each with that of its word."""
        places = {term: place for place, term in enumerate(terms)} if self.word_of else {}
        return {places[form]: places[word] for form, word in self.word_of.items() if form in places and word in places}

    def places(self, terms: Sequence[Term]) -> list[list[int]]:
        """Return the positions of each thing's terms."""
        places = {term: place for place, term in enumerate(terms)}
        return [[places[term] for term in thing if term in places] for thing in self.things]


def resolve(transaction: Transaction, query: Query, index: ScopedIndex, texts: Texts | None) -> ResolvedQuery:
    """Decide how to search for the names of a query, by what occurs in the scope."""
    if not query.names:
        return ResolvedQuery(tuple((term,) for term in query.terms))
    whole: list[tuple[Term, ...]] = []
    other_things: list[tuple[Term, ...]] = [(term,) for term in query.other_terms]
    only: dict[Term, frozenset[int]] = {}
    missing: list[str] = []
    for name in query.names:
        choice = exact.choose(transaction, name, index, texts, is_lookup=query.is_lookup)
        stage = choice.stage
        if stage.separate:
            other_things += [(term,) for term in stage.terms]
        else:
            whole += [stage.terms] if stage.terms else []
        if choice.only is not None:
            only |= {term: only.get(term, frozenset()) | choice.only for term in stage.terms}
        missing += [choice.note] if choice.note else []
    return ResolvedQuery((*whole, *other_things), len(whole), only, tuple(missing))


def with_forms(resolved: ResolvedQuery, index: ScopedIndex) -> ResolvedQuery:
    """Add other forms of the words that occur, as alternatives of a lower weight."""
    present = {term.words for term in resolved.terms}
    forms = {
        term: [Term((form,), _FORM_WEIGHT * term.weight) for form in forms_of(term.words[0]) if (form,) not in present]
        for term in resolved.terms
        if len(term.words) == 1 and not term.in_text
    }
    candidates = list(dict.fromkeys(form for of_term in forms.values() for form in of_term))[:_MAX_FORMS]
    if not candidates:
        return resolved
    counts = index.counts(candidates, 1)
    existing = {form for form, count in zip(candidates, counts, strict=True) if count}
    things = tuple(
        tuple(dict.fromkeys((*thing, *(form for term in thing for form in forms.get(term, ()) if form in existing))))
        for thing in resolved.things
    )
    word_of = {form: term for term, others in forms.items() for form in others if form in existing}
    return replace(resolved, things=things, word_of=word_of)
