"""What a text is about: the items that hold enough of its rare words, in a store of any size, or none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from satchel.base.records import dataclass
from satchel.find import search
from satchel.find.conditions import Term
from satchel.find.index import Index, index_of, scoped_index
from satchel.find.kind import Kind
from satchel.find.query import Query, word_counts
from satchel.find.scopes import Scope, population_of
from satchel.find.scoring import K1
from satchel.find.words import WORD
from satchel.store.transaction import Transaction, set_of

MOST_WORDS = 48
"""So many words of a text are looked for: two thirds from its begin, one from its end."""

_MOST_PAIRS = 16

LEAST = 1.0
"""From this strength on an item counts as what a text is about."""

LEAST_WORDS, LEAST_SHARE = 2, 0.15
"""So many telling words it must hold, and this share of the text's, by their weight."""

_MOST_UNKNOWN = 2
"""What no item holds weighs at most so many times as much as the rest: a pasted log is full of that."""

OF_BEST = 0.7
"""What is weaker than this share of the strongest item stays out."""

_PAIR_WEIGHT = 0.3
"""What two words that stand together in both texts add, beside what each counts."""

_EVERYDAY_WEIGHT = 0.25
"""What an everyday word counts: a store may hold it rarely and yet it says nothing."""

_FEW = 50
"""A smaller store counts as if it had so many documents."""

_CANDIDATES = 1_000

_COMMON = 20
"""A word that more than one document of so many holds, and more than :data:`_FEW`, says as little as an everyday one.

In 100,000 records of few different words a prompt took 185 ms of the processor, with it 60.
"""

_LIKE_TERMS, _LIKE_CANDIDATES, _LIKE_COMMON = 12, 60, 2_000

_EVERYDAY = """
able above accept according across actual add ago ahead allow almost alone along already alright always answer anybody
anyone anything apart apparently appear apply around ask available avoid away back bad base basic become begin behave
behavior behaviour behind believe below beside best better between big bit both break brief bring broken bug bunch
call came case cause certain change check choose clean clear close code come command comment commit common compare
complete component concern consider contain continue copy correct cost couple course create current day deal decide
default define delete depend describe detail difference different difficult directory discuss document done doubt
draft drop during each early easy edit effect either else empty end enough ensure enter entire error especially etc
even ever every everyone everything everywhere exact example except exist expect explain explanation fact fail failure
fair false far fast feature feel few field figure file fill final find fine finish first five fix follow form four
free fresh full function further general get give glad go goes gone good got great guess guide hand handle happen hard
hello help hey hi high hint hold hope hour idea imagine implement import important improve include indeed info inside
instance instead interest investigate issue item keep kind know large last late later latest lead learn least leave
left less let level like likely line list little live local locally long longer look lose lot low main major make
manage many mark match matter maybe mean meanwhile mention merge message method might minor minute miss mistake mode
moment month morning move much must name near necessary need never new next nice night nobody none normal note nothing
notice number obvious occur ok okay old one open option order otherwise outside page part particular pass past path
people perhaps person pick piece place plan play plus point possible potentially practice prefer present pretty
previous probably problem proceed process produce project proper propose provide public pull purpose push put quarter
question quick quickly quite random rather read ready real realise realize really reason recent recommend red refactor
refer regard regular related relevant remain remember remind remove rename repeat replace report repo repository
request require respect rest result return review rewrite right roll room rule run safe sake said save say second
section see seem send sense sensible sentence separate set seven several shape share short shorten show side similar
simple simply since single six size slightly slow small smaller solution solve somebody somehow someone something
sometimes somewhere soon sorry sort sound space special specific split stage stand standard start state stay step
still stick stop straight strange stuff style such suggest sum summarise summarize summary support suppose sure surely
take task tell ten terribly test text thank thanks thing think third though thought thousand three throw till time
tiny today together told tomorrow tonight tool top topic total touch toward trouble true try turn twice two type
typical undo unless unsure update upon use useful user usual valid value variable various version view wait walk want
way week welcome whatever whether whole wide wish within without wonder word work world worth wrap write wrong year
yes yesterday yet zero
"""
"""Words in which people ask for anything at all, by judgement; what a project is about is seldom said in them."""


