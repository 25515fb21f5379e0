"""Text at the edge: cleaned where it is content, refused where it is a name."""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import dataclass

from satchel.base.errors import InvalidInput

MAX_NAME_CHARS = 200

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NAME_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_PLACEHOLDER = re.compile(r"\{\{.*?\}\}|\$\{.*?\}|<your[-_ ][^>]*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CleanText:
    """Content that is safe to store, and what had to be done for that."""

    text: str
    notes: tuple[str, ...]


def clean_content(text: str) -> CleanText:
    """Make content storable: drop control characters, replace lone surrogates by U+FFFD.

    Tabs and newlines stay; CRLF and CR become newlines without a note.

    Args:
        text: any string.

    Returns:
        The clean text, with one note for each kind of change.
    """
    if text.isprintable():
        return CleanText(text, ())
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    notes: list[str] = []
    text, removed = _CONTROL.subn("", text)
    if removed:
        notes.append(f"{removed} control character{'s' * (removed > 1)} removed")
    text, replaced = _SURROGATE.subn("\ufffd", text)
    if replaced:
        notes.append(f"{replaced} lone surrogate{'s' * (replaced > 1)} replaced by U+FFFD")
    return CleanText(text, tuple(notes))


def check_name(value: object, field: str) -> str:
    """Return an id or name, trimmed, or refuse it.

    Args:
        value: the name; at most 200 characters, no control characters, no unresolved ``{{placeholder}}``.
        field: the argument's name, for the error.

    Raises:
        InvalidInput: it is not a string, empty, too long, or holds what a name must not.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{field} must be text, not {type(value).__name__}", f'Give {field} as "..."')
    name = value.strip()
    if not name:
        raise InvalidInput(f"{field} is empty", f"Give a name, or leave {field} out")
    if len(name) > MAX_NAME_CHARS:
        raise InvalidInput(f"{field} has {len(name)} characters", f"At most {MAX_NAME_CHARS} are allowed")
    if not name.isprintable() and _NAME_FORBIDDEN.search(name):
        raise InvalidInput(f"{field} {name!r} holds a control character or a lone surrogate", "Remove it and try again")
    if ("{" in name or "<" in name) and _PLACEHOLDER.search(name):
        raise InvalidInput(f"{field} {name!r} is an unresolved placeholder", "Fill in the real value before calling")
    return name


def shortened(text: str, most: int = 200) -> str:
    """Return the beginning of a text, in one line, for a notice that quotes it."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def fold(name: str) -> str:
    """Return the form under which case-insensitive names are compared."""
    return name.strip().casefold()


def canonical_path(value: object, root: str | None, field: str = "file") -> str:
    """Return a path relative to the project's root, with forward slashes and without ``.`` or ``..``.

    The path is compared as text: it need not exist, and nothing is opened.

    Args:
        value: a relative path, or an absolute one below ``root``.
        root: the project's or worktree's absolute root folder; None accepts relative paths only.
        field: the argument's name, for the error.

    Raises:
        InvalidInput: the path is empty, leaves the project, or holds what a name must not.
    """
    path = check_name(value, field)
    if os.path.isabs(path):  # noqa: PTH117 -- a path as text, checked on every write
        inside = None if root is None else posixpath.relpath(posixpath.normpath(path), root)
        if inside is None or inside == ".." or inside.startswith("../"):
            raise InvalidInput(f"{field} {path!r} is outside the project", "Give a path relative to the project's root")
        normal = inside
    else:
        normal = posixpath.normpath(path)
    if normal in {".", ".."} or normal.startswith("../"):
        raise InvalidInput(f"{field} {path!r} names no file of the project", "Give a path such as src/app.py")
    return normal
