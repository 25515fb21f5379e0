"""Redaction: secrets of known patterns are replaced before a string is stored or logged; known ones, no more.

Five kinds of evidence: a format that a provider publishes (see ``redaction_patterns``), a PEM or PGP private
key, a password in a URL, an Authorization header, and a value assigned to a name that says secret. Spared are
placeholders, digests, UUIDs and references to variables.

Callers redact each string and serialise afterwards; a marker holds no quote, backslash or line break.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from operator import itemgetter

from satchel.base.redaction_patterns import (
    JUDGED_CHARS,
    LITERALS,
    is_password,
    is_placeholder,
    is_reference,
    is_sample,
    long_words,
    looks_random,
    matches,
)

_MARK = "[redacted:"
_PASSES = 4

Span = tuple[int, int, str]
"""Where a secret stands and what kind it is: start, end, kind."""


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
    marks: list[Span] = []
    # Replacing a secret can uncover another beside it, hardly ever twice; the bound keeps the time linear.
    for _ in range(_PASSES):
        spans = _spans(text)
        if not spans:
            break
        text, marks = _replaced(text, spans, marks)
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
    spans: list[tuple[int, int, int, str]] = []
    lowered = _lower(text)
    stages = (_private_keys(text), _tokens(text), _url_passwords(text), _headers(text, lowered))
    for order, stage in enumerate((*stages, _assignments(text, lowered))):
        spans += [(start, end, order, kind) for start, end, kind in stage]
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


def _tokens(text: str) -> Iterator[Span]:
    words = long_words(text)
    if not words:
        return
    present = [pair for pair in LITERALS if pair[0] in words]
    for entry, pairs in groupby(present, itemgetter(1)):
        for match in matches(entry, [literal for literal, _ in pairs], text):
            start, end = match.span(match.lastindex or 0)
            if not is_sample(text[start:end]):
                yield start, end, entry.kind


@cache
def _pem() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a key's first line, last line, one line of its body, and enough of a body."""
    gap = r"(?:\\[nr]|[\s\"'`+,>|#*]){0,24}+"
    return (
        re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"),
        re.compile(r"-----END [A-Z0-9 ]{0,60}-----"),
        re.compile(
            gap + r"(?:[A-Za-z0-9+/]{16,}+={0,2}|[A-Za-z0-9+/]+={0,2}(?=\s*\Z)"
            r"|[A-Z][A-Za-z-]{2,20}: [^\n\\]{1,200})"
        ),
        re.compile(r"[A-Za-z0-9+/]{16}"),
    )


def _private_keys(text: str) -> Iterator[Span]:
    if "PRIVATE KEY" not in text or "-----BEGIN " not in text:
        return
    first, last, line, body = _pem()
    heads = [match.span() for match in first.finditer(text)]
    limits = [*(at for at, _ in heads), len(text)][1:]
    for (start, after), limit in zip(heads, limits, strict=True):
        end = last.search(text, after, limit)
        if end is not None:
            if body.search(text, after, end.start()):
                yield start, end.end(), "private-key"
            continue
        # Cut off before its last line: everything that still looks like a line of the key goes.
        at = after
        while (more := line.match(text, at, limit)) is not None:
            at = more.end()
        if at > after:
            yield start, at, "private-key"


@cache
def _url() -> re.Pattern[str]:
    return re.compile(r"://[^\s/:@\"'`<>\\]{0,100}:([^\s/@\"'`<>\\\[\]]{1,256}+)@(?=[\w\[.%{$-])")


def _url_passwords(text: str) -> Iterator[Span]:
    if "://" not in text or "@" not in text:
        return
    for match in _url().finditer(text):
        value = match[1]
        if not is_placeholder(value) and value.lower() not in _PASSWORD_NAMES:
            yield *match.span(1), "url-password"


@cache
def _header() -> tuple[tuple[str, re.Pattern[str]], ...]:
    value = r"[ \t]{1,4}([a-z0-9._~+/-]{8,}+={0,2})"
    quote = r"(?:\\{0,3}[\"'`])?"
    return (
        (
            "authorization",
            re.compile(quote + r"\]?[ \t]{0,4}[:=,][ \t]{0,4}" + quote + "(basic|bearer|token|bot|apikey)" + value),
        ),
        ("bearer", re.compile("()" + value)),
    )


def _headers(text: str, lowered: str) -> Iterator[Span]:
    for word, pattern in _header():
        at = lowered.find(word)
        while at >= 0:
            after = at + len(word)
            match = pattern.match(lowered, after)
            if match is not None:
                start, end = match.span(2)
                if _is_credential(text[start:end], match[1]):
                    yield start, end, "authorization"
                    after = end
            at = lowered.find(word, after)


