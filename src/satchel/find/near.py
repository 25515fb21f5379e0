"""Near-duplicates of texts: both are stored, and the writer gets a note."""

# Rarely written kinds (rules, decisions, strategies) use an ordinary search, and compare its first results by the
# share of the shorter text's words. Notes, which are written often, use bands that are recorded with them
# (`satchel.find.likeness`), and the share of all words.

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from satchel.base.lazy import lazy_regex
from satchel.base.records import dataclass
from satchel.base.text import shortened
from satchel.find.kind import Kind
from satchel.find.likeness import MIN_WORDS, words_of
from satchel.find.words import WORD
from satchel.store.transaction import Transaction, set_of

# The percentage of shared words from which texts are near-duplicates.
THRESHOLD = 60

_MAX_NAMED = 3

# In lines of four change logs, three shared words matched another project's commit in 15 % of cases, four in 4 %.
_LEAST_OF_SHORTER = 4

# The share of all words of both texts that just as many shared words need: long lines have four of any short one.
_LEAST_OF_FEW = 0.3

_NEGATIONS = frozenset(
    """
    no not never none nothing nor neither without avoid cannot don doesn didn isn aren wasn weren won wouldn shouldn
    mustn couldn hasn haven forbid forbidden prohibited unless except
    nicht nie niemals kein keine keinen ohne ne pas jamais aucun aucune sans nunca jamás sin ningún ninguna
    """.split()
)
_REMOVALS = frozenset(
    """
    drop drops dropped dropping remove removes removed removing removal delete deletes deleted deprecate deprecates
    deprecated revert reverts reverted
    """.split()
)
# Words that make the opposite of a text when one takes the place of the other.
_OPPOSITES = tuple(
    tuple(pair.split())
    for pair in (
        "enable disable|enabled disabled|allow deny|before after|add remove|adds removes|added removed|"
        "on off|increase decrease|min max|minimum maximum|first last|start stop|open close|opened closed|push pull|"
        "read write|client server|upgrade downgrade|lock unlock|encode decode|encrypt decrypt|pass fail|passes fails|"
        "true false|left right|above below|more less|sync async|public private|commit rollback|up down"
    ).split("|")
)

_mark = lazy_regex(
    r"`[^`\n]{1,80}`|'[^'\s]{1,80}'|\b\w*\d[\w.:-]*|[\w.-]*[\w]/[\w./-]+|\b\w+(?:_\w+)+|\b\w+(?:::\w+)+"
    r"|\b\w+\.\w+\b|\b[a-z]+[A-Z]\w*"
)

# a name that is also meant by its last part: `table.insert()` by insert
_name = lazy_regex(r"(?:[^\W\d]+(?:\.|::))*([^\W\d]+)(?:\(\D*)?=?")

_MODALS = frozenset("may might must can should shall will".split())
_clause_end = lazy_regex(r"[,;:.]\s+|\s+but\s+")
_subject = lazy_regex(r"(.+?)\b(?:is|are|be|must|should|may|can|has|have)\b")
_sides = lazy_regex(r"(.+?)\b(?:instead of|rather than|over|not)\b(.+)")
_LEAST_STATED = 2

_FIRST = 5
_MAX_TERMS = 24
_SMALL, _CANDIDATES = 400, 200


@dataclass(frozen=True, slots=True, order=True)
class Near:
    """An item that says nearly the same.

    Attributes:
        distance: 100 minus the percentage of shared words, so that the most similar sort first.
        is_opposite: whether it seems to deny or reverse the text.
    """

    distance: int
    item: int
    text: str
    is_opposite: bool = False

    def note(self, kind: Kind, title: str | None = None) -> str:
        alike = f"says nearly the same ({100 - self.distance} % alike)"
        says = "seems to say the opposite" if self.is_opposite else alike
        return f"{kind.ref(self.item)} {says}: {shortened(title or self.text)}"


def share_of_shorter(one: Collection[str], other: Collection[str]) -> int:
    """Return the percentage of the shorter text's words that both share; 0 for few, unless those are all."""
    mine, theirs = frozenset(one), frozenset(other)
    shared = len(mine & theirs)
    if shared < _LEAST_OF_SHORTER and (shared < MIN_WORDS or mine != theirs):
        return 0
    if shared == _LEAST_OF_SHORTER and shared < _LEAST_OF_FEW * len(mine | theirs):
        return 0
    return round(100 * shared / min(len(mine), len(theirs)))


def share_of_both(one: Collection[str], other: Collection[str]) -> int:
    """Return the percentage of the words of two texts that both share; 0 for fewer than three."""
    shared = len(frozenset(one) & frozenset(other))
    return round(100 * shared / (len(one) + len(other) - shared)) if shared >= MIN_WORDS else 0


