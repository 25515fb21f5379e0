"""Values out of the rows of another tool's store, and the lasting identity of what comes from there."""

from __future__ import annotations

import json
from hashlib import blake2b

from satchel.store.foreign import Value


class Unreadable(Exception):
    """A row cannot be read; the text says why."""


def identity(tool: str, kind: str, *parts: object) -> bytes:
    """Return the uid of something imported: the same for the same thing, whenever and from whatever copy.

    Args:
        parts: what tells it from others of its kind there; JSON values.
    """
    return blake2b(json.dumps([tool, kind, *parts], ensure_ascii=False).encode(), digest_size=16).digest()


def number_of(value: Value) -> int | None:
    """Return a whole number, or None for anything else."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else None


def described(value: Value) -> str:
    """Say what a value is, for a report."""
    if value is None:
        return "missing"
    return "no readable text" if isinstance(value, bytes) else repr(value)[:60]


def one_of(value: Value, field: str, most: int, default: int | None = None) -> int:
    """Return the number of an enumeration, from 1.

    Raises:
        Unreadable: it is none.
    """
    if value is None and default is not None:
        return default
    number = number_of(value)
    if number is None or not 1 <= number <= most:
        raise Unreadable(f"its {field} is {described(value)}, not one of 1 to {most}")
    return number


def text_of(value: Value, field: str) -> str:
    """Return a text that is not blank.

    Raises:
        Unreadable: it is none.
    """
    if isinstance(value, (int, float)):
        return str(value)
    if not isinstance(value, str):
        raise Unreadable(f"its {field} is {described(value)}")
    if not value.strip():
        raise Unreadable(f"its {field} is empty")
    return value


def optional_text(value: Value, field: str) -> str | None:
    """Return a text, or None for a blank one.

    Raises:
        Unreadable: it is no text.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return text_of(value, field)
