"""Where the words stand around which a secret may be: found in a few passes over a text, in lower case."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

Places = dict[str, list[int]]
"""Where each word begins, in order; a word that does not occur is missing."""


@cache
def _pivots() -> tuple[tuple[re.Pattern[str], dict[str, tuple[str, int]]], ...]:
    """Return patterns that begin with one letter, and which word what follows it belongs to, and how far before.

    The library looks for a first letter with memchr: one pass for a letter that is not frequent costs less than the
    search for one word, and finds all words with that letter.
    """
    return (
        (re.compile(r"k(?=(ey|en|ie))"), {"ey": ("key", 0), "en": ("token", 2), "ie": ("cookie", 3)}),
        (
            # paths, patches and patterns are no tokens
            re.compile(r"p(?=(ass|at(?![cht])|wd?|hrase))"),
            {"ass": ("pass", 0), "at": ("pat", 0), "w": ("pw", 0), "wd": ("pw", 0), "hrase": ("phrase", 0)},
        ),
    )


_SOUGHT = ("secret", "auth", "bearer", "credential", "identified by", "mnemonic", "securestring")


def places_of_words(lowered: str) -> Places:
    """Return where the words of ``_pivots`` and ``_SOUGHT`` begin in a text in lower case, and where options do."""
    places: Places = {}
    for pattern, words in _pivots():
        for match in pattern.finditer(lowered):
            word, back = words[match[1]]
            at = match.start() - back
            if back == 0 or lowered.startswith(word, at):
                places.setdefault(word, []).append(at)
    for word in _SOUGHT:
        if word in lowered:
            places[word] = list(_all(word, lowered))
    if "auth" in places:
        places["auth"] = [at for at in places["auth"] if not _is_other(lowered, at + len("auth"))]
    if " -" in lowered or "\t-" in lowered:
        places["option"] = [match.start() for match in _option().finditer(lowered)]
    return places


def _all(word: str, lowered: str) -> Iterator[int]:
    at = lowered.find(word)
    while at >= 0:
        yield at
        at = lowered.find(word, at + len(word))


def _is_other(lowered: str, at: int) -> bool:
    """Say whether what goes on after ``auth`` is about authors, or says that somebody authenticates."""
    return lowered.startswith(("e", "or"), at) and not lowered.startswith("orization", at)


@cache
def _option() -> re.Pattern[str]:
    return re.compile(r"-(?=[apw]|[a-z]{0,3}u|-user)(?<=[ \t]-)")
