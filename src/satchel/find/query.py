"""The query language: any text is a valid query; operators only on request.

Natural language is a set of words, any of which may match. Whatever the text, only words of letters and digits reach
the full-text engine, each in quotes, so nothing in it is syntax.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from satchel.base.errors import InvalidInput
from satchel.find.words import STOP_WORDS, WORD, identifier_parts, joined_identifiers, unspaced_parts, unspaced_runs

MAX_TERMS = 64
SYNTAXES = ("natural", "operators")
QUESTION_TERMS = 3
"""From so many words on a query is a question, which what stands around an entry may help to answer; fewer look a
thing up."""

_PART_WEIGHT = 0.5
_PHRASE_WEIGHT = 2.0
_MAX_PHRASE_WORDS = 16
_MAX_DEPTH = 32
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”")
# words that stand together without a space, as in a path, a dotted name, foo-bar or a.ts:42
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]++(?:[-_./:\\@#+][^\W_]++)+")


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for.

    Attributes:
        words: the words of a phrase, or a single one; letters and digits only.
        weight: how much a match counts, 1 for a word of the query.
        prefix: whether a word that begins so matches too.
    """

    words: tuple[str, ...]
    weight: float = 1.0
    prefix: bool = False

    @property
    def match(self) -> str:
        """The term as a full-text expression."""
        return f'"{" ".join(self.words)}"{"*" if self.prefix else ""}'


@dataclass(frozen=True, slots=True)
class Query:
    """A query, read.

    Attributes:
        terms: what to look for and to score by.
        condition: an expression that every match must meet, of terms only; None takes whatever matches any term.
        is_question: whether what stands around an entry counts too.
    """

    terms: tuple[Term, ...]
    condition: str | None = None
    is_question: bool = False


def parse(text: str, syntax: str = "natural") -> Query:
    """Read a query.

    Args:
        text: anything a person or an agent types.
        syntax: ``natural``, or ``operators`` for AND, OR, NOT or -, prefix*, "phrases" and parentheses.

    Returns:
        The query; without terms when the text has no letter and no digit.

    Raises:
        InvalidInput: in operator syntax, with the position of what is wrong.
    """
    return _Operators(text).parse() if syntax == "operators" else _natural(text)


def words(text: str) -> list[str]:
    """Return the words of a text, each once, in order, in lower case, without stop words.

    A text of nothing but stop words keeps them.
    """
    found = list(dict.fromkeys(match[0].lower() for match in WORD.finditer(text)))
    return [word for word in found if word not in STOP_WORDS] or found


def _natural(text: str) -> Query:
    terms: dict[tuple[str, ...], Term] = {}

    def add(found: tuple[str, ...], weight: float) -> None:
        if found and len(terms) < MAX_TERMS and (found not in terms or terms[found].weight < weight):
            terms[found] = Term(found, weight)

    plain = words(text)[:MAX_TERMS]
    for word in plain:
        runs = unspaced_runs(word)
        for run in runs:
            pairs = [part for part in unspaced_parts(run) if len(part) == 2] or [run]
            for pair in pairs:
                add((pair,), 1.0)
        if not runs:
            add((word,), 1.0)
    for first, second in _QUOTED.findall(text):
        add(_phrase(first or second), _PHRASE_WEIGHT)
    for compound in _COMPOUND.findall(text)[:MAX_TERMS]:
        add(_phrase(compound), _PART_WEIGHT)
    known = {word for term in terms for word in term}
    for match in WORD.finditer(text):
        if len(terms) >= MAX_TERMS:
            break
        for part in identifier_parts(match[0]):
            if part not in known:
                add((part,), _PART_WEIGHT)
    for joined in joined_identifiers(text):
        add((joined,), _PART_WEIGHT)
    return Query(tuple(terms.values()), is_question=len(plain) >= QUESTION_TERMS)


def _phrase(text: str) -> tuple[str, ...]:
    found = tuple(match[0].lower() for match in WORD.finditer(text))[:_MAX_PHRASE_WORDS]
    return found if len(found) > 1 else ()


@dataclass(frozen=True, slots=True)
class _Part:
    """What a piece of an operator query comes to; ``is_negative`` parts only take away."""

    expression: str
    is_negative: bool = False


class _Operators:
    """A parser by descent: alternatives of sequences; what stands side by side must all match."""

    _TOKEN = re.compile(r"\s*(?:(?P<mark>[()\-])|\"(?P<phrase>[^\"]*)(?P<end>\"?)|(?P<word>[^\s()\"]+))")

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._terms: list[Term] = []
        self._depth = 0

    def parse(self) -> Query:
        if not WORD.search(self._text):
            return Query(())
        part = self._alternatives()
        if self._peek() is not None:
            raise self._wrong("a closing parenthesis without an opening one")
        if part.is_negative:
            raise InvalidInput("the query only excludes", "Add a word that must be there")
        return Query(tuple(self._terms), condition=part.expression)

    def _alternatives(self) -> _Part:
        parts = [self._sequence()]
        while self._takes_word("OR"):
            parts.append(self._sequence())
        if len(parts) > 1 and any(part.is_negative for part in parts):
            raise InvalidInput("an alternative of OR only excludes", "Exclude beside the alternatives instead")
        return parts[0] if len(parts) == 1 else _Part(f"({' OR '.join(part.expression for part in parts)})")

    def _sequence(self) -> _Part:
        wanted: list[str] = []
        unwanted: list[str] = []
        while True:
            if wanted or unwanted:
                self._takes_word("AND")
            part = self._single()
            if part is None:
                break
            (unwanted if part.is_negative else wanted).append(part.expression)
        if not wanted and not unwanted:
            raise self._wrong("a word is missing")
        if not wanted:
            return _Part(f"({' OR '.join(unwanted)})", is_negative=True)
        expression = f"({' AND '.join(wanted)})"
        return _Part(f"({expression} NOT ({' OR '.join(unwanted)}))" if unwanted else expression)

    def _single(self) -> _Part | None:
        token = self._peek()
        if token is None or token["mark"] == ")" or token["word"] == "OR":
            return None
        start = self._place
        self._place = token.end()
        if token["mark"] == "-" or token["word"] == "NOT":
            part = self._single()
            if part is None:
                raise self._wrong("nothing follows the exclusion", start)
            return _Part(part.expression, is_negative=not part.is_negative)
        if token["mark"] == "(":
            return self._group(start)
        if token["phrase"] is not None:
            if not token["end"]:
                raise self._wrong("a quote is not closed", start)
            return self._term(token["phrase"], start, prefix=False)
        return self._term(token["word"], start, prefix=token["word"].endswith("*"))

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
        found = tuple(match[0].lower() for match in WORD.finditer(text))[:_MAX_PHRASE_WORDS]
        if not found:
            raise self._wrong(f"{text!r} holds no letter and no digit", start)
        if len(self._terms) >= MAX_TERMS:
            raise InvalidInput(f"the query has more than {MAX_TERMS} terms", "Search for less at once")
        term = Term(found, prefix=prefix)
        self._terms.append(term)
        return _Part(term.match)

    def _peek(self) -> re.Match[str] | None:
        return self._TOKEN.match(self._text, self._place) if self._text[self._place :].strip() else None

    def _takes_word(self, word: str) -> bool:
        token = self._peek()
        if token is None or token["word"] != word:
            return False
        self._place = token.end()
        return True

    def _wrong(self, problem: str, place: int | None = None) -> InvalidInput:
        where = self._place if place is None else place
        while where < len(self._text) and self._text[where].isspace():
            where += 1
        return InvalidInput(f"{problem}, at character {where + 1} of the query", "Natural syntax takes any text")
