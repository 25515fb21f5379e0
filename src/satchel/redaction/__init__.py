"""Redaction: secrets of known patterns are replaced before a text is stored or logged; others are not.

Three kinds of evidence: a published format (``formats``), a place for secrets such as a header, a command option or a
pipe (``places``, ``piped``), and a name such as token, key, secret, password, pat or auth, in any large language, with
a random value, a UUID or a password (``assignments``, ``languages``). Placeholders, digests, references to variables,
code and words are left alone; in code and configuration, a word that is set as a password is not.

Callers redact each string and serialise afterwards; a marker contains no quote, backslash or line break.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from satchel.base.records import dataclass
from satchel.redaction.prefilter import FOREIGN_WORDS, Places, long_words, places_of_words

if TYPE_CHECKING:
    from satchel.redaction.assignments import Span

_MARK = "[redacted:"
_PASSES = 4


@cache
def _stages() -> tuple[tuple[frozenset[str], Callable[[str, str, Places], Iterator[Span]]], ...]:
    # imported here because most short texts do not need it
    from satchel.redaction.assignments import ROOTS, assignments
    from satchel.redaction.places import foreign, headers, manifests, options, piped, private_keys, statements

    return (
        (frozenset(("key",)), private_keys),
        (frozenset(("auth", "bearer", "cookie")), headers),
        (frozenset(("-",)), options),
        (frozenset(("echo", "printf", "<<")), piped),
        (frozenset(("securestring", "identified by", "mnemonic", "phrase")), statements),
        (frozenset(ROOTS), assignments),
        (frozenset(FOREIGN_WORDS), foreign),
        (frozenset(("secret",)), manifests),
    )


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and the kind of each that was replaced, in order."""

    text: str
    kinds: tuple[str, ...]


def redact(text: str) -> Redacted:
    """Replace every secret of a known pattern by a marker such as ``[redacted:github-token]``.

    Takes linear time. Redacting the result changes nothing, and a text without a secret is returned as the same object.
    """
    spans = _spans(text)
    if not spans:
        return Redacted(text, ())
    marks: list[Span] = []
    # Replacing a secret may uncover an adjacent one, rarely twice; the bound keeps the time linear.
    for _ in range(_PASSES):
        text, marks = _replace(text, spans, marks)
        spans = _spans(text)
        if not spans:
            break
    return Redacted(text, tuple(kind for _, _, kind in marks))


def finds_secret(text: str) -> str | None:
    """Return the kind of the first secret in a name, key or path, which callers refuse instead of redacting."""
    first = first_secret(text)
    return first[2] if first else None


def first_secret(text: str) -> Span | None:
    """Return the span and kind of the first secret; takes linear time."""
    spans = _spans(text)
    return spans[0] if spans else None


def _spans(text: str) -> list[Span]:
    lowered = _lower(text)
    stages: list[Iterator[Span]] = []
    # most notes need no stage, and few need more than three
    if words := long_words(text):
        stages.append(_token_spans(text, words))
    if "@" in text and ":/" in text:
        from satchel.redaction.places import url_passwords

        stages.append(url_passwords(text))
    if places := places_of_words(text, lowered):
        for roots, stage in _stages():
            if not roots.isdisjoint(places):
                stages.append(stage(text, lowered, places))
    spans: list[tuple[int, int, int, str]] = []
    for order, secrets in enumerate(stages):
        for start, end, kind in secrets:
            spans.append((start, end, order, kind))
    if not spans:
        return []
    spans.sort()
    merged = [spans[0]]
    for start, end, order, kind in spans[1:]:
        last_start, last_end, last_order, last_kind = merged[-1]
        if start < last_end:
            best = min((last_order, last_kind), (order, kind))
            merged[-1] = (last_start, max(last_end, end), *best)
        else:
            merged.append((start, end, order, kind))
    return [(start, end, kind) for start, end, _, kind in merged]


def _replace(text: str, spans: list[Span], marks: list[Span]) -> tuple[str, list[Span]]:
    pieces: list[str] = []
    new_marks: list[Span] = []
    copied = 0
    length = 0
    new_spans = set(spans)
    for span in sorted([*spans, *marks]):
        start, end, kind = span
        unchanged = text[copied:start]
        marker = f"{_MARK}{kind}]" if span in new_spans else text[start:end]
        pieces += (unchanged, marker)
        length += len(unchanged) + len(marker)
        new_marks.append((length - len(marker), length, kind))
        copied = end
    pieces.append(text[copied:])
    return "".join(pieces), new_marks


def _token_spans(text: str, words: str) -> Iterator[Span]:
    from satchel.redaction.formats import literals_in, matches
    from satchel.redaction.values import is_sample

    for entry, pairs in groupby(literals_in(words), itemgetter(1)):
        literals = [literal for literal, _ in pairs]
        # the long words are a small part of a text, and rarely match beyond the literal
        if not entry.is_split and not any(matches(entry, literals, words)):
            continue
        for match in matches(entry, literals, text):
            start, end = match.span(match.lastindex or 0)
            if not is_sample(text[start:end]):
                yield start, end, entry.kind


def _lower(text: str) -> str:
    if text.isascii():
        return text.lower()
    # ten times as fast as str.lower where a text is not ASCII
    return text.replace("\u00a0", " ").encode("ascii", "replace").decode("ascii").lower()
