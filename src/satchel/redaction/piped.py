"""Passwords on the standard input of a command, as in ``echo ... | docker login --password-stdin``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from satchel.redaction.assignments import Span
from satchel.redaction.prefilter import Places
from satchel.redaction.values import is_placeholder

_VALUE = r"(?:\"([^\"\n$`]{3,200})\"|'([^'\n]{3,200})'|([^\s\"'`|$<>;&]{3,200}))"
_LONGEST_COMMAND = 300


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return an option that makes a command read a password, the value before a pipe, and that of a here-string."""
    return (
        re.compile(r"-(?:[A-Za-z]{0,3}S[A-Za-z]{0,3}(?=[ \t])|-?pass[a-z]{2,10}-(?:stdin|fd)\b|-stdin\b)"),
        re.compile(
            r"(?:echo|printf)[ \t]{1,4}(?:-[a-zA-Z]{1,3}[ \t]{1,4}){0,2}(?:[\"']?%s(?:\\{1,2}n)?[\"']?[ \t]{1,4})?"
            + _VALUE
            + r"[ \t]{0,4}\|(?=[^|]{0,300}\Z)"
        ),
        re.compile(r"[^|;\n]{0,200}?<<<[ \t]{0,4}" + _VALUE),
    )


def piped(text: str, _: str, places: Places) -> Iterator[Span]:
    """Yield what is written to a command that reads a password."""
    option, echoed, here = _patterns()
    for at in places.get("option", ()):
        if option.match(text, at) is None:
            continue
        line = _line_before(text, at)
        if text[at + 1] != "-" and "sudo " not in line:
            continue
        match = echoed.search(line) if "|" in line else None
        if match is not None:
            yield from _secrets(match, at - len(line))
        elif (match := here.match(text, at)) is not None:
            yield from _secrets(match, 0)
    for at in places.get("pass", ()):
        if not text.startswith("chpasswd", at - 2):
            continue
        line = _line_before(text, at)
        match = echoed.search(line)
        if match is not None and "[redacted" not in match[0]:
            user, _, _ = match[match.lastindex or 0].rpartition(":")
            yield from _secrets(match, at - len(line), len(user) + 1 if user else 0)


def _line_before(text: str, at: int) -> str:
    return text[max(0, at - _LONGEST_COMMAND) : at].rpartition("\n")[2]


def _secrets(match: re.Match[str], offset: int, skipped: int = 0) -> Iterator[Span]:
    start, end = match.span(match.lastindex or 0)
    if not is_placeholder(match.string[start + skipped : end]):
        yield start + skipped + offset, end + offset, "password"
