"""What a server asks of the machine that a call comes from, and the answers.

A server may ask no more than what stands here, of no other folder than the caller's own, and gets no content of a file.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from satchel.base.errors import Refused, SatchelError, system_error
from satchel.base.machine import ROOT
from satchel.base.records import NamedTuple
from satchel.base.wire import error_fields, packed, unpacked

_TREES: Mapping[str, str] = {
    "place_named": "satchel.keep.files.places",
    "file_named": "satchel.keep.files.places",
    "look_at": "satchel.keep.files.places",
    "count_files": "satchel.keep.files.places",
}
"""Questions about the caller's working tree, which is their first argument."""

_ROOTS: Mapping[str, tuple[str, int]] = {
    "canonical_path": ("satchel.base.project_paths", 1),
    "ignores_letter_case": ("satchel.base.project_paths", 0),
    "check_lines": ("satchel.keep.paths", 1),
    "cited_in": ("satchel.keep.citations", 0),
    "compared_in": ("satchel.keep.citations", 0),
    "check_saved": ("satchel.keep.packages.contents", 1),
    "unreadable": ("satchel.keep.packages.contents", 1),
    "read_head": ("satchel.base.git_head", 0),
}
"""Questions about the caller's root folder, with the place of that among their arguments."""

_PROCESSES = frozenset({"own", "is_alive", "ancestors", "find_client", "machine"})


class Surroundings(NamedTuple):
    """Where a caller stands.

    Attributes:
        root, files_root, worktree: as of :class:`satchel.keep.projects.Workplace`.
        host: what its machine calls itself; a worktree of it is known elsewhere by that and its path.
    """

    root: str | None
    files_root: str | None
    worktree: str | None
    host: str

    def own_worktree(self, known_as: str | None) -> str | None:
        """Return a worktree of this machine by the name it has elsewhere; None is the main one.

        Raises:
            Refused: it is one of another machine.
        """
        if known_as is None or known_as.startswith("/"):
            return known_as
        host, _, path = known_as.rpartition(":/")
        if host != self.host:
            raise Refused(f"the worktree {known_as!r} is not of this machine")
        return None if f"/{path}" == self.root else f"/{path}"


def answer(question: str, arguments: Any, here: Surroundings) -> dict[str, Any]:
    """Answer a question of a server.

    Args:
        arguments: as they travelled.
        here: where the caller stands.

    Returns:
        ``answer``, or the ``error`` that looking ended in, as they travel.
    """
    try:
        return {"answer": packed(_function(question, here)(*unpacked(arguments)))}
    except SatchelError as error:
        return {"error": error_fields(error)}
    except Exception as error:  # noqa: BLE001 -- whatever a server asks, the call that it asks for ends well
        return {"error": error_fields(_failed(question, error))}


def _failed(question: str, error: Exception) -> SatchelError:
    known = system_error(error) if isinstance(error, OSError) else None
    return known or Refused(f"{question[:80]} could not be answered here ({type(error).__name__})")


def _function(question: str, here: Surroundings) -> Callable[..., Any]:
    if question in _PROCESSES:
        from satchel.base import processes

        found: Callable[..., Any] = getattr(processes, question)
        return found
    if question in _TREES:
        return _of_tree(getattr(importlib.import_module(_TREES[question]), question), here)
    if question in _ROOTS:
        module, place = _ROOTS[question]
        return _of_root(getattr(importlib.import_module(module), question), place, here)
    raise Refused(f"the server asks {question[:80]!r}, which this program does not answer", "Server and program differ")


def _of_tree(function: Callable[..., Any], here: Surroundings) -> Callable[..., Any]:
    def answered(_tree: object, what: Any, *more: Any) -> Any:
        from satchel.keep.files.places import Place, Tree

        tree = Tree(here.root, here.files_root, here.worktree)
        if isinstance(what, Place):
            _refuse_leaving(what.path)
            what = what._replace(worktree=here.own_worktree(what.worktree))
        return function(tree, what, *more)

    return answered


def _of_root(function: Callable[..., Any], place: int, here: Surroundings) -> Callable[..., Any]:
    def answered(*arguments: Any) -> Any:
        if arguments[place] not in {ROOT, None}:
            raise Refused("the server asks of a folder that is none of this project's")
        root = here.files_root if arguments[place] == ROOT else None
        given = [*arguments[:place], root, *arguments[place + 1 :]]
        for path in _paths_in(given[:place] + given[place + 1 :]):
            _refuse_leaving(path)
        return function(*given)

    return answered


def _paths_in(arguments: list[Any]) -> list[str]:
    """Return the paths that a question names, where it says so by its records."""
    some = arguments[0] if arguments and isinstance(arguments[0], tuple) else ()
    return [place.path for _, place in some if hasattr(place, "path")]


def _refuse_leaving(path: str) -> None:
    if path.startswith("/") or ".." in path.split("/"):
        raise Refused(f"the server asks of {path!r}, which is no place in this project")
