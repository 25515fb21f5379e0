"""Delimiters that cannot occur inside what they delimit, so that no file can end early or pretend to be another."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator

_MARK_DIGITS = 9
"""Digits of a mark to begin with. Encodings take digits in threes, so every mark of nine costs three tokens."""

_PLAIN_NAME = re.compile(r'[^ "\\,:<>]+')


ANY_MARK = "123456789"
"""A mark like those that are chosen, to count what a part takes around its text."""


def choose_mark(seeds: Iterable[bytes], texts: Iterable[str]) -> str:
    """Derive the mark of one message: digits that occur in none of its texts.

    The same contents give the same mark, so that a message sent again is the same; but who writes one file
    cannot know the mark beforehand, as it depends on all.

    Args:
        seeds: the digests of the contents that the message sends, in its order.
        texts: everything that must not contain the mark.
    """
    seed = hashlib.sha256()
    for one in seeds:
        seed.update(one)
    digits = _digits(seed.digest())
    mark = "".join(next(digits) for _ in range(_MARK_DIGITS))
    for text in texts:
        while mark in text:  # a text without a mark is without every longer one: one pass is enough
            mark += next(digits)
    return mark


def _digits(seed: bytes) -> Iterator[str]:
    """Yield decimal digits without end: a text, being finite, cannot hold them all."""
    while True:
        seed = hashlib.sha256(seed).digest()
        yield from (str(byte % 10) for byte in seed if byte < 250)


def fenced(name: str, mark: str, body: str, **attributes: str) -> str:
    """Put a text between two lines of its own, as it is.

    Args:
        name: what the text is.
        mark: what :func:`choose_mark` returned.
        body: any text. One that does not end in a newline gets one, and the attribute ``newline="none"``.
        attributes: shown in the first line, quoted as JSON.
    """
    if body and not body.endswith("\n"):
        attributes["newline"] = "none"
        body = f"{body}\n"
    written = "".join(f" {key}={quoted(value)}" for key, value in attributes.items())
    return f"<{name}-{mark}{written}>\n{body}</{name}-{mark}>\n"


def quoted(text: str) -> str:
    """Write a string as JSON on one line; only what is safe to show stays as it is."""
    escaped = json.dumps(text, ensure_ascii=False)
    if escaped.isprintable():
        return escaped
    return json.dumps(text)


def named(path: str) -> str:
    """Write a path for a list: as it is where nothing in it could be misread, else quoted."""
    return path if path.isprintable() and _PLAIN_NAME.fullmatch(path) else quoted(path)
