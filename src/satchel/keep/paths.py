"""Paths of files and folders: ``src/auth/**`` is a folder's content, ``**`` the whole project.

Overlapping stored paths are found by index alone: the folders above a path are a few exact values, and a folder's
content is one range. No pattern is matched, so ``%`` and ``_`` have no special meaning.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from satchel.base.errors import InvalidInput
from satchel.base.machine import seen_by_caller
from satchel.base.text import check_name
from satchel.keep.names import check_file, check_identifier
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction

_MAX_MEANT = 3  # maximum number of suggested files

FILE_REF = "file:"  # the beginning of a request for what is known of a file, as in `file:src/a.py`

EVERYTHING = "**"
_IN_FOLDER = "/**"
# the pattern of a place in a file, compiled on use: hooks need none
PLACE = r"(?P<file>.*?[^/:]):(?P<line>[1-9]\d{0,8})(?:-(?P<last>[1-9]\d{0,8})|:\d+)?"


def check_path(value: object, root: str | None, field: str = "path") -> str:
    """Return the canonical path of a file, or of a folder's content (``src/auth/**``), inside the project."""
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
    return path == EVERYTHING or path.endswith(_IN_FOLDER)


def covers(path: str, other: str) -> bool:
    """Return whether a path includes another one: a folder covers its content and its own name."""
    if path in {other, EVERYTHING}:
        return True
    return path.endswith(_IN_FOLDER) and (other == path.removesuffix(_IN_FOLDER) or other.startswith(path[:-2]))


def overlap(path: str, other: str) -> bool:
    return covers(path, other) or covers(other, path)


def all_covering(path: str) -> list[str]:
    """Return the paths that cover a path: everything, itself, and the folders that it is in or names."""
    name = path.removesuffix(EVERYTHING).rstrip("/") if is_folder(path) else path
    steps = name.split("/")
    return [EVERYTHING, name, *("/".join(steps[:depth]) + _IN_FOLDER for depth in range(1, len(steps) + 1))]


def overlapping(paths: Iterable[str], column: str) -> tuple[list[str], dict[str, object]]:
    """Return conditions, each one search of an index by bytes, that a stored path overlaps one of some paths."""
    exact: dict[str, None] = {}
    folders: list[str] = []
    for path in paths:
        exact |= dict.fromkeys(all_covering(path))
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
    """Return the canonical path of a file or folder, and the lines named after it, as in ``app.py:12-20``."""
    match = re.fullmatch(PLACE, value) if isinstance(value, str) else None
    if match is None or (root is not None and os.path.lexists(Path(root, match[0]))):
        return check_path(value, root, field), None, None
    line, last = int(match["line"]), int(match["last"] or match["line"])
    if last < line:
        raise InvalidInput(
            f"{field} {match[0]!r} ends before it begins", f"Name the lines as {match['file']}:{last}-{line}"
        )
    return check_path(match["file"], root, field), line, last if last > line else None


MOST_GLOBS = 20
_MOST_ALTERNATIVES = 32
# of all globs of an item: alternatives, and more for signs that take long; a hook matches thousands before an edit
_MOST_EFFORT = 100

# paths that have nothing in common: a glob that matches them all matches every file
_UNLIKE = ("a/Z9", "Q-0/b", ".\u00e9/_")


def check_globs(values: object, workplace: Workplace, field: str = "paths") -> tuple[str, ...]:
    """Return globs in canonical form, each once, in order; refuse those that leave the project or exclude files."""
    if isinstance(values, str) or not isinstance(values, (list, tuple, set, frozenset)):
        raise InvalidInput(f"{field} is no list of globs", f'Give {field} as ["src/api/**", "*.py"]')
    if len(values) > MOST_GLOBS:
        raise InvalidInput(f"{field} has {len(values)} globs", f"At most {MOST_GLOBS} are allowed")
    checked = tuple(
        dict.fromkeys(_check_glob(value, workplace, f"{field}[{place}]") for place, value in enumerate(values))
    )
    if sum(len(_alternatives(one)) * (1 + sum(map(one.count, ("[", "?", "**")))) for one in checked) > _MOST_EFFORT:
        raise InvalidInput(f"{field} would take too long to match", "Give fewer globs, or simpler ones")
    return checked


