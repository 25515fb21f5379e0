"""Items that a text is about: those with enough of its rare words, in a store of any size, or none."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import islice, pairwise

from satchel.base.records import dataclass
from satchel.find import search
from satchel.find.index import scoped_index
from satchel.find.kind import KIND_OF, Kind
from satchel.find.query import Query, word_counts
from satchel.find.scopes import Scope, Term, population_of
from satchel.find.scoring import K1
from satchel.find.stemming import stems
from satchel.find.words import WORD, forms_of
from satchel.store.transaction import Transaction, set_of

# How many words of a text are used: two thirds from its start, one third from its end.
MOST_WORDS = 48

_MOST_PAIRS, _MOST_NAMES = 16, 8

# A word in at most one of 64 documents, or in three, is rare: an item with it may be meant.
_RARE_AMONG, _RARE = 64, 3

_MOST_ITEMS = 200

# Extra weight of two words that are adjacent in both texts, and of a name of several words.
_PAIR_WEIGHT = 0.3

# A name of several words, such as ``res.status`` or ``Retry-After``: it tells something even if none of them does.
_NAME = re.compile(r"(?<![^\W_])[^\W_]{2,}(?:(?:[._-]|::)[^\W\d_][^\W_]+)+")

# Weight of an everyday word: even where it is rare in a store, it tells little.
_EVERYDAY_WEIGHT = 0.25

# The least number of documents to assume.
_FEW = 50

_CANDIDATES = 1_000

# A word in more than one of 20 documents, and in more than :data:`_FEW`, counts as an everyday word.
_COMMON = 20

# A word in so many items tells nothing of one like them; so many items with rarer words are ranked.
LIKE_COMMON = 500

_LIKE_TERMS, _LIKE_CANDIDATES = 12, 60

# Words of requests of any kind, chosen by judgement; they seldom name what a project is about.
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

# Function words of German, French, Spanish, Italian, Portuguese and Dutch.
_FOREIGN = """
ab aber alle alles als am auch auf aus außer bei beim bis bitte da dabei dafür damit danach dann daran darauf daraus
darf darin das dass davon dazu dein dem den denn der des deshalb dich die dies diese diesem diesen dieser dieses dir
doch dort du durch ein eine einem einen einer eines einige er erst es etwa etwas euch für ganz geht gemacht genau genug
gerade gibt gut habe haben hast hat hatte hier hin ich ihm ihn ihr ihre im immer ins ist ja jede jedem jeden jeder jedes
jetzt kann kannst kein keine keinen können könnte lassen lass mach machen macht mal man mehr mein meine mich mir mit
muss müssen nach neu neue neuen nicht nichts noch nun nur ob oder ohne schon sehr sein seine seit selbst sich sie sind
soll sollen sollte sollten statt über um und uns unser unsere unter viel viele vom von vor war warum was weil weiter
wenn wer werden wie wieder will wir wird wirst wo wohl wollen wurde würde wurden zu zum zur zwei zwischen
à au aucun aussi autre aux avec avoir bien ce cela ces cet cette chaque comme comment dans de depuis des dont du elle
elles en encore entre est et être eux faire fait faut ici il ils je jusque la le les leur leurs lui mais même mes moi
mon ne nos notre nous on ou où par pas peu peut plus pour pourquoi pouvez quand que quel quelle qui quoi sa sans se ses
si soit son sont sous sur ta te tes toi ton tous tout toute toutes très trop tu un une vers vos votre vous
al algo antes así aún aunque cada como con contra cual cuando de del desde donde dos el él ella ellos en entre era esa
ese eso esta está están este esto estos favor fue ha hace hacer hacia han hasta hay la las le les lo los más me mi
mientras mis muy nada ni no nos nuestra nuestro o otra otro para pero poco por porque puede pues que qué quien se sea
según ser si sí sin sobre son su sus también tan te tiene todo todos tu un una uno usted y ya yo
anche che ci come con da dal dalla degli dei del della delle di dove e è ed gli ha ho il in io la le lo ma mi nel nella
non o per perché più può quando quello questa questo se sei si sia sono su sul tra tutti tutto un una
ao aos as até com como da das de do dos e é ela ele em então essa esse esta este eu foi isso já mais mas mesmo na não
nas no nos nós num o os ou para pela pelo por porque quando que são se sem ser seu sua também tem um uma você
aan als bij dan dat de deze die dit door een en er geen haar heb hebben heeft het hij hoe ik in is je kan maar met mij
moet naar niet nog of om ook op te tot uit van veel voor waar was wat we wel wij worden wordt zijn zo
"""


@dataclass(frozen=True, slots=True)
class RelatedItem:
    """An item that a text is about.

    Attributes:
        strength: how much of the text's words it contains, by rarity, relative to chance: 1 is what the best of as many
            unrelated items would contain.
        words: the words of the text that it contains, the rarest first.
        has_rare: whether one of the words is rare.
    """

    kind: Kind
    item: int
    strength: float
    words: tuple[str, ...]
    has_rare: bool

    @property
    def ref(self) -> str:
        return self.kind.ref(self.item)


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    count: int
    weight: float
    is_everyday: bool
    is_searched: bool


@dataclass(frozen=True, slots=True)
class Related:
    """The items that a text is about, the strongest first.

    Attributes:
        telling: how many of the text's words are no everyday words, known or not.
    """

    items: tuple[RelatedItem, ...]
    telling: int


def related(transaction: Transaction, text: str, scope: Scope) -> Related:
    """Return the items that contain telling words of a text.

    A word counts by its rarity in the project, ``ln(N / n)``. Independent words occur together in one of N documents by
    chance if their weights add up to ln N, and a text of many words has as many more chances. So the sum is compared
    with ``ln(N * words)``, which holds for a store of any size.
    """
    population = max(_FEW, population_of(transaction, scope))
    words = _words(transaction, text, scope, population)
    known_stems = [stem for stem, word in words.items() if word.is_searched]
    telling_words = sum(not word.is_everyday for word in words.values())
    names = _names(text, words.values())
    if not names and all(words[stem].is_everyday for stem in known_stems):
        return Related((), telling_words)
    pairs = dict.fromkeys((*names, *_pairs(text, words.values())))
    terms = (*(Term((words[stem].text,)) for stem in known_stems), *map(Term, pairs))
    ranking = search.rank(transaction, Query(terms), scope, small=2 * _CANDIDATES, candidates=_CANDIDATES)
    noise = math.log(population * len(words))
    words_by_text = {words[stem].text: words[stem] for stem in known_stems}
    # the ranking also looks for other forms of the words
    words_by_text = {form: word for text, word in words_by_text.items() for form in forms_of(text)} | words_by_text
    for place, term in enumerate(ranking.terms):
        if term.words in names:
            count = sum(map(bool, (scores[place] for scores in ranking.own.values())))
            names[term.words] = _Word(" ".join(term.words), count, ranking.idf[place], False, True)
    rare = max(_RARE, population // _RARE_AMONG)
    results: list[_Result] = []
    for document, scores in ranking.own.items():
        contained: list[_Word] = []
        strength = 0.0
        for term, score, idf in zip(ranking.terms, scores, ranking.idf, strict=True):
            if not score or not idf:
                continue
            amount = score / (idf * term.weight * (K1 + 1) / 2)  # 1 for one occurrence in a text of average length
            if len(term.words) > 1:
                strength += _PAIR_WEIGHT * idf * amount
                contained += filter(None, [names.get(term.words)])
            else:
                word = words_by_text[term.words[0]]
                strength += word.weight * term.weight * amount
                if word not in contained:
                    contained.append(word)
        telling = [word for word in contained if not word.is_everyday]
        if not telling:
            continue
        contained.sort(key=lambda word: -word.weight)
        results.append((strength / noise, document, contained, any(word.count <= rare for word in telling)))
    results.sort(key=lambda result: (-result[0], -result[1]))
    return Related(tuple(_items(transaction, results[:_MOST_ITEMS])), telling_words)


def query_like(transaction: Transaction, project_id: int, text: str) -> Query:
    """Return a query of a text's most telling words: frequent in it, rare elsewhere, not in it alone, not everyday.

    It has no terms if no other item of the project contains any of the words.
    """
    counts, everyday = word_counts(text), set(stems(_EVERYDAY + _FOREIGN))
    candidates = [word for word, _ in counts.most_common() if everyday.isdisjoint(stems(word))][:_LIKE_CANDIDATES]
    index = scoped_index(transaction, Scope(project_id))
    document_counts = index.counts([Term((word,)) for word in candidates], LIKE_COMMON)
    rarity = {word: number for word, number in zip(candidates, document_counts, strict=True) if number > 1}
    telling = sorted(rarity, key=lambda word: (rarity[word] >= LIKE_COMMON, -counts[word] / (1 + rarity[word]), word))
    return Query(tuple(Term((word,)) for word in telling[:_LIKE_TERMS]))


# The strength of a document, its id, the words in it, and whether one is rare.
_Result = tuple[float, int, list[_Word], bool]


def _items(transaction: Transaction, results: Sequence[_Result]) -> list[RelatedItem]:
    if not results:
        return []
    documents = set_of(document for _, document, _, _ in results)
    rows = transaction.all(f"SELECT id, kind, item_id FROM documents WHERE id IN {documents}")
    items = {document: (KIND_OF[kind], item) for document, kind, item in rows}
    return [
        RelatedItem(*items[document], strength, tuple(word.text for word in contained), has_rare)
        for strength, document, contained, has_rare in results
        if document in items
    ]


def _words(transaction: Transaction, text: str, scope: Scope, population: int) -> dict[str, _Word]:
    words = [word for word in word_counts(text) if len(word) > (2 if word.isdigit() else 1)]
    if len(words) > MOST_WORDS:
        words = words[: MOST_WORDS * 2 // 3] + words[-(MOST_WORDS - MOST_WORDS * 2 // 3) :]
    everyday = set(stems(_EVERYDAY + _FOREIGN))
    by_stem: dict[str, str] = {}
    for word in words:
        by_stem.setdefault(next(iter(stems(word)), word), word)
    most = max(_FEW, population // _COMMON)
    terms = [Term((word,)) for word in by_stem.values()]
    counts = scoped_index(transaction, Scope(scope.project_id), population).counts(terms, most + 1)
    words_by_stem: dict[str, _Word] = {}
    for (stem, word), count in zip(by_stem.items(), counts, strict=True):
        weight = math.log(max(1.0, (population + 1) / (count + 0.5)))
        is_everyday = stem in everyday or count > most
        weight *= _EVERYDAY_WEIGHT if is_everyday else 1
        words_by_stem[stem] = _Word(word, count, weight, is_everyday, 0 < count <= most)
    return words_by_stem


def _pairs(text: str, words: Iterable[_Word]) -> list[tuple[str, ...]]:
    by_text = {word.text: word for word in words if word.is_searched}
    pairs: dict[tuple[str, ...], None] = {}
    for pair in pairwise(match[0].lower() for match in WORD.finditer(text)):
        both = [by_text[word] for word in pair if word in by_text]
        if len(both) == 2 and both[0] is not both[1] and not all(word.is_everyday for word in both):
            pairs[pair] = None
            if len(pairs) == _MOST_PAIRS:
                break
    return [*pairs]


def _names(text: str, words: Iterable[_Word]) -> dict[tuple[str, ...], _Word | None]:
    """Return the words of each name in a text that may occur in the project, without the count of the name."""
    counts = {word.text: word.count for word in words}
    names = (tuple(WORD.findall(match[0].lower())) for match in _NAME.finditer(text))
    known = (name for name in names if not counts.keys().isdisjoint(name) and all(counts.get(one, 1) for one in name))
    return dict.fromkeys(islice(known, _MOST_NAMES))
