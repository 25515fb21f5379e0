"""Words as the index sees them, and the parts that identifiers and scripts without spaces are made of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

# what SQLite's unicode61 tokenizer takes for a word: letters and digits with their accents, never the underscore
WORD = re.compile("(?:[^\\W_][\u0300-\u036f]*)+")

_ASCII_WORD = re.compile("[A-Za-z0-9]+")

_UPPER = "A-ZÀ-ÖØ-ÞΑ-ΩА-Я"
_LOWER = "a-zß-öø-ÿα-ωа-я"
# compiled when they are first needed: together they took 2 ms of a write, and few texts have what they are about
# begins only where a word does, which keeps a long word from being read again from each of its characters
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


# every byte by what it is: a letter of either case, a digit, or something else
_SHAPES = bytes(
    0x75 if 65 <= byte <= 90 else 0x6C if 97 <= byte <= 122 else 0x64 if 48 <= byte <= 57 else 0x20
    for byte in range(256)
)
_CHANGES = (b"lu", b"uul", b"du", b"ld", b"ud", b"dl")

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
"""Words that say nothing about what is looked for (a list of our own, of English function words and the halves that
contractions fall into)."""


def words_in(text: str) -> list[str]:
    """Return the words of a text as they stand there; of ASCII, as most texts are, in a third of the time."""
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
    """Return the single characters and the pairs of neighbours of a run in a script without spaces."""
    return [*run, *(run[place : place + 2] for place in range(len(run) - 1))]


def unspaced_runs(text: str) -> list[str]:
    """Return the runs of a text that are written without spaces."""
    return _compiled(_UNSPACED).findall(text) if not text.isascii() else []


def mixed_parts(word: str) -> list[str]:
    """Return what stands between runs without spaces in one word: ``検索API`` has api."""
    return (
        [piece.lower() for piece in _compiled(_UNSPACED).split(word) if piece]
        if _compiled(_UNSPACED).search(word)
        else []
    )


def joined_identifiers(text: str) -> Iterator[str]:
    """Yield snake_case identifiers as one word in lower case, so that ``parse_config`` finds ``parseConfig``."""
    if "_" in text:
        # looking only where an underscore stands spares a walk over every word
        for piece in text.split():
            if "_" in piece:
                for match in _compiled(_SNAKE).finditer(piece):
                    yield match[0].replace("_", "").lower()


def _may_have_parts(text: str) -> bool:
    """Whether some word of an ASCII text may be an identifier with parts; most texts have none."""
    shape = text.encode().translate(_SHAPES)
    return any(change in shape for change in _CHANGES)


def parts_text(text: str) -> str:
    """Return what goes into the index beside a text, for its parts to be found.

    Identifiers written in CamelCase or with digits give their parts, scripts without spaces their characters and pairs,
    and what is mixed into those its own word. The parts of snake_case are words of the text already.
    """
    parts: list[str] = []
    if not text.isascii() or _may_have_parts(text):
        for word in words_in(text):
            if not word.islower() or not word.isalpha():
                parts += identifier_parts(word)
    for run in unspaced_runs(text):
        parts += unspaced_parts(run)
    if not text.isascii():
        for word in WORD.findall(text):
            parts += mixed_parts(word)
    return " ".join(parts)