def most_similar(
    text: str,
    others: Iterable[tuple[int, str]],
    likeness: Callable[[Collection[str], Collection[str]], int],
    *,
    with_opposites: bool = False,
) -> tuple[Near, ...]:
    """Return up to three of the items that say nearly the same as a text, or the opposite, most similar first."""
    words = frozenset(words_of(text))
    percentages = ((likeness(words, words_of(other)), item, other) for item, other in others)
    similar = [
        Near(100 - percent, item, other, is_opposite)
        for percent, item, other in percentages
        if (percent >= THRESHOLD or (with_opposites and contradict(text, other)))
        and (not (is_opposite := are_opposed(text, other)) or with_opposites)
        and not _have_own_marks(text, other)
    ]
    return tuple(sorted(similar)[:_MAX_NAMED])


def are_distinct(one: str, other: str) -> bool:
    """Return whether texts of nearly the same words say different things.

    One denies or reverses what the other says, or each has a number, path, type or other name that the other lacks.
    """
    return are_opposed(one, other) or _have_own_marks(one, other)


def are_opposed(one: str, other: str) -> bool:
    """Return whether one of two texts of nearly the same words denies or reverses what the other says."""
    mine, theirs = frozenset(WORD.findall(one.lower())), frozenset(WORD.findall(other.lower()))
    if any(mine.isdisjoint(words) != theirs.isdisjoint(words) for words in (_NEGATIONS, _REMOVALS)):
        return True
    only_mine, only_theirs = mine - theirs, theirs - mine
    return contradict(one, other) or any(
        (a in only_mine and b in only_theirs) or (b in only_mine and a in only_theirs) for a, b in _OPPOSITES
    )


def contradict(one: str, other: str) -> bool:
    """Return whether one of two texts, however short, denies a statement of the other, or wants B over A, not A over B.

    A statement is a text, or a denying clause with the subject of the clause before, of the very same telling words.
    """
    if any(
        mine == theirs and denied != denies and len(mine) >= _LEAST_STATED
        for mine, denied in _statements(one)
        for theirs, denies in _statements(other)
    ):
        return True
    first, second = (_sides().fullmatch(" ".join(text.lower().split())) for text in (one, other))
    if first is None or second is None:
        return False
    mine, theirs = ([frozenset(words_of(side)) for side in match.groups()] for match in (first, second))
    return bool(mine[1] and theirs[1]) and mine[1] <= theirs[0] and theirs[1] <= mine[0]


def _statements(text: str) -> list[tuple[frozenset[str], bool]]:
    clauses = _clause_end().split(text.lower())
    texts = [text.lower()]
    for before, clause in pairwise(clauses):
        subject = _subject().match(before)
        if subject is not None and _denies(clause):
            texts.append(f"{subject[1]} {clause}")
    return [(frozenset(words_of(one)) - _NEGATIONS - _MODALS, _denies(one)) for one in texts]


def _denies(text: str) -> bool:
    return not _NEGATIONS.isdisjoint(WORD.findall(text))


def _have_own_marks(one: str, other: str) -> bool:
    my_marks, their_marks = _marks(one), _marks(other)
    return _lacks(other, my_marks - their_marks) and _lacks(one, their_marks - my_marks)


def _lacks(text: str, marks: Collection[str]) -> bool:
    words = frozenset(words_of(text)) if marks else frozenset()
    return any((name := _name().fullmatch(mark)) is None or not words.issuperset(words_of(name[1])) for mark in marks)


def _marks(text: str) -> frozenset[str]:
    return frozenset(match[0].strip("`'\".,:;()").lower() for match in _mark().finditer(text))


def by_search(
    transaction: Transaction,
    project_id: int,
    kind: Kind,
    text: str,
    read: Callable[[Transaction, Sequence[int]], Mapping[int, str]],
    *,
    with_opposites: bool = False,
) -> tuple[Near, ...]:
    """Return the items of a kind that say nearly the same; ``read`` loads the texts to compare."""
    if len(words_of(text)) < (_LEAST_STATED if with_opposites else MIN_WORDS):
        return ()
    # imported here so that a write without a search does not load its modules
    from satchel.find import search
    from satchel.find.query import Query, word_counts
    from satchel.find.scopes import Scope, Term

    terms = tuple(Term((word,)) for word in list(word_counts(text))[:_MAX_TERMS])
    scope = Scope(project_id, kinds=(kind,), status="all")
    hits = search.rank(transaction, Query(terms), scope, small=_SMALL, candidates=_CANDIDATES).hits[:_FIRST]
    if not hits:
        return ()
    documents = set_of(hit.document for hit in hits)
    items = [row[0] for row in transaction.all(f"SELECT item_id FROM documents WHERE id IN {documents}")]
    return most_similar(text, read(transaction, items).items(), share_of_shorter, with_opposites=with_opposites)
