"""Paths of a project's files: one file has one spelling, whatever links and letter case lead to it.

Claims, file changes and entries meet by this spelling alone. Nothing is opened; each part of a path that exists is
looked at once (``lstat``), and on a disk that ignores case its folder is listed.
"""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Mapping
from functools import lru_cache

from satchel.base.errors import InvalidInput, Refused
from satchel.base.machine import asked_of_caller
from satchel.base.text import check_name

_MAX_LINKS = 40
"""As many as Linux follows in one path."""

_MISSING = "\0"
"""What no link can hold."""


@asked_of_caller(unknown=lambda value, _root, _field="file": value)
def canonical_path(value: object, root: str | None, field: str = "file") -> str:
    """Return a path relative to the project's root, with forward slashes and without ``.`` or ``..``.

    Where it exists, it is the place behind every link inside the project, in the spelling of the disk; what does not
    exist is taken as it was written, in Unicode's form NFC. ``..`` is taken as text, before links are followed.

    Args:
        value: a relative path, or an absolute one below ``root``.
        root: the project's or worktree's absolute root folder; None accepts relative paths only, as text.
        field: the argument's name, for the error.

    Raises:
        InvalidInput: the path is empty, leaves the project, or holds what a name must not.
        Refused: a link on it leads out of the project.
    """
    if not isinstance(value, str):
        check_name(value, field)
    path = _as_text(str(value), root, field)
    return path if root is None else _on_disk(path, root, field)


@lru_cache(maxsize=4_096)
def _as_text(value: str, root: str | None, field: str) -> str:
    # the same few files come with every call
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
    """Return where a path leads, part by part."""
    found = _walk(path, root)
    if found is None:
        raise Refused(
            f"{field} {path!r} leads out of the project through a link", "Name a file of the project, or leave it out"
        )
    if found == ".":
        raise InvalidInput(f"{field} {path!r} names no file of the project", "It is a link to the project's own folder")
    # a link may lead to what is no name
    return path if found == path else check_name(found, field)


def _walk(path: str, root: str) -> str | None:
    """Return the place behind a path's links, from the root, ``.`` for the root itself, None for one outside.

    Links that lead in circles are not followed.
    """
    ignores_case = ignores_letter_case(root)
    left = path.split("/")[::-1]
    walked: list[str] = []
    links = 0
    while left:
        part = left.pop()
        if part == "..":
            # only the target of a link holds one: at the top it leads out, and maybe in again
            if walked:
                walked.pop()
                continue
            target = "/".join((os.path.realpath(root), "..", *left[::-1]))
            left = []
        elif part in {"", "."}:
            continue
        else:
            here = "/".join((root, *walked))
            walked.append(_spelling(here, part) if ignores_case else part)
            found = _target(f"{here}/{walked[-1]}")
            if found is None:
                continue
            target = found
            if target == _MISSING and ".." not in left:
                break
            links += 1
            if links > _MAX_LINKS:
                return path
            if target == _MISSING:
                # a link through what is not there, taken as text
                target = posixpath.normpath("/".join((root, *walked, *left[::-1])))
                left = []
            else:
                walked.pop()
        if posixpath.isabs(target):
            inside = _below(target, root)
            if inside is None:
                return None
            target, walked = inside, []
        left += target.split("/")[::-1]
    return "/".join((*walked, *(part for part in left[::-1] if part not in {"", "."}))) or "."


def _target(path: str) -> str | None:
    """Return where a link leads, None for what is no link, :data:`_MISSING` where there is nothing."""
    try:
        return os.readlink(path) if stat.S_ISLNK(os.lstat(path).st_mode) else None  # noqa: PTH115 -- in every write
    except (OSError, ValueError):
        return _MISSING


def _below(target: str, root: str) -> str | None:
    """Return an absolute target relative to the root, or None for one outside."""
    normal = posixpath.normpath(target)
    for base in (root, os.path.realpath(root)):
        if normal == base or normal.startswith(f"{base.rstrip('/')}/"):
            return posixpath.relpath(normal, base)
    return None


@asked_of_caller(unknown=False)
@lru_cache(maxsize=64)
def ignores_letter_case(root: str) -> bool:
    """Whether the disk takes names that differ in case alone for one, asked of a name that the root holds."""
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
    """Return a name as the folder spells it, or as it was written where the folder has none like it."""
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
