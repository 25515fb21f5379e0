"""Globs of the files that a rule or decision binds: ``src/api/**``, ``*.py``, ``docs/``, relative to the project.

A glob with a slash starts at the top of the project; one without matches a file or folder of that name anywhere. A
folder includes all of its files. The module has its own matcher: hooks match hundreds of globs with one path, and
loading the library for ignore files takes longer than all else that they do.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence

from satchel.base.errors import InvalidInput
from satchel.keep.names import check_identifier
from satchel.keep.projects import Workplace

MOST_GLOBS = 20
_MOST_ALTERNATIVES = 32
_MOST_EFFORT = 100
"""Of all globs of an item: alternatives, and more for signs that take long; a hook matches thousands before an edit."""

_UNLIKE = ("a/Z9", "Q-0/b", ".\u00e9/_")
"""Paths that have nothing in common: a glob that matches them all matches every file."""


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
    """Return the globs of a column."""
    try:
        return tuple(json.loads(text))
    except ValueError:  # damaged
        return (text,)


def text_of(globs: Sequence[str]) -> str:
    """Return the column of globs."""
    return json.dumps(list(globs), ensure_ascii=False)


def matches(glob: str, path: str) -> bool:
    """Return whether a glob in canonical form matches a file's path."""
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
    """Return states with those after a ``**`` that matches no folder; the last one matches at least one name."""
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
    """Return a glob with each of the alternatives in its braces, a few too many at most."""
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
