"""Fast checks of what a text may contain, so that most patterns need not run."""

from __future__ import annotations

import re
from functools import cache

Places = dict[str, list[int]]
"""The offsets of each word in order, without words that do not occur."""


@cache
def _pivots() -> tuple[tuple[re.Pattern[str], dict[str, tuple[str, int]], tuple[str, ...]], ...]:
    """Return patterns that begin with one letter, the word for each continuation and its distance back, and texts.

    If none of the texts occurs, the pattern cannot match. The regex engine searches for a first letter with memchr: one
    pass for a rare letter costs less than the search for one word, and finds all words with that letter.
    """
    # keyring, tokenizer, passed: the name of a secret does not continue like this
    other = "(?![efgijqruxyz])"
    return (
        (
            re.compile(rf"k(?=(ey{other}|en{other}|ie))"),
            {"ey": ("key", 0), "en": ("token", 2), "ie": ("cookie", 3)},
            ("key", "token", "cookie"),
        ),
        (
            # not the start of path, patch or pattern
            re.compile(rf"p(?=(ass{other}|at(?![cht])|wd?|hrase))"),
            {"ass": ("pass", 0), "at": ("pat", 0), "w": ("pw", 0), "wd": ("pw", 0), "hrase": ("phrase", 0)},
            ("pass", "pat", "pw", "phrase"),
        ),
        (
            re.compile(r"c(?=(ret|redential|urestring)|(?<=mnemonic))"),
            {
                "ret": ("secret", 2),
                "redential": ("credential", 0),
                "urestring": ("securestring", 2),
                "": ("mnemonic", 7),
            },
            ("secret", "credential", "mnemonic", "securestring"),
        ),
        (
            re.compile(r"b(?=(earer)|(?<=identified b)y[ \t])"),
            {"earer": ("bearer", 0), "": ("identified by", 11)},
            ("bearer", "identified by"),
        ),
        (re.compile(r"-(?<=[ \t]-)(?=[apw]|[a-z]{0,3}u|-user)()"), {"": ("option", 0)}, (" -", "\t-")),
    )


_SHORT = 600
"""In shorter texts, such as most notes, searching for each word costs less than a pattern without a match."""


def places_of_words(lowered: str) -> Places:
    """Return where the words of ``_pivots``, ``auth`` and command options begin in a lower-case text."""
    places: Places = {}
    is_short = len(lowered) < _SHORT
    for pattern, words, texts in _pivots():
        if is_short:
            for word in texts:
                if word in lowered:
                    break
            else:
                continue
        for match in pattern.finditer(lowered):
            word, back = words[match[1] or ""]
            at = match.start() - back
            if back == 0 or lowered.startswith(word, at):
                places.setdefault(word, []).append(at)
    at = lowered.find("auth")
    while at >= 0:
        # author and authenticated do not introduce a secret
        if not lowered.startswith(("e", "or"), at + 4) or lowered.startswith("orization", at + 4):
            places.setdefault("auth", []).append(at)
        at = lowered.find("auth", at + 4)
    return places


_WORD_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=+~$}"
_WORDS = bytes(0x78 if byte in _WORD_BYTES else 0x20 for byte in range(256))
_SHORTEST = b"x" * 18


def long_words(text: str) -> str:
    """Return the distinct words long enough for a token (18 bytes), each after a line break.

    Every format is one unbroken word, so its literals are searched for only here. Two fast passes replace a hundred
    searches of the whole text.
    """
    data = text.encode("utf-8", "replace")
    shape = data.translate(_WORDS)
    at = shape.find(_SHORTEST)
    if at < 0:
        return ""
    words: set[bytes] = set()
    while at >= 0:
        end = shape.find(b" ", at)
        if end < 0:
            end = len(shape)
        words.add(data[at:end])
        at = shape.find(_SHORTEST, end)
    return b"\n".join((b"", *words)).decode()
