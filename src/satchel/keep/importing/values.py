"""Values from the rows of another tool's store, and stable identities of imported items."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

from satchel.base.clock import iso
from satchel.base.errors import SatchelError
from satchel.base.vocabulary import MAIN_RUN
from satchel.keep.kind import Line
from satchel.keep.moving.records import Arriving, Trouble
from satchel.store.foreign import Value


class Unreadable(Exception):
    """Raised when a row cannot be read; the text gives the reason."""


def identity(tool: str, *parts: object) -> bytes:
    """Return a stable uid for an imported item: equal parts give equal uids, from any copy at any time."""
    return blake2b(json.dumps([tool, *parts], ensure_ascii=False).encode(), digest_size=16).digest()


def note(tool: str, parts: tuple[object, ...], content: str, at: int, **more: str) -> Line:
    """Return the line of a note on the main run, a discovery by default. ``parts`` identify the note in the tool."""
    fields = {"type": "discovery", "content": content, "run": MAIN_RUN, "created_at": iso(at), **more}
    return {"kind": "entry", "uid": identity(tool, *parts).hex(), **fields}


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
    """Return all lines of a source as input of an import. ``noted`` pairs each remark with whether it applies."""
    notes = [text for applies, text in noted if applies]
    return Arriving(source, name, tool_format, project, iter(lines), troubles, notes, list(not_taken), len(lines))


def contents_of(file: Path) -> bytes:
    """Return a file's content."""
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
    """Return a description of a value, for reports."""
    if value is None:
        return "missing"
    return "no readable text" if isinstance(value, bytes) else repr(value)[:60]


def whole(value: Value, field: str, least: int = 0, most: int | None = None, default: int | None = None) -> int:
    """Return a whole number within limits; a missing one becomes ``default``, or is refused without a default."""
    if value is None and default is not None:
        return default
    number = number_of(value)
    if number is None or number < least or (most is not None and number > most):
        wanted = f"a whole number from {least}" if most is None else f"one of {least} to {most}"
        raise Unreadable(f"its {field} is {described(value)}, not {wanted}")
    return number


def text_of(value: Value, field: str) -> str:
    """Return a non-blank text."""
    if isinstance(value, (int, float)):
        return str(value)
    if not isinstance(value, str):
        raise Unreadable(f"its {field} is {described(value)}")
    if not value.strip():
        raise Unreadable(f"its {field} is empty")
    return value


def optional_text(value: Value, field: str) -> str | None:
    """Return a text, or None for a blank one."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return text_of(value, field)
