"""The query language: any text is a valid query, and operators apply only on request."""

# A natural query is a set of words, any of which may match. Only words of letters and digits reach the full-text
# engine, each in quotes, so no text can inject syntax.

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import islice

from satchel.base.errors import InvalidInput
from satchel.base.invisible import first_invisible, without_hidden
from satchel.base.records import dataclass, replace
from satchel.base.text import check_query
from satchel.find import exact
from satchel.find.exact import Name
from satchel.find.scopes import Condition, Either, Every, Term, Without
from satchel.find.words import (
    STOP_WORDS,
    WORD,
    identifier_parts,
    joined_identifiers,
    mixed_parts,
    unspaced_parts,
    unspaced_runs,
)

MAX_TERMS = 64
SYNTAXES = ("natural", "operators")
# A query with at least three words that are not exact names is a question, which the neighbours of a match may help to
# answer; fewer words are a lookup.
QUESTION_TERMS = 3

_LANGUAGES = frozenset(
    "csharp golang haskell java javascript kotlin perl php python ruby rust scala typescript".split()
)
# Weight of a language's name beside three other words: code in a language seldom names it.
_LANGUAGE_WEIGHT = 0.3

_MAX_OPERATOR_TERMS = 24
_PART_WEIGHT = 0.5
_PHRASE_WEIGHT = 2.0
# the parts of parseConfig are searched too, and the whole has to outweigh them
_IDENTIFIER_WEIGHT = 2.0
_MAX_PHRASE_WORDS = 16
_MAX_DEPTH = 32
_MAX_SHOWN_CHARS = 80
# without the opening quote inside, so that a text of only quotes is not read again from each of them
_QUOTED = re.compile(r"\"[^\"]+\"|“[^“”]+”")
# words joined without a space, as in a path, a dotted name, foo-bar or a.ts:42
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]++(?:[-_./:\\@#+][^\W_]++)+")


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query.

    Attributes:
        condition: what every match must meet; None accepts anything that matches a term.
        is_question: whether the neighbours of a match count too.
        other_terms: the terms that are not names.
        is_lookup: whether to return only matches that contain most of it.
        text: the query as it was typed, if matches may be ranked by its meaning too.
    """

    terms: tuple[Term, ...]
    condition: Condition | None = None
    is_question: bool = False
    is_cut: bool = False
    names: tuple[Name, ...] = ()
    other_terms: tuple[Term, ...] = ()
    is_lookup: bool = False
    text: str = ""


def parse(text: str, syntax: str = "natural") -> Query:
    """Parse a query; without a letter or digit it has no terms.

    The ``operators`` syntax knows AND, OR, NOT or -, prefix*, "phrases" and parentheses, and raises InvalidInput with
    the position of an error.
    """
    check_query(text)
    if first_invisible(text) is not None:
        text, _ = without_hidden(text)
    return _Operators(text).parse() if syntax == "operators" else _natural(text)


def words(text: str) -> list[str]:
    """Return the distinct words of a text in order and lower case, without stop words unless there are no others."""
    return _telling(WORD.findall(text))


def _telling(all_words: Iterable[str]) -> list[str]:
    lowered = list(dict.fromkeys(word.lower() for word in all_words))
    return [word for word in lowered if word not in STOP_WORDS] or lowered


def word_counts(text: str) -> Counter[str]:
    """Return how often each indexed word of a text occurs, without stop words."""
    all_words = (match[0].lower() for match in WORD.finditer(text))
    return Counter(piece for word in all_words if word not in STOP_WORDS for piece in _searched_as(word))


def _searched_as(word: str) -> list[str]:
    runs = unspaced_runs(word)
    if not runs:
        return [word]
    return [pair for run in runs for pair in _pairs(run)] + mixed_parts(word)


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else unspaced_parts(run)[len(run) :]


def _natural(text: str) -> Query:
    terms = _bag(text)
    if not terms:
        return Query(())
    is_cut = len(words(text)) > MAX_TERMS
    reading = exact.read(text)
    names, telling = reading.names, reading.telling
    reads_as_question = "?" in text or len(telling) < len({word.lower() for word in reading.plain})
    if (
        len(telling) >= QUESTION_TERMS
        or len(names) > exact.MAX_NAMES
        or (reads_as_question and telling and len(telling) + len(names) >= QUESTION_TERMS)
    ):
        # in a sentence, a hyphenated word is seldom a name
        names = tuple(
            name for name in names[: exact.MAX_NAMES] if WORD.fullmatch(name.text) and not name.text.isdigit()
        )
        other_terms = _bag(text, frozenset(name.text for name in names)) if names else ()
        return Query(terms, is_question=True, is_cut=is_cut, names=names, other_terms=other_terms, text=text)
    other_terms = tuple(Term((piece,)) for word in telling for piece in _searched_as(word)) if names else ()
    # a name is looked up by its letters
    meaningful = text if not names and len(terms) > 1 else ""
    return Query(terms, is_cut=is_cut, names=names, other_terms=other_terms, is_lookup=True, text=meaningful)


def _bag(text: str, without: Container[str] = ()) -> tuple[Term, ...]:
    terms: dict[tuple[str, ...], Term] = {}

    def add(phrase: tuple[str, ...], weight: float) -> None:
        if phrase and len(terms) < MAX_TERMS and (phrase not in terms or terms[phrase].weight < weight):
            terms[phrase] = Term(phrase, weight)

    # long texts are mostly repetition
    distinct = [word for word in dict.fromkeys(WORD.findall(text)) if word not in without]
    plain = _telling(distinct)
    says_enough = sum(word not in _LANGUAGES for word in plain) >= QUESTION_TERMS
    for word in plain[:MAX_TERMS]:
        weight = _LANGUAGE_WEIGHT if says_enough and word in _LANGUAGES else 1.0
        for piece in islice(_searched_as(word), MAX_TERMS):
            add((piece,), weight)
    for quoted in _distinct(_QUOTED, text):
        add(_phrase(quoted), _PHRASE_WEIGHT)
    for compound in islice(_distinct(_COMPOUND, text), MAX_TERMS):
        add(_phrase(compound), _PART_WEIGHT)
    used_words = {word for term in terms for word in term}
    for word in distinct:
        if len(terms) >= MAX_TERMS:
            break
        parts = identifier_parts(word)
        if parts and not word.islower():
            add((word.lower(),), _IDENTIFIER_WEIGHT)
            # snake_case has the parts as adjacent words
            add(tuple(parts[:_MAX_PHRASE_WORDS]), _PART_WEIGHT)
        for part in dict.fromkeys(parts):
            if part not in used_words:
                add((part,), _PART_WEIGHT)
    for joined in joined_identifiers(text):
        if len(terms) >= MAX_TERMS:
            break
        add((joined,), _PART_WEIGHT)
    return tuple(terms.values())


def _distinct(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    yielded: set[str] = set()
    for match in pattern.finditer(text):
        if match[0] not in yielded:
            yielded.add(match[0])
            yield match[0]


def _phrases(text: str) -> list[tuple[str, ...]]:
    unspaced: list[tuple[str, ...]] = []
    spaced: list[str] = []
    for match in WORD.finditer(text):
        word = match[0].lower()
        runs = unspaced_runs(word)
        unspaced += [tuple(_pairs(run)) for run in runs]
        if runs:
            unspaced += [(piece,) for piece in mixed_parts(word)]
        else:
            spaced.append(word)
    return [phrase[:_MAX_PHRASE_WORDS] for phrase in (tuple(spaced), *unspaced) if phrase]


def _phrase(text: str) -> tuple[str, ...]:
    phrase = tuple(match[0].lower() for match in WORD.finditer(text))[:_MAX_PHRASE_WORDS]
    return phrase if len(phrase) > 1 else ()


@dataclass(frozen=True, slots=True)
class _Part:
    condition: Condition
    terms: tuple[Term, ...]
    place: int
    is_negative: bool = False

    @staticmethod
    def joined(how: type[Every | Either], parts: Sequence[_Part], *, is_negative: bool = False) -> _Part:
        return _Part(
            parts[0].condition if len(parts) == 1 else how(tuple(part.condition for part in parts)),
            tuple(term for part in parts for term in part.terms),
            parts[0].place,
            is_negative,
        )


class _Operators:
    _TOKEN = re.compile(r"\s*(?:(?P<mark>[()\-])|\"(?P<phrase>[^\"]*)(?P<end>\"?)|(?P<word>[^\s()\"]+))")

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._depth = 0
        self._count = 0

    def parse(self) -> Query:
        if not WORD.search(self._text):
            return Query(())
        part = self._alternatives()
        if self._peek() is not None:
            raise self._wrong("a closing parenthesis without an opening one", self._place)
        if part.is_negative:
            raise self._wrong("the query only excludes words", part.place, "Add a word to search for")
        return Query(part.terms, condition=part.condition)

    def _alternatives(self) -> _Part:
        parts = [self._sequence()]
        while (operator := self._takes_word("OR")) is not None:
            parts.append(self._sequence(operator))
        if len(parts) == 1:
            return parts[0]
        for part in dict.fromkeys(parts):
            if part.is_negative:
                raise self._wrong(
                    "an alternative of OR only excludes words",
                    part.place,
                    "Exclude them after the alternatives",
                )
        return _Part.joined(Either, parts)

    def _sequence(self, operator: int | None = None) -> _Part:
        wanted: list[_Part] = []
        unwanted: list[_Part] = []
        while True:
            part = self._single()
            if part is None:
                break
            (unwanted if part.is_negative else wanted).append(part)
            operator = self._takes_word("AND")
        if operator is not None:
            raise self._wrong("nothing follows the operator", operator)
        if not wanted and not unwanted:
            raise self._wrong("a word is missing", self._place)
        if not wanted:
            return _Part.joined(Either, unwanted, is_negative=True)
        required = _Part.joined(Every, wanted)
        if not unwanted:
            return required
        excluded = _Part.joined(Either, unwanted)
        return _Part(Without(required.condition, excluded.condition), required.terms, required.place)

    def _single(self) -> _Part | None:
        start = self._place
        is_negative = False
        while True:
            token = self._peek()
            if token is None or token["mark"] == ")" or token["word"] in {"AND", "OR"}:
                if self._place > start:
                    raise self._wrong("nothing follows the exclusion", start)
                return None
            here = self._place
            self._place = token.end()
            if token["mark"] != "-" and token["word"] != "NOT":
                break
            is_negative = not is_negative
        if token["mark"] == "(":
            part = self._group(here)
        elif token["word"] is not None:
            part = self._term(token["word"], here, prefix=token["word"].endswith("*"))
        elif token["end"]:
            part = self._term(token["phrase"], here, prefix=False)
        else:
            raise self._wrong("a quote is not closed", here)
        return replace(part, place=start, is_negative=part.is_negative != is_negative)

    def _group(self, start: int) -> _Part:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._wrong(f"parentheses are nested more than {_MAX_DEPTH} deep", start)
        part = self._alternatives()
        closing = self._peek()
        if closing is None or closing["mark"] != ")":
            raise self._wrong("a parenthesis is not closed", start)
        self._place = closing.end()
        self._depth -= 1
        return part

    def _term(self, text: str, start: int, *, prefix: bool) -> _Part:
        phrases = _phrases(text)
        if not phrases:
            raise self._wrong(f"{text[:_MAX_SHOWN_CHARS]!r} holds no letter and no digit", start)
        self._count += len(phrases)
        if self._count > _MAX_OPERATOR_TERMS:
            raise self._wrong(f"the query has more than {_MAX_OPERATOR_TERMS} terms", start, "Search for less at once")
        terms = [Term(phrase, prefix=prefix) for phrase in phrases]
        return _Part.joined(Every, [_Part(term, (term,), start) for term in terms])

    def _peek(self) -> re.Match[str] | None:
        return self._TOKEN.match(self._text, self._place)

    def _takes_word(self, word: str) -> int | None:
        token = self._peek()
        if token is None or token["word"] != word:
            return None
        self._place = token.end()
        return token.start("word")

    def _wrong(self, problem: str, place: int, remedy: str = "Natural syntax takes any text") -> InvalidInput:
        rest = self._text[place:]
        where = place + len(rest) - len(rest.lstrip())
        return InvalidInput(f"{problem}, at character {min(where + 1, len(self._text))} of the query", remedy)
