"""Words as the index splits them, the parts of identifiers and of scripts without spaces, and other forms of words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

# words as SQLite's unicode61 tokenizer splits them: letters and digits with their accents, without underscores
WORD = re.compile("(?:[^\\W_][\u0300-\u036f]*)+")

_ASCII_WORD = re.compile("[A-Za-z0-9]+")

_UPPER = "A-ZÀ-ÖØ-ÞΑ-ΩА-Я"
_LOWER = "a-zß-öø-ÿα-ωа-я"
# these are compiled on first use, because few texts need them
# starts at a word boundary, so that a long word is not read again from each of its characters
_SNAKE = r"(?<![^\W_])[^\W_]++(?:_[^\W_]++)+"
_BOUNDARY = (
    f"(?<=[{_LOWER}0-9])(?=[{_UPPER}])|(?<=[{_UPPER}])(?=[{_UPPER}][{_LOWER}])"
    "|(?<=[0-9])(?=[^0-9])|(?<=[^0-9])(?=[0-9])"
)
# Han, kana and Hangul: written without spaces, so that a whole clause would be one word
_UNSPACED = "[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


# Words that tell nothing about the subject: English function words and the halves of contractions.
STOP_WORDS = frozenset(
    """
    a about after again all also am an and any are aren as at be because been before being but by can cannot could
    couldn d did didn do does doesn doing don done down for from had hadn has hasn have haven having he her here hers
    him his how i if in into is isn it its just like ll m me more most my no nor not now of off on once only or other
    our ours out over own please re s same she should shouldn so some such t than that the their theirs them then
    there these they this those through to too under until up us ve very was wasn we were weren what when where which
    while who whom why will with won would wouldn you your yours
    """.split()
)


def words_in(text: str) -> list[str]:
    """Return the words of a text unchanged; ASCII takes a faster expression."""
    return (_ASCII_WORD if text.isascii() else WORD).findall(text)


def identifier_parts(word: str) -> list[str]:
    """Return the parts of a word that is an identifier, in lower case: ``parseConfig2`` has parse, config and 2.

    A word without a change of case and without a change between letters and digits has no parts.
    """
    tail = word[1:]
    if (word.isalpha() and (tail.islower() or not tail or word.isupper())) or word.isdigit():
        return []
    parts = _compiled(_BOUNDARY).split(word)
    return [part.lower() for part in parts] if len(parts) > 1 else []


def unspaced_parts(run: str) -> list[str]:
    """Return the characters of a run without spaces, and the pairs of adjacent ones."""
    return [*run, *(run[place : place + 2] for place in range(len(run) - 1))]


def unspaced_runs(text: str) -> list[str]:
    """Return the parts of a text in scripts without spaces."""
    return _compiled(_UNSPACED).findall(text) if not text.isascii() else []


def mixed_parts(word: str) -> list[str]:
    """Return the rest of a word besides its runs without spaces: ``検索API`` has api."""
    return (
        [piece.lower() for piece in _compiled(_UNSPACED).split(word) if piece]
        if _compiled(_UNSPACED).search(word)
        else []
    )


def joined_identifiers(text: str) -> Iterator[str]:
    """Yield snake_case identifiers as one word in lower case, so that ``parse_config`` finds ``parseConfig``."""
    if "_" in text:
        # only pieces with an underscore can match
        for piece in text.split():
            if "_" in piece:
                for match in _compiled(_SNAKE).finditer(piece):
                    yield match[0].replace("_", "").lower()


def parts_text(text: str) -> str:
    """Return what is indexed in addition to a text, so that parts of words can be found.

    Identifiers in CamelCase or with digits yield their parts, scripts without spaces their characters and pairs, and
    words mixed into those the rest. The parts of snake_case are words of the text already.
    """
    parts: list[str] = []
    for word in words_in(text):
        if not word.islower() or not word.isalpha():
            parts += identifier_parts(word)
    for run in unspaced_runs(text):
        parts += unspaced_parts(run)
    if not text.isascii():
        for word in WORD.findall(text):
            parts += mixed_parts(word)
    return " ".join(parts)


_FAMILIES = """
    absorb absorption|admit admission|apply application|assume assumption|break broke broken|choose chose chosen choice
    classify classification|close closure|compare comparison|comply compliance|consume consumption|convert conversion
    decide decision|deliver delivery|deny denial|describe description|destroy destruction|discover discovery
    divide division|exclude exclusion|expand expansion|expire expiry|explain explanation|expose exposure
    extend extension|fail failure|forget forgot forgotten|freeze froze frozen|grow grew grown growth|hide hid hidden
    identify identification|include inclusion|injure injury|inquire inquiry|introduce introduction|invert inversion
    lose lost loss|maintain maintenance|modify modification|multiply multiplication|notify notification
    permit permission|prefer preference|produce production|qualify qualification|receive receipt|recover recovery
    reduce reduction|refer reference|rely reliance|resolve resolution|respond response|retain retention
    revert reversion|shrink shrank shrunk|simplify simplification|solve solution|specify specification
    steal stole stolen|submit submission|subscribe subscription|succeed success|throw threw thrown|vary variation
    verify verification|write wrote written
"""


@cache
def _families() -> dict[str, tuple[str, ...]]:
    families = [family.split() for family in _FAMILIES.strip().replace("\n", "|").split("|")]
    return {word: tuple(other for other in family if other != word) for family in families for word in family}


@lru_cache(maxsize=4_096)
def forms_of(word: str) -> tuple[str, ...]:
    """Return other forms of a word in lower case; of a plural or a past form those of the word itself."""
    families = _families()
    ies = f"{word[:-3]}y" if word.endswith("ies") else word
    for base in (word, word.removesuffix("s"), word.removesuffix("d"), word.removesuffix("ed"), ies):
        if base in families:
            return families[base]
    return ()