@dataclass(frozen=True, slots=True)
class Met:
    """An item that a text is about.

    Attributes:
        item: its number within its kind.
        strength: how much it holds of the text's words, by their rarity, against what chance would bring: 1 is what
            the best of as many unrelated items would hold.
        words: the words of the text that it holds, the rarest first.
    """

    kind: Kind
    item: int
    strength: float
    words: tuple[str, ...]

    @property
    def ref(self) -> str:
        """Its short id."""
        return self.kind.ref(self.item)


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a text: how it is looked for, how many documents hold it, and what it counts."""

    text: str
    count: int
    weight: float
    is_everyday: bool
    is_looked_for: bool


def about(transaction: Transaction, text: str, scope: Scope, most: int) -> list[Met]:
    """Return what a text is about, the strongest first; nothing where no item is well met.

    A word counts by its rarity in the project, as ``ln(N / n)``. Words that are independent of each other meet in one
    of N documents by chance where their weights add up to ln N; a text of many words has as many more chances. So the
    sum is judged by ``ln(N * words)``, which holds for a store of any size.

    Args:
        text: of a long one words are looked for from its begin and its end.
        most: how many at most.
    """
    population = max(_FEW, population_of(transaction, scope))
    words = _words(transaction, text, scope, population)
    known = [stem for stem, word in words.items() if word.is_looked_for]
    if sum(not words[stem].is_everyday for stem in known) < LEAST_WORDS:
        return []
    pairs = _pairs(text, words.values())
    terms = (*(Term((words[stem].text,)) for stem in known), *pairs)
    ranking = search.rank(transaction, Query(terms), scope, small=2 * _CANDIDATES, candidates=_CANDIDATES)
    of_known = sum(words[stem].weight for stem in known)
    of_others = sum(word.weight for word in words.values()) - of_known
    total = of_known + min(of_others, _MOST_UNKNOWN * of_known)
    noise = math.log(population * len(words))
    places = {words[stem].text: words[stem] for stem in known}
    found: list[tuple[float, int, list[_Word]]] = []
    for document, scores in ranking.own.items():
        held: list[_Word] = []
        strength = 0.0
        for term, score, idf in zip(ranking.terms, scores, ranking.idf, strict=True):
            if not score or not idf:
                continue
            amount = score / (idf * term.weight * (K1 + 1) / 2)  # 1 for one occurrence in a text of average length
            if len(term.words) > 1:
                strength += _PAIR_WEIGHT * idf * amount
            else:
                word = places[term.words[0]]
                strength += word.weight * amount
                held.append(word)
        telling = sum(not word.is_everyday for word in held)
        if telling >= LEAST_WORDS and sum(word.weight for word in held) >= LEAST_SHARE * total:
            found.append((strength / noise, document, held))
    found.sort(key=lambda one: (-one[0], -one[1]))
    best = max(LEAST, OF_BEST * found[0][0]) if found else LEAST
    return _items(transaction, [one for one in found[:most] if one[0] >= best])


def query_like(transaction: Transaction, project_id: int, text: str) -> Query:
    """Return the query of a text's most telling words: often in it, rare elsewhere, yet not in it alone.

    Args:
        project_id: where the words are counted.
        text: that of an item in the index.

    Returns:
        The query; without terms when no other item holds any of the words.
    """
    counts = word_counts(text)
    common = [word for word, _ in counts.most_common(_LIKE_CANDIDATES)]
    here = scoped_index(transaction, Scope(project_id))
    found = here.counts([Term((word,)) for word in common], _LIKE_COMMON)
    rarity = {word: number for word, number in zip(common, found, strict=True) if number > 1}
    telling = sorted(rarity, key=lambda word: (rarity[word] >= _LIKE_COMMON, -counts[word] / (1 + rarity[word]), word))
    return Query(tuple(Term((word,)) for word in telling[:_LIKE_TERMS]))


def _items(transaction: Transaction, found: Sequence[tuple[float, int, list[_Word]]]) -> list[Met]:
    if not found:
        return []
    documents = set_of(document for _, document, _ in found)
    rows = transaction.all(f"SELECT id, kind, item_id FROM documents WHERE id IN {documents}")
    kinds = {kind.number: kind for kind in Kind}
    items = {document: (kinds[kind], item) for document, kind, item in rows}
    return [
        Met(*items[document], strength, tuple(word.text for word in sorted(held, key=lambda word: -word.weight)))
        for strength, document, held in found
        if document in items
    ]


def _words(transaction: Transaction, text: str, scope: Scope, population: int) -> dict[str, _Word]:
    """Return the words to look for, by their stems."""
    every = [word for word in word_counts(text) if len(word) > 1 and not word.isdigit()]
    if len(every) > MOST_WORDS:
        every = every[: MOST_WORDS * 2 // 3] + every[-(MOST_WORDS - MOST_WORDS * 2 // 3) :]
    index = index_of(transaction)
    everyday = {stem for _, _, stem in index.tokens(_EVERYDAY)}
    by_stem: dict[str, str] = {}
    for word in every:
        by_stem.setdefault(_stem(index, word), word)
    most = max(_FEW, population // _COMMON)
    terms = [Term((word,)) for word in by_stem.values()]
    counts = scoped_index(transaction, Scope(scope.project_id), population).counts(terms, most + 1)
    found: dict[str, _Word] = {}
    for (stem, word), count in zip(by_stem.items(), counts, strict=True):
        weight = math.log(max(1.0, (population + 1) / (count + 0.5)))
        is_everyday = stem in everyday or count > most
        weight *= _EVERYDAY_WEIGHT if is_everyday else 1
        found[stem] = _Word(word, count, weight, is_everyday, 0 < count <= most)
    return found


def _pairs(text: str, words: Iterable[_Word]) -> list[Term]:
    """Return the words that stand side by side in a text, but for what no item holds and what is everyday alone."""
    by_text = {word.text: word for word in words if word.is_looked_for}
    found: dict[tuple[str, str], None] = {}
    for pair in pairwise(match[0].lower() for match in WORD.finditer(text)):
        some = [by_text[word] for word in pair if word in by_text]
        if len(some) == 2 and some[0] is not some[1] and not all(word.is_everyday for word in some):
            found[pair] = None
            if len(found) == _MOST_PAIRS:
                break
    return [Term(pair) for pair in found]


def _stem(index: Index, word: str) -> str:
    return next((stem for _, _, stem in index.tokens(word)), word)
