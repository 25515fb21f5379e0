"""Published token formats: the table in ``formats.txt``, and how its rows are found in a text."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

from satchel.base.records import dataclass

# A token starts where a word starts. An escaped line break (backslash, n) ends a word too; of it only the letter
# remains in the long words.
_START = r"(?:(?<![A-Za-z0-9_])|(?<=[\\\n][nrt]))"
# The rest of the run belongs to the token, so that nothing of it stays and no second token can touch the first.
_REST = r"[A-Za-z0-9_-]*+"

_SIGNATURE = r"((?:[A-Za-z0-9+/_~-]|%[0-9A-Fa-f]{2}){32,512}+={0,2})"
_MACROS = {
    "{uuid}": r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}",
    "{UUID}": r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}",
    # where a prefix is short or reads as a word, a token has a digit among its first characters
    "{digit}": r"(?=[A-Za-z_-]{0,30}[0-9])",
    "{signature}": _SIGNATURE,
    "{long_signature}": _SIGNATURE.replace("512", "4096"),
}


@dataclass(frozen=True, slots=True)
class TokenFormat:
    """One published format, a row of ``formats.txt``.

    Attributes:
        before: the least and the most characters of a match that precede its literal; None where the literal is not
            part of the match.
        is_split: whether a match may hold characters that ``long_words`` does not count as part of a word.
    """

    kind: str
    literals: tuple[str, ...]
    pattern: str
    anywhere: bool
    before: tuple[int, int] | None
    is_split: bool


def _read_formats() -> Iterator[TokenFormat]:
    for line in Path(__file__).with_name("formats.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        kind, literals, flags, pattern = line.split(" ")
        for macro, meaning in _MACROS.items():
            pattern = pattern.replace(macro, meaning)
        options = flags.split(",")
        before: tuple[int, int] | None = None if "apart" in options else (0, 0)
        for option in options:
            name, _, amount = option.partition("=")
            if name == "after":
                least, _, most = amount.partition("-")
                before = int(least), int(most or least)
        yield TokenFormat(kind, tuple(literals.split(",")), pattern, "anywhere" in options, before, "split" in options)


# Every format; the order decides which of two matches is named.
TOKEN_FORMATS = tuple(_read_formats())

# Every literal with its format, in the order of the table.
LITERALS = tuple((literal, entry) for entry in TOKEN_FORMATS for literal in entry.literals)

_PlacedLiteral = tuple[str, int]
_head_of = re.compile(r"[A-Za-z0-9_]*").match
_joint_in = re.compile(r"(?:[A-Za-z0-9]{3}|(?<=[-_])[A-Za-z0-9]{1,2})(?=[-_])").search
_NAMING = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
_NAMES = bytes(byte if byte in _NAMING else 0x20 for byte in range(256))
_RARE_SIGNS = "$~}=:./"


@dataclass(frozen=True, slots=True)
class _Gates:
    # there are more than 250 literals. One look at the starts of words and one at what precedes hyphens and
    # underscores replace most of the searches
    heads: dict[bytes, list[_PlacedLiteral]]
    joints: dict[bytes, list[_PlacedLiteral]]
    signs: dict[str, list[_PlacedLiteral]]
    others: list[_PlacedLiteral]


@cache
def _gates() -> _Gates:
    gates = _Gates(defaultdict(list), defaultdict(list), defaultdict(list), [])
    for place, (literal, entry) in enumerate(LITERALS):
        head = match[0] if (match := _head_of(literal)) else ""
        joint = _joint_in(literal)
        sign = next((sign for sign in _RARE_SIGNS if sign in literal), None)
        if head and entry.before == (0, 0) and not entry.anywhere and (head != literal or len(head) >= 3):
            # the n, r or t of an escaped line break precedes the word
            for before in ("", "n", "r", "t"):
                gates.heads[(before + head)[:4].encode()].append((literal, place))
        elif entry.before is not None and joint is not None:
            gates.joints[joint[0].encode()].append((literal, place))
        elif sign is not None:
            gates.signs[sign].append((literal, place))
        else:
            gates.others.append((literal, place))
    return gates


def literals_in(words: str) -> list[tuple[str, TokenFormat]]:
    """Return which literals may be part of a match in the long words of a text, in the order of the table."""
    places: set[int] = set()
    for start in range(0, len(words), _PIECE):
        places |= _places_in(words[start : start + _PIECE + _LONGEST])
    return [LITERALS[place] for place in sorted(places)]


# Characters to check at once: with many more words, every head would occur by chance.
_PIECE = 100_000
_LONGEST = max(len(literal) for literal, _ in LITERALS)


def _places_in(words: str) -> set[int]:
    gates = _gates()
    data = words.encode()
    names = data.translate(_NAMES).split()
    near = [*gates.others]
    for by, present in (
        (gates.heads, {name[:3] for name in names}),
        (gates.heads, {name[:4] for name in names}),
        (gates.joints, {part[-3:] for part in data.replace(b"-", b"_").split(b"_")}),
    ):
        if not by.keys().isdisjoint(present):
            for key in present & by.keys():
                near += by[key]
    for sign, placed in gates.signs.items():
        if sign in words:
            near += placed
    return {place for literal, place in near if literal in words}


@cache
def compiled(entry: TokenFormat) -> re.Pattern[str]:
    start = "" if entry.anywhere else _START
    rest = "" if re.compile(entry.pattern).groups else _REST
    return re.compile(f"{start}(?:{entry.pattern}){rest}", re.ASCII)


# With more than one literal in 16 characters, a search of the whole text costs less than one at each.
_DENSE = 16


def matches(entry: TokenFormat, literals: list[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of a format like ``finditer``, but try only places around the given literals.

    A long text contains a short literal such as ``SK`` by chance, so that searches of the whole text would grow with
    its length and with the number of formats whose literals occur.
    """
    pattern = compiled(entry)
    if entry.before is None:
        yield from pattern.finditer(text)
        return
    most_places = len(text) // _DENSE
    places = [at for literal in literals for at in islice(_places(literal, text), most_places + 1)]
    if len(places) > most_places:
        yield from pattern.finditer(text)
        return
    fewest, most = entry.before
    after = 0
    for place in sorted(places):
        for start in range(max(after, place - most), place - fewest + 1):
            match = pattern.match(text, start)
            if match is not None:
                yield match
                after = match.end()
                break


def _places(literal: str, text: str) -> Iterator[int]:
    at = text.find(literal)
    while at >= 0:
        yield at
        at = text.find(literal, at + 1)