def _check_glob(value: object, workplace: Workplace, field: str) -> str:
    text = check_identifier(value, field).replace("\\", "/")
    for root in (workplace.files_root, workplace.root):
        if root is not None and os.path.isabs(root):  # noqa: PTH117 -- a caller elsewhere has none that is
            text = text.removeprefix(f"{root.rstrip('/')}/")
    is_absolute = text.startswith(("/", "~")) or text[1:3] == ":/"
    steps = [step for step in text.split("/") if step not in {"", "."}]
    if is_absolute or ".." in steps:
        raise InvalidInput(
            f"{field} {value!r} is outside of the project", "Give paths relative to the project, such as src/api/**"
        )
    if text.startswith("!") or '"' in text:
        raise InvalidInput(f"{field} {value!r} is no glob", "Name files to bind, such as src/api/** or *.py")
    glob = "/".join(steps) + ("/" if text.endswith("/") else "")
    if len(_alternatives(glob)) > _MOST_ALTERNATIVES:
        raise InvalidInput(f"{field} {value!r} has too many alternatives", "Give several globs instead")
    if not steps or all(matches(glob, path) for path in _UNLIKE):
        raise InvalidInput(f"{field} {value!r} matches every file", "Leave paths out: what has none binds everywhere")
    return f"./{glob}" if text.startswith("./") and "/" not in glob else glob


def globs_in(text: str) -> tuple[str, ...]:
    import json  # imported here: few rules and decisions have globs

    try:
        return tuple(json.loads(text))
    except ValueError:  # damaged
        return (text,)


def text_of(globs: Sequence[str]) -> str:
    import json

    return json.dumps(list(globs), ensure_ascii=False)


def matches(glob: str, path: str) -> bool:
    wildcard = min((at for sign in "*?[{" if (at := glob.find(sign)) >= 0), default=-1)
    if wildcard < 0:
        folder = glob.rstrip("/")
        if "/" in glob:
            folder = folder.removeprefix("./")
            return path.startswith(f"{folder}/") or (path == folder and not glob.endswith("/"))
        return f"/{folder}/" in f"/{path}/"
    # most globs start in another folder
    start = glob.rfind("/", 0, wildcard) + 1
    if start and not path.startswith(glob[:start].removeprefix("./")):
        return False
    return any(_matches_steps(_steps(one), path.split("/")) for one in _alternatives(glob))


def _steps(glob: str) -> list[str]:
    steps = glob.removesuffix("/").split("/")
    if "/" not in glob:
        return ["**", *steps]
    return [*steps[steps[0] == "." :], *(["**"] if glob.endswith("/") and steps[-1] != "**" else [])]


def _matches_steps(globs: Sequence[str], steps: Sequence[str]) -> bool:
    states = _with_skipped(globs, {0})
    for step in steps:
        states = _with_skipped(globs, {end for at in states for end in _ends(globs, at, step)})
        if len(globs) in states:
            return True  # a folder includes all of its files
    return False


def _ends(globs: Sequence[str], at: int, step: str) -> tuple[int, ...]:
    if globs[at] == "**":
        return (at if at + 1 < len(globs) else at + 1,)
    return (at + 1,) if _matches_name(globs[at], step) else ()


def _with_skipped(globs: Sequence[str], states: set[int]) -> set[int]:
    for at in range(len(globs) - 1):
        if at in states and globs[at] == "**":
            states.add(at + 1)
    return states


def _matches_name(glob: str, name: str) -> bool:
    if "[" in glob or "?" in glob:
        from fnmatch import fnmatchcase

        return fnmatchcase(name, glob)
    first, *rest = glob.split("*")
    if not rest:
        return name == glob
    if not name.startswith(first) or len(name) < len(glob) - len(rest):
        return False
    at, end = len(first), len(name) - len(rest[-1])
    for part in rest[:-1]:
        at = name.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return at <= end and name.endswith(rest[-1])


def _alternatives(glob: str) -> list[str]:
    expanded = [glob]
    for _ in range(_MOST_ALTERNATIVES):
        if len(expanded) > _MOST_ALTERNATIVES or not any("{" in one and "}" in one for one in expanded):
            break
        expanded = [other for one in expanded for other in _split(one)]
    return expanded


def _split(glob: str) -> Iterator[str]:
    end = glob.find("}")
    start = glob.rfind("{", 0, end)
    if start < 0 or end < 0:
        yield glob.replace("{", "").replace("}", "")
        return
    for part in glob[start + 1 : end].split(","):
        yield f"{glob[:start]}{part}{glob[end + 1 :]}"
