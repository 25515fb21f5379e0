"""Paths of files and folders: ``src/auth/**`` is a folder's content, ``**`` the whole project.

Overlapping stored paths are found by index alone: the folders above a path are a few exact values, and a folder's
content is one range. No pattern is matched, so ``%`` and ``_`` have no special meaning.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from satchel.base.errors import InvalidInput
from satchel.base.machine import seen_by_caller
from satchel.base.text import check_name
from satchel.keep.names import check_file
from satchel.store.transaction import Transaction

_MAX_MEANT = 3
"""Maximum number of suggested files."""

FILE_REF = "file:"
"""The beginning of a request for what is known of a file, as in ``file:src/a.py``."""

EVERYTHING = "**"
_IN_FOLDER = "/**"
PLACE = r"(?P<file>.*?[^/:]):(?P<line>[1-9]\d{0,8})(?:-(?P<last>[1-9]\d{0,8})|:\d+)?"
"""The pattern of a place in a file, compiled on use: hooks need none."""


def check_path(value: object, root: str | None, field: str = "path") -> str:
    """Return the canonical path of a file (``src/app.py``) or folder (``src/auth/``, ``src/auth/**``) inside the
    project; ``.`` or ``**`` is the whole project.
    """
    text = check_name(value, field)
    if text in {".", EVERYTHING} or text.endswith(("/", _IN_FOLDER)):
        text = text if text.endswith(EVERYTHING) else f"{text.rstrip('/')}{_IN_FOLDER}"
    path = check_file(text, root, field)
    if "*" in (path.removesuffix(EVERYTHING) if is_folder(path) else path):
        raise InvalidInput(
            f"{field} {path!r} is a pattern", "Name a file such as src/app.py, or a whole folder such as src/auth/"
        )
    return path


def is_folder(path: str) -> bool:
    """Return whether a canonical path is a folder's content."""
    return path == EVERYTHING or path.endswith(_IN_FOLDER)


def covers(path: str, other: str) -> bool:
    """Return whether a path includes another one: a folder covers its content and its own name."""
    if path in {other, EVERYTHING}:
        return True
    return path.endswith(_IN_FOLDER) and (other == path.removesuffix(_IN_FOLDER) or other.startswith(path[:-2]))


def overlap(path: str, other: str) -> bool:
    """Return whether two paths have a file in common."""
    return covers(path, other) or covers(other, path)


def overlapping(paths: Iterable[str], column: str) -> tuple[list[str], dict[str, object]]:
    """Return the conditions, with parameters, that a stored path overlaps one of some paths.

    Each is one search of an index that starts with the column; a path matches if it meets any. The column must compare
    by bytes.
    """
    exact: dict[str, None] = {}
    folders: list[str] = []
    for path in paths:
        name = path.removesuffix(EVERYTHING).rstrip("/") if is_folder(path) else path
        steps = name.split("/")
        above = ["/".join(steps[:depth]) + _IN_FOLDER for depth in range(1, len(steps) + 1)]
        exact |= dict.fromkeys([EVERYTHING, name, *above])
        if is_folder(path):
            folders.append(path)
    values: dict[str, object] = {f"path{place}": path for place, path in enumerate(exact)}
    conditions = [f"{column} IN ({', '.join(f':{name}' for name in values)})"]
    for place, folder in enumerate(folders):
        condition, bounds = inside(folder, column, f"folder{place}")
        conditions.append(condition)
        values |= bounds
    return conditions, values


def inside(folder: str, column: str, prefix: str = "folder") -> tuple[str, dict[str, object]]:
    """Return the condition, with parameters, that a stored path is in a folder. The column must compare by bytes."""
    start = folder.removesuffix(EVERYTHING)
    if not start:
        return f"{column} > ''", {}
    # the character after the slash ends the range, so that only the folder's content is in it
    values: dict[str, object] = {f"{prefix}_from": start, f"{prefix}_to": f"{start[:-1]}0"}
    return f"{column} >= :{prefix}_from AND {column} < :{prefix}_to", values


def meant_note(transaction: Transaction, project_id: int, path: str) -> tuple[str, ...]:
    """Return a note on the files that an unknown path may mean: those that end with it."""
    if is_folder(path):
        return ()
    rows = transaction.all(
        """
        SELECT DISTINCT file FROM documents
        WHERE project_id = :project AND (file = :path OR (
            length(file) > length(:path) AND substr(file, length(file) - length(:path)) = '/' || :path))
        ORDER BY file LIMIT :most
        """,
        {"project": project_id, "path": path, "most": _MAX_MEANT},
    )
    candidates = [row[0] for row in rows]
    return () if not candidates or path in candidates else (f"did you mean {' or '.join(candidates)}?",)


def check_place(value: object, root: str | None, field: str = "file") -> tuple[str, int | None]:
    """Return the canonical path of a file or folder, and the first line named after it, as :func:`check_lines` does."""
    return check_lines(value, root, field)[:2]


@seen_by_caller(1)
def check_lines(value: object, root: str | None, field: str) -> tuple[str, int | None, int | None]:
    """Return the canonical path of a file or folder, and the lines named after it: ``app.py:12``, ``app.py:12-20``.

    A column after the line is ignored. A file with such a name takes precedence.
    """
    match = re.fullmatch(PLACE, value) if isinstance(value, str) else None
    if match is None or (root is not None and os.path.lexists(Path(root, match[0]))):
        return check_path(value, root, field), None, None
    line, last = int(match["line"]), int(match["last"] or match["line"])
    if last < line:
        raise InvalidInput(
            f"{field} {match[0]!r} ends before it begins", f"Name the lines as {match['file']}:{last}-{line}"
        )
    return check_path(match["file"], root, field), line, last if last > line else None
