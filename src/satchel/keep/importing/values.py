"""Values out of the rows of another tool's store, and the lasting identity of what comes from there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

from satchel.base.clock import iso
from satchel.base.errors import SatchelError
from satchel.base.vocabulary import MAIN_RUN
from satchel.keep.moving.fields import Line
from satchel.keep.moving.records import Arriving, Trouble
from satchel.store.foreign import Value


class Unreadable(Exception):
    """A row cannot be read; the text says why."""


def identity(tool: str, *parts: object) -> bytes:
    """Return the uid of something imported: the same for the same thing, whenever and from whatever copy.

    Args:
        parts: its kind, and what tells it from others of that there; JSON values.
    """
    return blake2b(json.dumps([tool, *parts], ensure_ascii=False).encode(), digest_size=16).digest()


def note(tool: str, parts: tuple[object, ...], content: str, at: int, **more: str) -> Line:
    """Return the line of a note on the main run.

    Args:
        parts: what tells it from other notes of the tool.
        at: when it was made, in milliseconds UTC.
        more: further fields; the type is a discovery without one.
    """
    said = {"type": "discovery", "content": content, "run": MAIN_RUN, "created_at": iso(at), **more}
    return {"kind": "entry", "uid": identity(tool, *parts).hex(), **said}


def arriving(
    source: Path,
    name: str,
    tool_format: str,
    lines: Sequence[tuple[str, str, Line]],
    troubles: list[Trouble],
    noted: Sequence[tuple[object, str]],
    project: str | None = None,
    not_taken: Sequence[tuple[str, int]] = (),
) -> Arriving:
    """Return all lines of a source as they arrive.

    Args:
        noted: what should be known of them, each with whether it applies.
    """
    notes = [said for applies, said in noted if applies]
    return Arriving(source, name, tool_format, project, iter(lines), troubles, notes, list(not_taken), len(lines))


def contents_of(file: Path) -> bytes:
    """Return what a file holds.

    Raises:
        SatchelError: it cannot be read.
    """
    try:
        return file.read_bytes()
    except OSError as error:
        raise SatchelError(f"{file} cannot be read: {error.strerror}", "Check its permissions") from error


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


def whole(value: Value, field: str, least: int = 0, most: int | None = None, default: int | None = None) -> int:
    """Return a whole number within limits, such as an id or the number of an enumeration.

    Args:
        default: what a missing one is; None refuses it.

    Raises:
        Unreadable: it is none.
    """
    if value is None and default is not None:
        return default
    number = number_of(value)
    if number is None or number < least or (most is not None and number > most):
        wanted = f"a whole number from {least}" if most is None else f"one of {least} to {most}"
        raise Unreadable(f"its {field} is {described(value)}, not {wanted}")
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
