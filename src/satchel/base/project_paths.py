"""Paths of a project's files: one file has one spelling, whatever links and letter case lead to it."""

# Claims, file changes and entries compare this spelling. Nothing is opened; each existing part of a path costs one
# `lstat`, and on a disk that ignores case its folder is listed.

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Mapping
from functools import lru_cache

from satchel.base.errors import InvalidInput, Refused
from satchel.base.machine import seen_by_caller
from satchel.base.text import check_name

# The limit of Linux for one path.
_MAX_LINKS = 40

# A value that no link can have.
_MISSING = "\0"


@seen_by_caller(1)
def canonical_path(value: object, root: str | None, field: str = "file") -> str:
    """Return a path relative to the project's root, with forward slashes and without ``.`` or ``..``.

    An existing path is resolved inside the project and spelled as on the disk; others stay as written, in NFC. ``..``
    is removed as text before links are followed. Without a root only relative paths are accepted, as text. ``field``
    names the argument in errors.
    """
    if not isinstance(value, str):
        check_name(value, field)
    path = _as_text(str(value), root, field)
    return path if root is None else _on_disk(path, root, field)


@lru_cache(maxsize=4_096)
def _as_text(value: str, root: str | None, field: str) -> str:
    # cached because calls repeat the same few files
    path = check_name(value, field)
    if posixpath.isabs(path):
        inside = None if root is None else posixpath.relpath(posixpath.normpath(path), root)
        if inside is None or inside == ".." or inside.startswith("../"):
            raise InvalidInput(f"{field} {path!r} is outside the project", "Give a path relative to the project's root")
        normal = inside
    else:
        normal = posixpath.normpath(path)
    if normal in {".", ".."} or normal.startswith("../"):
        raise InvalidInput(f"{field} {path!r} names no file of the project", "Give a path such as src/app.py")
    return normal


def _on_disk(path: str, root: str, field: str) -> str:
    resolved = _walk(path, root)
    if resolved is None:
        raise Refused(
            f"{field} {path!r} leads out of the project through a link", "Name a file of the project, or leave it out"
        )
    if resolved == ".":
        raise InvalidInput(f"{field} {path!r} names no file of the project", "It is a link to the project's own folder")
    # a link may lead to an invalid name
    return path if resolved == path else check_name(resolved, field)


def _walk(path: str, root: str) -> str | None:
    # circular links are not followed
    ignores_case = ignores_letter_case(root)
    pending = path.split("/")[::-1]
    walked: list[str] = []
    links = 0
    while pending:
        part = pending.pop()
        if part == "..":
            # only the target of a link has one: at the top it leads out, and maybe in again
            if walked:
                walked.pop()
                continue
            target = "/".join((os.path.realpath(root), "..", *pending[::-1]))
            pending = []
        elif part in {"", "."}:
            continue
        else:
            here = "/".join((root, *walked))
            walked.append(_spelling(here, part) if ignores_case else part)
            link_target = _target(f"{here}/{walked[-1]}")
            if link_target is None:
                continue
            target = link_target
            if target == _MISSING and ".." not in pending:
                break
            links += 1
            if links > _MAX_LINKS:
                return path
            if target == _MISSING:
                # a link through a missing folder, resolved as text
                target = posixpath.normpath("/".join((root, *walked, *pending[::-1])))
                pending = []
            else:
                walked.pop()
        if posixpath.isabs(target):
            inside = _below(target, root)
            if inside is None:
                return None
            target, walked = inside, []
        pending += target.split("/")[::-1]
    return "/".join((*walked, *(part for part in pending[::-1] if part not in {"", "."}))) or "."


def _target(path: str) -> str | None:
    try:
        return os.readlink(path) if stat.S_ISLNK(os.lstat(path).st_mode) else None  # noqa: PTH115 -- in every write
    except (OSError, ValueError):
        return _MISSING


def _below(target: str, root: str) -> str | None:
    normal = posixpath.normpath(target)
    for base in (root, os.path.realpath(root)):
        if normal == base or normal.startswith(f"{base.rstrip('/')}/"):
            return posixpath.relpath(normal, base)
    return None


@lru_cache(maxsize=64)
def ignores_letter_case(root: str) -> bool:
    """Return whether the disk ignores letter case, tested with a name in the root."""
    for name in (".satchel", ".git", ".gitignore"):
        if os.path.lexists(f"{root}/{name}"):
            return _is_same(f"{root}/{name}", f"{root}/{name.upper()}")
    parent, name = posixpath.split(root.rstrip("/"))
    return name != name.swapcase() and _is_same(root, f"{parent}/{name.swapcase()}")


def _is_same(path: str, other: str) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.lstat(other))
    except OSError:
        return False


def _spelling(folder: str, name: str) -> str:
    try:
        changed = os.stat(folder).st_mtime_ns  # noqa: PTH116 -- on the path of every write
        return _spellings(folder, changed).get(_caseless(name), name)
    except OSError:
        return name


@lru_cache(maxsize=64)
def _spellings(folder: str, _changed: int) -> Mapping[str, str]:
    return {_caseless(name): name for name in os.listdir(folder)}  # noqa: PTH208 -- names alone


def _caseless(name: str) -> str:
    if name.isascii():
        return name.lower()
    import unicodedata

    return unicodedata.normalize("NFC", name).casefold()
