"""Branches, commits and user names, read from git's files: a clone's settings could control a git process."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from satchel.base.lazy import lazy_regex
from satchel.base.machine import seen_by_caller
from satchel.base.records import NamedTuple
from satchel.base.text import MAX_NAME_CHARS, nameable

_MAX_BYTES = 4_096
_MAX_PACKED_BYTES = 8 * 1024 * 1024
_HASH_CHARS = frozenset(b"0123456789abcdef")
_FORBIDDEN = frozenset(b" ~^:?*[\\\x7f").union(range(32))


@seen_by_caller(0, unknown=(None, None))
def read_head(top: str | None) -> tuple[str | None, str | None]:
    """Return the branch and the commit that a worktree has checked out; None for what is unknown."""
    folder = git_folder(top)
    if folder is None:
        return None, None
    head = read_regular(folder / "HEAD")
    ref = _target(head)
    return (None, _commit(head)) if ref is None else (_branch_name(ref), _commit_of(folder, ref))


def top_of(folder: str | None) -> str | None:
    """Return the nearest folder upwards with a ``.git``, or None."""
    while folder is not None:
        if os.path.lexists(f"{folder}/.git"):
            return folder
        above = os.path.dirname(folder)  # noqa: PTH120 -- faster, and runs on every write about a file
        folder = above if above != folder else None
    return None


def git_folder(top: str | None) -> Path | None:
    if top is None:
        return None
    folder = Path(top) / ".git"
    pointer = read_regular(folder)
    if pointer.startswith(b"gitdir:"):
        folder = Path(top) / os.fsdecode(pointer.removeprefix(b"gitdir:").strip())
    return folder


def has_branch(top: str, branch: str) -> bool:
    folder, ref = git_folder(top), b"refs/heads/" + os.fsencode(branch)
    return folder is not None and _is_ref(ref) and _commit_of(folder, ref) is not None


class Branches(NamedTuple):
    """The state of a worktree and of the repository's default branch; None for what is unknown.

    Attributes:
        default: the configured branch, else that of the remote ``origin``, else ``main`` or ``master``, else the branch
            of the main worktree.
        local, remote: the commit of that branch here and in ``origin``.
    """

    branch: str | None
    head: str | None
    default: str | None
    local: str | None
    remote: str | None


def read_branches(top: str, configured: str | None = None) -> Branches:
    """Read the state of a worktree and of its default branch, which may be configured."""
    folder = git_folder(top)
    if folder is None:
        return Branches(None, None, None, None, None)
    shared = _common(folder)
    commits: dict[bytes, str | None] = {}

    def commit_of(ref: bytes) -> str | None:
        if ref not in commits:
            commits[ref] = _commit_in(shared, ref) if _is_ref(ref) else None
        return commits[ref]

    def local_and_remote(name: str) -> tuple[str | None, str | None]:
        encoded = os.fsencode(name)
        return commit_of(b"refs/heads/" + encoded), commit_of(b"refs/remotes/origin/" + encoded)

    content = read_regular(f"{folder}/HEAD")
    ref = _target(content)
    head = _commit(content) if ref is None else commit_of(ref)
    default = configured
    if default is None:
        target = _target(read_regular(f"{shared}/refs/remotes/origin/HEAD"))
        if target is not None and target.startswith(b"refs/remotes/origin/"):
            default = os.fsdecode(target.removeprefix(b"refs/remotes/origin/"))
    if default is None:
        default = next((name for name in ("main", "master") if local_and_remote(name) != (None, None)), None)
    if default is None:
        target = ref if shared == str(folder) else _target(read_regular(f"{shared}/HEAD"))
        default = None if target is None else os.fsdecode(target.removeprefix(b"refs/heads/"))
    local, remote = (None, None) if default is None else local_and_remote(default)
    return Branches(None if ref is None else _branch_name(ref), head, default, local, remote)


def _target(content: bytes) -> bytes | None:
    ref = content.removeprefix(b"ref:").strip()
    return ref if content.startswith(b"ref:") and _is_ref(ref) else None


def _branch_name(ref: bytes) -> str:
    return nameable(ref.removeprefix(b"refs/heads/").decode("utf-8", "replace"))[:MAX_NAME_CHARS]


def _common(folder: Path) -> str:
    # str, because creating a Path takes longer than reading such a file
    pointer = read_regular(f"{folder}/commondir").strip()
    return f"{folder}/{os.fsdecode(pointer)}" if pointer else str(folder)


def _commit_of(folder: Path, ref: bytes) -> str | None:
    return _commit_in(_common(folder), ref)


def _commit_in(shared: str, ref: bytes) -> str | None:
    return _commit(read_regular(f"{shared}/{os.fsdecode(ref)}")) or _packed(shared, ref)


def _packed(shared: str, ref: bytes) -> str | None:
    content = read_regular(f"{shared}/packed-refs", _MAX_PACKED_BYTES)
    # searched as a whole, because splitting 100,000 lines takes seven times as long
    end = content.find(b" %b\n" % ref)
    return None if end < 0 else _commit(content[content.rfind(b"\n", 0, end) + 1 : end])


def _commit(content: bytes) -> str | None:
    content = content.strip()
    return content.decode("ascii") if len(content) in {40, 64} and _HASH_CHARS.issuperset(content) else None


def _is_ref(ref: bytes) -> bool:
    return (
        ref.startswith(b"refs/")
        and _FORBIDDEN.isdisjoint(ref)
        and not any(not part or part.startswith(b".") for part in ref.split(b"/"))
    )


def read_regular(file: Path | str, most: int = _MAX_BYTES) -> bytes:
    """Return the contents of a regular file, or nothing for anything else, such as a blocking pipe."""
    try:
        return _read(file, most) or b""
    except OSError:
        return b""


def _read(file: Path | str, most: int, flags: int = 0) -> bytes | None:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | flags)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(descriptor)
        # allocating the maximum would take longer than reading the file
        return os.read(descriptor, min(status.st_size, most)) if stat.S_ISREG(status.st_mode) else None
    finally:
        os.close(descriptor)


_MAX_CONFIG_BYTES = 1_048_576
_FALSE = frozenset(("false", "no", "off", "0", ""))
_LINE = lazy_regex(
    r"\s++|[#;][^\n]*+"
    r'|\[(?P<section>[A-Za-z0-9.-]++)(?P<part>[ \t]++"(?:[^"\\\n]|\\.)*+")?+[ \t]*+\]'
    r"|(?P<name>[A-Za-z][A-Za-z0-9-]*+)[ \t]*+"
    r'(?:=(?P<value>(?:"(?:[^"\\\n]|\\(?:\r?\n|[^\r]|\Z))*+"|[^"\\\n#;]|\\(?:\r?\n|[^\r]|\Z))*+))?+'
    r"\r?+(?:[#;][^\n]*+)?+(?:\n|\Z)",
)
_PIECE = lazy_regex(r'"|\\(\r?\n|.|\Z)|([^"\\]++)')
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
    data = _read(file, _MAX_CONFIG_BYTES, 0 if behind_link else os.O_NOFOLLOW)
    return None if data is None else data.decode("utf-8", "surrogateescape")


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
    while (item := _LINE().match(text, at)) is not None and item.end() > at:
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
    for piece in _PIECE().finditer(raw):
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