def _is_credential(value: str, scheme: str) -> bool:
    """Judge the value of a header; a scheme is named only where the header's name was seen."""
    if is_placeholder(value):
        return False
    if scheme == "basic":
        from base64 import b64decode

        try:
            pair = b64decode(value + "=" * (-len(value) % 4), validate=True)
        except ValueError:
            return False
        return b":" in pair
    return looks_random(value, 8 if scheme else 16)


_PASSWORD_NAMES = frozenset(("password", "passwd", "passphrase", "pwd", "pass"))
_ROOTS = ("pass", "pwd", "secret", "token", "key", "auth", "credential")
_KEY_OWNERS = ("api", "access", "secret", "private", "signing", "encryption", "auth", "account", "master")
_BEFORE_KEY = tuple(owner + joint for owner in _KEY_OWNERS for joint in ("", "_", "-", " "))
# Paging, cancellation and vocabulary tokens name a place, a task or a word, not a right.
_HARMLESS = ("next", "page", "continuation", "sync", "cancellation", "eos", "bos", "pad", "public")
_BEFORE_TOKEN = tuple(word + joint for word in _HARMLESS for joint in ("", "_", "-"))
_MAX_QUOTED = 2_048
_KEY_SPACE = 24


@cache
def _assignment() -> tuple[re.Pattern[str], ...]:
    """Return the patterns around a root word: its rest, the sign, a flag before and after, and a bare value.

    All but the last are for lowered text, as names come in any case.
    """
    return (
        re.compile(r"word|wd|phrase|orization"),
        re.compile(
            r"s?(?:[_-]?(?:access[_-]?key|key|token|base|value|string|hex|base64|prod|production|dev|stage|staging"
            r"|test|live|old|new|default|\d{1,3})){0,2}(?:\\{0,3}[\"'`]\]?)?"
            r"(?:[ \t]{0,4}:[ \t]{0,4}[a-z][a-z0-9_.|\[\]]{0,40}[ \t]{0,4}=|[ \t]{0,16}(?::=|=>|={1,3}|!=|:))"
            r"[ \t]{0,16}(?:[bru]{0,2}(\\{0,3}[\"'`]))?"
        ),
        re.compile(r"(?:\A|[\s\"'`])--[a-z0-9-]{0,20}\Z"),
        re.compile(r"[ \t]{1,4}(\\{0,3}[\"'`])?"),
        re.compile(r"[^\s\"'`,;&<>(){}\[\]|\\]+"),
    )


def _assignments(text: str, lowered: str) -> Iterator[Span]:
    if "=" not in text and ":" not in text and "--" not in text:
        return
    for root in _ROOTS:
        at = lowered.find(root)
        while at >= 0:
            after = at + len(root)
            span = _assigned(text, lowered, root, at)
            if span is not None:
                yield span
                after = span[1]
            at = lowered.find(root, after)


def _assigned(text: str, lowered: str, root: str, at: int) -> Span | None:
    """Judge the value assigned to the name around the root word at one place, if there is one."""
    before = lowered[max(0, at - _KEY_SPACE) : at]
    if (root == "key" and not before.endswith(_BEFORE_KEY)) or (root == "token" and before.endswith(_BEFORE_TOKEN)):
        return None
    rest_of_root, assignment, flag_start, flag_end, bare_value = _assignment()
    after = at + len(root)
    names_password = root == "pwd"
    if root in {"pass", "auth"}:
        longer = rest_of_root.match(lowered, after)
        if longer is not None:
            after = longer.end()
        elif before[-1:].isalnum():
            return None
        names_password = root == "pass" and (longer is not None or before[-1:] in {"_", "-"})
    sign = assignment.match(lowered, after)
    if sign is None and flag_start.search(before):
        sign = flag_end.match(lowered, after)
    if sign is None:
        return None
    start = sign.end()
    if sign[1]:
        end = text.find(sign[1], start, start + _MAX_QUOTED)
        value = text[start:end] if end > 0 else ""
    else:
        bare = bare_value.match(text, start, start + JUDGED_CHARS)
        value = bare[0].rstrip(".:") if bare is not None else ""
        end = start + len(value)
        if is_reference(value, text[end : end + 1], loud=text[at].isupper()):
            return None
    least = 12 if names_password or root == "secret" else 16
    if not (looks_random(value, least) or (names_password and is_password(value))) or is_placeholder(value):
        return None
    if len(value) == JUDGED_CHARS and (whole := bare_value.match(text, start)) is not None:
        end = whole.end()
    is_aws_key = len(value) == 40 and "access" in lowered[at - len(before) : start] and "secret" in before + root
    kind = "aws-secret-key" if is_aws_key else "password" if names_password else "secret"
    return start, end, kind


def _lower(text: str) -> str:
    """Return the text in lower case with every character in its place."""
    # the only character of Unicode that is two in lower case
    return "\u0130".join([part.lower() for part in text.split("\u0130")])
