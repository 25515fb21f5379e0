"""Where a published format occurs in a text: its literals are looked for before its pattern."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from satchel.base.redaction_formats import TOKEN_FORMATS as PROVIDERS
from satchel.base.redaction_formats import TokenFormat
from satchel.base.redaction_shapes import SHAPES

# A token starts where a word starts; an escaped line break (backslash, n) ends a word too.
_START = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]))"
# The rest of the run belongs to the token: nothing stays behind, and no second token can touch the first.
_REST = r"[A-Za-z0-9_-]*+"

TOKEN_FORMATS: tuple[TokenFormat, ...] = (*PROVIDERS, *SHAPES)
"""Every format: the more telling ones of providers first."""

LITERALS: tuple[tuple[str, TokenFormat], ...] = tuple(
    (literal, entry) for entry in TOKEN_FORMATS for literal in entry.literals
)
"""Every literal with its format, in the order of the table."""

_Placed = tuple[str, int]
_HEAD = 3
_head_of = re.compile(r"[A-Za-z0-9_]*").match
_split = re.compile("[^A-Za-z0-9_]+").split
_has_digit = re.compile("[0-9]").search


@cache
def _by_head() -> tuple[dict[str, list[_Placed]], list[_Placed], list[_Placed]]:
    """Return the literals by their first characters, those that count within a word, and the rest.

    There are more than 200 literals, and words of the length of a token begin with few of them: one look at the
    words replaces most of the searches.
    """
    heads: dict[str, list[_Placed]] = defaultdict(list)
    within: list[_Placed] = []
    anywhere: list[_Placed] = []
    for place, (literal, entry) in enumerate(LITERALS):
        head = found[0] if (found := _head_of(literal)) else ""
        if entry.before is None:
            anywhere.append((literal, place))
        elif not head or entry.before != (0, 0) or (len(head) < _HEAD and head == literal):
            within.append((literal, place))
        else:
            heads[head[:_HEAD]].append((literal, place))
            if entry.anywhere:
                within.append((literal, place))
    return dict(heads), within, anywhere


def literals_in(words: str) -> list[tuple[str, TokenFormat]]:
    """Return which literals, in the order of the table, may be part of a match in the long words of a text."""
    if not words:
        return []
    heads, within, anywhere = _by_head()
    parts = _split(words)
    begun = {part[:_HEAD] for part in parts}
    # the n, r or t of an escaped line break stands before the word that it ends
    begun.update([part[1 : _HEAD + 1] for part in parts if part[:1] in {"n", "r", "t"}])
    found = {place for literal, place in anywhere if literal in words}
    for head in begun & heads.keys():
        found.update([place for literal, place in heads[head] if literal in words])
    # of a hundred tokens at most three have no digit, and those are found where they begin a word
    numbered = "\n".join([word for word in words.split("\n") if _has_digit(word)])
    if numbered:
        found.update([place for literal, place in within if literal in numbered])
    return [LITERALS[place] for place in sorted(found)]


@cache
def compiled(entry: TokenFormat) -> re.Pattern[str]:
    """Return the compiled pattern of one format; compiled when it is first needed."""
    start = "" if entry.anywhere else _START
    rest = "" if re.compile(entry.pattern).groups else _REST
    return re.compile(f"{start}(?:{entry.pattern}){rest}", re.ASCII)


_DENSE = 16
"""Characters to a literal under which one search of the whole text costs less than a call for each literal."""


def matches(entry: TokenFormat, literals: list[str], text: str) -> Iterator[re.Match[str]]:
    """Yield what one pattern finds in a text, as ``finditer`` does, but looking only where a literal stands.

    A long text holds a short literal such as ``SK`` by chance, so that whole searches would grow with the length
    and with the number of formats that occur in it.

    Args:
        entry: the format.
        literals: those of its literals that may be part of a match; the others are not looked for.
        text: where to look.
    """
    pattern = compiled(entry)
    if entry.before is None or sum(map(text.count, literals)) > len(text) // _DENSE:
        yield from pattern.finditer(text)
        return
    fewest, most = entry.before
    after = 0
    for place in sorted([at for literal in literals for at in _places(literal, text)]):
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
