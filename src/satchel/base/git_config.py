"""The user's name in git's settings, read without starting git, which is slower.

Included files are not read. The format: https://git-scm.com/docs/git-config.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping

_MAX_BYTES = 1_048_576
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FALSE = frozenset(("false", "no", "off", "0", ""))
_LINE = re.compile(
    r"\s++|[#;][^\n]*+"
    r'|\[(?P<section>[A-Za-z0-9.-]++)(?P<part>[ \t]++"(?:[^"\\\n]|\\.)*+")?+[ \t]*+\]'
    r"|(?P<name>[A-Za-z][A-Za-z0-9-]*+)[ \t]*+"
    r'(?:=(?P<value>(?:"(?:[^"\\\n]|\\(?:\r?\n|[^\r]|\Z))*+"|[^"\\\n#;]|\\(?:\r?\n|[^\r]|\Z))*+))?+'
    r"\r?+(?:[#;][^\n]*+)?+(?:\n|\Z)",
)
_PIECE = re.compile(r'"|\\(\r?\n|.|\Z)|([^"\\]++)')
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\n": "", "\r\n": ""}


def user_name(environ: Mapping[str, str]) -> str | None:
    """Return the user's name, ignoring the repository's own configuration, which may have come in an archive."""
    name: str | None = None
    for file in _files(environ):
        text = text_of(file)
        if text:
            name = _user_name(text) or name
    return name


def text_of(file: str, *, behind_link: bool = True) -> str | None:
    """Return the text of one of git's files, or None if it is missing or not a regular file.

    ``behind_link`` tells whether it may be a symbolic link.
    """
    try:
        descriptor = os.open(file, _OPEN if behind_link else _OPEN | os.O_NOFOLLOW)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        # allocating the maximum would take longer than reading the file
        data = os.read(descriptor, min(status.st_size, _MAX_BYTES))
    finally:
        os.close(descriptor)
    return data.decode("utf-8", "surrogateescape")


def _files(environ: Mapping[str, str]) -> Iterator[str]:
    if environ.get("GIT_CONFIG_NOSYSTEM", "").lower() in _FALSE:
        yield environ.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig")
    if "GIT_CONFIG_GLOBAL" in environ:
        yield environ["GIT_CONFIG_GLOBAL"]
        return
    home = environ.get("HOME")
    if environ.get("XDG_CONFIG_HOME"):
        yield f"{environ['XDG_CONFIG_HOME']}/git/config"
    elif home is not None:
        yield f"{home}/.config/git/config"
    if home is not None:
        yield f"{home}/.gitconfig"


def _user_name(text: str) -> str | None:
    # the value before the first line that git would not understand
    name: str | None = None
    is_here = False
    at = 1 if text.startswith("\ufeff") else 0
    while (item := _LINE.match(text, at)) is not None and item.end() > at:
        at = item.end()
        if item["section"] is not None:
            is_here = item["section"].lower() == "user" and item["part"] is None
        elif is_here and item["name"] is not None and item["name"].lower() == "name":
            name = _value(item["value"] or "")
    return name


def _value(raw: str) -> str:
    # removes quotes, escapes and unquoted surrounding white space
    value = ""
    length = 0
    is_quoted = False
    for piece in _PIECE.finditer(raw):
        escaped, plain = piece.groups()
        if escaped is not None:
            value += _ESCAPES.get(escaped, escaped)
        elif plain is None:
            is_quoted = not is_quoted
        elif is_quoted:
            value += plain
        else:
            value += plain if value else plain.lstrip()
            length = max(length, len(value.rstrip()))
            continue
        length = len(value)
    return value[:length]
