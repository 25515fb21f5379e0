"""Redaction: secrets of known patterns are replaced before a string is stored or logged; known ones, no more.

Three kinds of evidence: a format that is published (``formats``), a place where
secrets stand, such as a header or an option of a command (``places``), and a name that says token, key,
secret, password, pat or auth, with a value that was generated or is a UUID, or a password (``assignments``).
Spared are placeholders, digests, references to variables, code and words.

Callers redact each string and serialise afterwards; a marker holds no quote, backslash or line break.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from satchel.base.records import dataclass
from satchel.redaction.prefilter import Places, long_words, places_of_words

if TYPE_CHECKING:
    from satchel.redaction.assignments import Span

_MARK = "[redacted:"
_PASSES = 4


@cache
def _stages() -> tuple[tuple[frozenset[str], Callable[[str, str, Places], Iterator[Span]]], ...]:
    """Return what looks around words for secrets, the more specific kinds first, and around which words."""
    # 2 ms of a command, which most texts of a few words do not need
    from satchel.redaction.assignments import ROOTS, assignments
    from satchel.redaction.places import headers, manifests, options, private_keys, stated

    return (
        (frozenset(("key",)), private_keys),
        (frozenset(("auth", "bearer", "cookie")), headers),
        (frozenset(("option",)), options),
        (frozenset(("securestring", "identified by", "mnemonic", "phrase")), stated),
        (frozenset(ROOTS), assignments),
        (frozenset(("secret",)), manifests),
    )


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and the kinds that were found, one per occurrence, in order."""

    text: str
    found: tuple[str, ...]


def redact(text: str) -> Redacted:
    """Replace every secret of a known pattern by a marker such as ``[redacted:github-token]``.

    Takes time linear in the length; doing it twice changes nothing more. A text without a secret is returned
    as the same object.

    Args:
        text: any string, of any length.

    Returns:
        The text with its secrets replaced, and the kinds found.
    """
    spans = _spans(text)
    if not spans:
        return Redacted(text, ())
    marks: list[Span] = []
    # Replacing a secret can uncover another beside it, hardly ever twice; the bound keeps the time linear.
    for _ in range(_PASSES):
        text, marks = _replaced(text, spans, marks)
        spans = _spans(text)
        if not spans:
            break
    return Redacted(text, tuple(kind for _, _, kind in marks))


def finds_secret(text: str) -> str | None:
    """Return the kind of the first secret in a name, key or path, which is refused rather than redacted."""
    first = first_secret(text)
    return first[2] if first else None


def first_secret(text: str) -> Span | None:
    """Return where the first secret of a text stands and what kind it is; takes time linear in the length."""
    spans = _spans(text)
    return spans[0] if spans else None


def _spans(text: str) -> list[Span]:
    """Return where the secrets stand, sorted; of two that overlap the more specific kind names both."""
    lowered = _lower(text)
    stages: list[Iterator[Span]] = []
    # most notes need no stage at all, and few need more than three
    if words := long_words(text):
        stages.append(_tokens(text, words))
    if "://" in text and "@" in text:
        from satchel.redaction.places import url_passwords

        stages.append(url_passwords(text))
    if places := places_of_words(lowered):
        for roots, stage in _stages():
            if not roots.isdisjoint(places):
                stages.append(stage(text, lowered, places))
    spans: list[tuple[int, int, int, str]] = []
    for order, found in enumerate(stages):
        for start, end, kind in found:
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


def _replaced(text: str, spans: list[Span], marks: list[Span]) -> tuple[str, list[Span]]:
    """Put markers over the spans; return the text and where all markers, old and new, now stand."""
    pieces: list[str] = []
    moved: list[Span] = []
    copied = 0
    length = 0
    new = set(spans)
    for span in sorted([*spans, *marks]):
        start, end, kind = span
        kept = text[copied:start]
        marker = f"{_MARK}{kind}]" if span in new else text[start:end]
        pieces += (kept, marker)
        length += len(kept) + len(marker)
        moved.append((length - len(marker), length, kind))
        copied = end
    pieces.append(text[copied:])
    return "".join(pieces), moved


def _tokens(text: str, words: str) -> Iterator[Span]:
    from satchel.redaction.formats import literals_in, matches
    from satchel.redaction.values import is_sample

    for entry, pairs in groupby(literals_in(words), itemgetter(1)):
        literals = [literal for literal, _ in pairs]
        # the long words are a small part of a text, and hardly ever hold more than a literal
        if not entry.is_split and not any(matches(entry, literals, words)):
            continue
        for match in matches(entry, literals, text):
            start, end = match.span(match.lastindex or 0)
            if not is_sample(text[start:end]):
                yield start, end, entry.kind


def _lower(text: str) -> str:
    """Return the text with its ASCII letters in lower case, every character in its place; others become ``?``."""
    # ten times the speed of str.lower where a text is not ASCII
    return text.encode("ascii", "replace").decode("ascii").lower()
