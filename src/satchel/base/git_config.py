"""Git's settings about ignored files and the user, read without starting git, which is slower.

Included files are not read. The format: https://git-scm.com/docs/git-config.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from functools import lru_cache

from satchel.base.records import dataclass

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


@dataclass(frozen=True, slots=True)
class GitConfig:
    """Settings of a repository, or outside of any.

    Attributes:
        excludes_file: the file with ignore rules for all repositories, absolute or relative to the top, or None.
        any_case: whether letter case is ignored, as on some file systems.
    """

    excludes_file: str | None
    any_case: bool


def read_config(git_folder: str | None, environ: Mapping[str, str] = os.environ) -> GitConfig:
    """Read the settings from the files of the system, the user and the repository; later ones override.

    ``git_folder`` is the repository's git folder, or None.
    """
    core: dict[str, str | None] = {}
    for file in _files(git_folder, environ):
        text = text_of(file)
        if text:
            core |= _section(text, "core")
    home = environ.get("HOME")
    excludes = core.get("excludesfile")
    if excludes is None:
        folder = _xdg_folder(environ)
        excludes = None if folder is None else f"{folder}/ignore"
    elif excludes == "~" or excludes.startswith("~/"):
        excludes = None if home is None else home + excludes[1:]
    elif excludes.startswith("~"):
        excludes = os.path.expanduser(excludes)  # noqa: PTH111 -- another user's, which no variable names
    ignorecase = core.get("ignorecase", "false")
    return GitConfig(excludes or None, ignorecase is None or ignorecase.lower() not in _FALSE)


def user_name(environ: Mapping[str, str]) -> str | None:
    """Return the user's name, ignoring the repository's own configuration, which may have come in an archive."""
    name: str | None = None
    for file in _files(None, environ):
        text = text_of(file)
        if text:
            name = _section(text, "user").get("name") or name
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


def _files(git_folder: str | None, environ: Mapping[str, str]) -> Iterator[str]:
    if environ.get("GIT_CONFIG_NOSYSTEM", "").lower() in _FALSE:
        yield environ.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig")
    if "GIT_CONFIG_GLOBAL" in environ:
        yield environ["GIT_CONFIG_GLOBAL"]
    else:
        folder = _xdg_folder(environ)
        if folder is not None:
            yield f"{folder}/config"
        if "HOME" in environ:
            yield f"{environ['HOME']}/.gitconfig"
    if git_folder is not None:
        yield f"{git_folder}/config"


def _xdg_folder(environ: Mapping[str, str]) -> str | None:
    if environ.get("XDG_CONFIG_HOME"):
        return f"{environ['XDG_CONFIG_HOME']}/git"
    return f"{environ['HOME']}/.config/git" if "HOME" in environ else None


@lru_cache(maxsize=64)
def _section(text: str, section: str) -> Mapping[str, str | None]:
    # values up to the first line that git would not understand
    values: dict[str, str | None] = {}
    is_here = False
    at = 1 if text.startswith("\ufeff") else 0
    while (item := _LINE.match(text, at)) is not None and item.end() > at:
        at = item.end()
        if item["section"] is not None:
            is_here = item["section"].lower() == section and item["part"] is None
        elif item["name"] is not None and is_here:
            raw = item["value"]
            values[item["name"].lower()] = None if raw is None else _value(raw)
    return values


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
