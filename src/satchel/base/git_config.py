"""What git's configuration says about ignoring and the user: https://git-scm.com/docs/git-config, read without git.

Asking git takes a millisecond, reading its files under a tenth of one. Files that these include are not read.
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
    """What is configured for one repository, or for none.

    Attributes:
        excludes_file: the file of rules for all repositories, absolute or relative to the top; None is none.
        any_case: whether the case of letters makes no difference, as on file systems where it does not.
    """

    excludes_file: str | None
    any_case: bool


def read_config(git_folder: str | None, environ: Mapping[str, str] = os.environ) -> GitConfig:
    """Read it from the files of the system, the user and the repository, of which the last that speaks decides.

    Args:
        git_folder: where the repository keeps its configuration; None is no repository.
        environ: the variables that say where those files are.
    """
    found: dict[str, str | None] = {}
    for file in _files(git_folder, environ):
        text = text_of(file)
        if text:
            found |= _section(text, "core")
    home = environ.get("HOME")
    excludes = found.get("excludesfile")
    if excludes is None:
        folder = _xdg_folder(environ)
        excludes = None if folder is None else f"{folder}/ignore"
    elif excludes == "~" or excludes.startswith("~/"):
        excludes = None if home is None else home + excludes[1:]
    elif excludes.startswith("~"):
        excludes = os.path.expanduser(excludes)  # noqa: PTH111 -- another user's, which no variable names
    ignorecase = found.get("ignorecase", "false")
    return GitConfig(excludes or None, ignorecase is None or ignorecase.lower() not in _FALSE)


def user_name(environ: Mapping[str, str]) -> str | None:
    """Return the name of the user; a repository's own configuration, which may have come in an archive, has no say."""
    found: str | None = None
    for file in _files(None, environ):
        text = text_of(file)
        if text:
            found = _section(text, "user").get("name") or found
    return found


def text_of(file: str, *, behind_link: bool = True) -> str | None:
    """Return the text of one of git's files; None where there is none, or something else in its place.

    Args:
        file: the path.
        behind_link: whether the path may be a link.
    """
    try:
        descriptor = os.open(file, _OPEN if behind_link else _OPEN | os.O_NOFOLLOW)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        # room for the most there may be would take longer to get than the file to read
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
    """Return the values of one section in one file, up to the first line that git would not understand."""
    found: dict[str, str | None] = {}
    is_here = False
    at = 1 if text.startswith("\ufeff") else 0
    while (item := _LINE.match(text, at)) is not None and item.end() > at:
        at = item.end()
        if item["section"] is not None:
            is_here = item["section"].lower() == section and item["part"] is None
        elif item["name"] is not None and is_here:
            raw = item["value"]
            found[item["name"].lower()] = None if raw is None else _value(raw)
    return found


def _value(raw: str) -> str:
    """Return a value without its quotes and escapes, and without the white space around it that is not quoted."""
    value = ""
    kept = 0
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
            kept = max(kept, len(value.rstrip()))
            continue
        kept = len(value)
    return value[:kept]
