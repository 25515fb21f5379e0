"""Passwords on the standard input of a command, as in ``echo ... | docker login --password-stdin``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from satchel.redaction.assignments import Span
from satchel.redaction.prefilter import Places
from satchel.redaction.values import is_placeholder

_QUOTED = r"\"([^\"\n$`]{3,200})\"|'([^'\n]{3,200})'"
_BARE = r"([^\s\"'`|$<>;&()]{3,200})"
_LONGEST_COMMAND = 300
_VALUE_GROUPS = (1, 2, 3, 5)
"""The groups of the value in the patterns: quoted, bare, or a line of a here-document."""


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """Return a command that reads a password, the value of echo and the next command, and a here-document."""
    return (
        re.compile(
            r"(?:\A|[;&(])[ \t]{0,4}(?:sudo[ \t]{1,4})?"
            r"(?:(?:docker|podman|nerdctl|buildah|skopeo|oras|helm)[ \t](?:registry[ \t])?login|kinit|cryptsetup|su"
            r"|(?:ch|smb)?passwd)(?![\w.-])"
            r"|\bsudo[ \t][^\n]{0,100}?(?<=[ \t])-(?:[A-Za-z]{0,3}S[A-Za-z]{0,3}|-stdin)(?![\w-])"
            r"|\blogin[ \t][^\n]{0,100}?--stdin\b"
            r"|-pass[a-z]{2,10}-(?:stdin|fd)\b|-with-token\b|-pass(?:in)?[ \t]stdin\b"
        ),
        re.compile(
            r"(?:echo|printf)[ \t]{1,4}(?:-[a-zA-Z]{1,3}[ \t]{1,4}){0,2}(?:[\"']?%s(?:\\{1,2}n)?[\"']?[ \t]{1,4})?"
            rf"(?:{_QUOTED}|{_BARE})"
            rf"(?=[ \t]{{0,4}}(?:[;)][^|\n]{{0,200}})?\|(?P<command>[^|\n]{{0,{_LONGEST_COMMAND}}}))"
        ),
        re.compile(
            rf"<<<[ \t]{{0,4}}(?:{_QUOTED}|{_BARE})"
            rf"|<<-?[ \t]{{0,4}}[\"']?([A-Za-z_]{{1,20}})[\"']?[ \t]{{0,4}}\n[ \t]{{0,16}}{_BARE}\n[ \t]{{0,16}}\4\b"
        ),
    )


def piped(text: str, _: str, places: Places) -> Iterator[Span]:
    """Yield what is written to a command that reads a password."""
    reader, echoed, here = _patterns()
    for word in ("echo", "printf"):
        for at in places.get(word, ()):
            match = echoed.match(text, at)
            if match is not None and (command := reader.search(match["command"])) is not None:
                yield from _secrets(match, command[0])
    for at in places.get("<<", ()):
        match = here.match(text, at)
        if match is not None:
            line = text[max(0, at - _LONGEST_COMMAND) : at].rpartition("\n")[2].rpartition("|")[2]
            if (command := reader.search(line)) is not None:
                yield from _secrets(match, command[0])


def _secrets(match: re.Match[str], command: str) -> Iterator[Span]:
    start, end = match.span(max(number for number in _VALUE_GROUPS if number <= match.re.groups and match[number]))
    if "chpasswd" in command and "[redacted" not in match[0]:
        start = match.string.rfind(":", start, end) + 1 or start
    while match.string.endswith("\\n", start, end):
        end -= 2
    if not is_placeholder(match.string[start:end]):
        yield start, end, "password"
