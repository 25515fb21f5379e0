"""Paths that may stand for a folder: ``src/auth/**`` is everything in it, ``**`` everything in the project.

Which stored paths overlap a given one is asked of the index alone: the folders above it are a few exact paths, and what
is in a folder is one range. No pattern is matched, so ``%``, ``_`` and a longer name beside it mean nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from satchel.base.errors import InvalidInput
from satchel.base.machine import asked_of_caller
from satchel.base.text import check_name
from satchel.keep.names import check_file
from satchel.store.transaction import Transaction

_MAX_MEANT = 3
"""So many files that a path may mean are named."""

EVERYTHING = "**"
_IN_FOLDER = "/**"
PLACE = re.compile(r"(?P<file>.*?[^/:]):(?P<line>[1-9]\d{0,8})(?:-(?P<last>[1-9]\d{0,8})|:\d+)?")


def check_path(value: object, root: str | None, field: str = "path") -> str:
    """Return the canonical path of a file or folder inside the project.

    Args:
        value: a file (``src/app.py``), or a folder as ``src/auth/`` or ``src/auth/**``; ``.`` or ``**`` is everything.
            Relative to the root, or an absolute path below it.
        root: the folder that relative names start from, or None.
        field: the argument's name, for the error.

    Returns:
        ``src/app.py``, ``src/auth/**`` or ``**``.

    Raises:
        InvalidInput: it leaves the project, is no path, holds a secret, or is a pattern of another form.
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
    """Whether a canonical path stands for everything in a folder."""
    return path == EVERYTHING or path.endswith(_IN_FOLDER)


def covers(path: str, other: str) -> bool:
    """Whether all that one path stands for belongs to the other: a folder covers what is in it, and its own name."""
    if path in {other, EVERYTHING}:
        return True
    return path.endswith(_IN_FOLDER) and (other == path.removesuffix(_IN_FOLDER) or other.startswith(path[:-2]))


def overlap(path: str, other: str) -> bool:
    """Whether two paths have a file in common."""
    return covers(path, other) or covers(other, path)


def overlapping(paths: Iterable[str], column: str) -> tuple[list[str], dict[str, object]]:
    """Return the conditions under which a stored path overlaps one of some paths, and their values.

    Each of them is one search of an index that begins with the column; any of them is enough.

    Args:
        paths: canonical, at least one.
        column: what holds the stored path; it has to compare by bytes.
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
    """Return the condition that a stored path is in a folder, and its values.

    Args:
        folder: canonical, as in ``src/auth/**``.
        column: what holds the stored path; it has to compare by bytes.
        prefix: what the names of the values begin with.
    """
    start = folder.removesuffix(EVERYTHING)
    if not start:
        return f"{column} > ''", {}
    # the character after the slash ends the range, so that nothing beside the folder is in it
    values: dict[str, object] = {f"{prefix}_from": start, f"{prefix}_to": f"{start[:-1]}0"}
    return f"{column} >= :{prefix}_from AND {column} < :{prefix}_to", values


def meant_note(transaction: Transaction, project_id: int, path: str) -> tuple[str, ...]:
    """Return the sentence that says which files a path may mean that nothing is kept about: those that end in it.

    Args:
        path: canonical; of a folder nothing is said.
    """
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
    found = [row[0] for row in rows]
    return () if not found or path in found else (f"did you mean {' or '.join(found)}?",)


def check_place(value: object, root: str | None, field: str = "file") -> tuple[str, int | None]:
    """Return the canonical path of a file or folder, and the first line named behind it, as :func:`check_lines` does.

    Raises:
        InvalidInput: as :func:`check_path` does.
    """
    return check_lines(value, root, field)[:2]


@asked_of_caller(unknown=lambda value, _root, _field="file": (value, None, None))
def check_lines(value: object, root: str | None, field: str = "file") -> tuple[str, int | None, int | None]:
    """Return the canonical path of a file or folder, and the lines named behind it: ``app.py:12``, ``app.py:12-20``.

    A column behind the line is left out. A file whose own name ends so is meant itself.

    Args:
        value: as for :func:`check_path`, with or without a line.
        root: the folder that relative names start from, or None.
        field: the argument's name, for the error.

    Returns:
        The path, the first line, and the last of several; None for what is not named.

    Raises:
        InvalidInput: as :func:`check_path` does, or the last line stands before the first.
    """
    found = PLACE.fullmatch(value) if isinstance(value, str) else None
    if found is None or (root is not None and os.path.lexists(Path(root, found[0]))):
        return check_path(value, root, field), None, None
    line, last = int(found["line"]), int(found["last"] or found["line"])
    if last < line:
        raise InvalidInput(
            f"{field} {found[0]!r} ends before it begins", f"Name the lines as {found['file']}:{last}-{line}"
        )
    return check_path(found["file"], root, field), line, last if last > line else None
