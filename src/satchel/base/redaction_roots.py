"""Where the words stand around which a secret may be: found in a few passes over a text, in lower case."""

from __future__ import annotations

import re
from functools import cache

Places = dict[str, list[int]]
"""Where each word begins, in order; a word that does not occur is missing."""


@cache
def _pivots() -> tuple[tuple[re.Pattern[str], dict[str, tuple[str, int]]], ...]:
    """Return patterns that begin with one letter, and which word what follows it belongs to, and how far before.

    The library looks for a first letter with memchr: one pass for a letter that is not frequent costs less than the
    search for one word, and finds all words with that letter. Words share five letters so.
    """
    return (
        (re.compile(r"k(?=(ey|en))"), {"ey": ("key", 0), "en": ("token", 2)}),
        (
            re.compile(r"p(?=(ass|at|wd?|hrase))"),
            {"ass": ("pass", 0), "at": ("pat", 0), "w": ("pw", 0), "wd": ("pw", 0), "hrase": ("phrase", 0)},
        ),
        (
            re.compile(r"c(?:(?=(ret|redential|ookie|urestring))|(?<=mnemonic))"),
            {
                "ret": ("secret", 2),
                "redential": ("credential", 0),
                "ookie": ("cookie", 0),
                "urestring": ("securestring", 2),
                "": ("mnemonic", 7),
            },
        ),
        (re.compile(r"b(?=(earer|y[ \t]))"), {"earer": ("bearer", 0), "y ": ("by", 0), "y\t": ("by", 0)}),
        (re.compile(r"-(?=[apwP]|[a-zA-Z]{0,3}[uU]|-user)(?<=[ \t]-)()"), {"": ("option", 0)}),
    )


def places_of_words(lowered: str) -> Places:
    """Return where the words of ``_pivots``, and ``auth``, begin in a text in lower case."""
    places: Places = {}
    for pattern, words in _pivots():
        for match in pattern.finditer(lowered):
            word, back = words[match[1] or ""]
            at = match.start() - back
            if back == 0 or lowered.startswith(word, at):
                places.setdefault(word, []).append(at)
    at = lowered.find("auth")
    while at >= 0:
        places.setdefault("auth", []).append(at)
        at = lowered.find("auth", at + 4)
    return places


_WORD_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=+~$}"
_WORDS = bytes(0x78 if byte in _WORD_BYTES else 0x20 for byte in range(256))
_SHORTEST = b"x" * 18


def long_words(text: str) -> str:
    """Return the words of a text that are long enough to hold a token (18 bytes), one a line, once each.

    Every format is one unbroken word, so its literal need only be looked for in here. Two passes at the speed
    of memory replace a hundred searches of the whole text.
    """
    data = text.encode("utf-8", "replace")
    shape = data.translate(_WORDS)
    at = shape.find(_SHORTEST)
    words: set[bytes] = set()
    while at >= 0:
        end = shape.find(b" ", at)
        if end < 0:
            end = len(shape)
        words.add(data[at:end])
        at = shape.find(_SHORTEST, end)
    return b"\n".join(words).decode()
