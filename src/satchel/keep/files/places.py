"""Places that can be claimed: files and folders of a worktree, and keys of the whole project."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable

from satchel.base.errors import InvalidInput, Refused
from satchel.base.machine import seen_by_caller
from satchel.base.records import NamedTuple
from satchel.base.text import check_name, fold
from satchel.keep import paths
from satchel.keep.names import check_file, check_identifier
from satchel.keep.projects import Workplace
from satchel.keep.sessions.caller import REMOTE

_KEY = r"[a-z][a-z0-9_-]*:.+"


class Place(NamedTuple):
    """A file, folder or key that can be claimed.

    Attributes:
        path: canonical, ``dir/**`` for a folder; a key is folded.
        worktree: the linked worktree, an absolute path; None for the main one and for keys.
        is_key: whether it is a key such as ``issue:311``, which overlaps only the same key.
    """

    path: str
    worktree: str | None
    is_key: bool = False

    @property
    def is_folder(self) -> bool:
        return not self.is_key and paths.is_folder(self.path)

    def meets(self, other: Place) -> bool:
        """Return whether both have a file in common or are the same key, in any worktree."""
        if self.is_key or other.is_key:
            return self.is_key == other.is_key and self.path == other.path
        return paths.overlap(self.path, other.path)

    def clashes(self, other: Place) -> bool:
        """Return whether both meet in the same worktree."""
        return self.worktree == other.worktree and self.meets(other)


def clashing(places: Iterable[Place]) -> Callable[[Place], bool]:
    """Return a function that tells whether a place clashes with any of these; fast for many places."""
    every = frozenset(places)
    folders = [place for place in every if place.is_folder]

    def clashes(place: Place) -> bool:
        if place in every:
            return True
        return any(place.clashes(other) for other in (every if place.is_folder else folders))

    return clashes


class Tree(NamedTuple):
    """A caller's working tree.

    Attributes:
        root: the project's root folder.
        files_root: the base of relative paths: the worktree's, else the root.
        worktree: the linked worktree, an absolute path; None is the main one.
    """

    root: str | None
    files_root: str | None
    worktree: str | None

    def path_of(self, place: Place) -> str | None:
        """Return the path of a place on disk; None for keys, and if the root is unknown."""
        return None if place.is_key or self.root is None else f"{place.worktree or self.root}/{place.path}"


def tree_of(work: Workplace) -> Tree:
    return Tree(work.root, work.files_root, work.worktree)


class OnDisk(NamedTuple):
    """State of a place on disk.

    Attributes:
        exists: whether the file exists; None for folders and keys, and if it cannot be checked.
        is_folder: whether a place claimed as a file is a folder.
        modified_at: when the file was modified, in milliseconds UTC, or None.
    """

    exists: bool | None = None
    is_folder: bool = False
    modified_at: int | None = None


UNSEEN = OnDisk()


def check_place(work: Workplace, value: object, field: str) -> Place:
    """Return the place named by a file, a folder such as ``src/auth/``, or a key such as ``issue:311``.

    A key is a word of ``a-z``, ``0-9``, ``_`` and ``-``, a colon, and more, unless a file has that name. An absolute
    path belongs to the worktree of its repository. Refused are patterns, parts of files, secrets, and paths and links
    that leave the project.
    """
    return place_named(tree_of(work), check_name(value, field), field)


@seen_by_caller(0)
def place_named(tree: Tree, text: str, field: str) -> Place:
    key = fold(text)
    if re.fullmatch(_KEY, key) and not _exists(tree, text.split("/", maxsplit=1)[0]):
        _refuse_part(tree, text, field, may_be_key=True)
        if "*" in key:
            raise InvalidInput(f"{field} {text!r} is a pattern", "A key matches only itself, such as issue:311")
        return Place(check_identifier(" ".join(key.split()), field), None, is_key=True)
    tree, text = _in_worktree(tree, text)
    _refuse_part(tree, text, field)
    return Place(paths.check_path(text, tree.files_root, field), tree.worktree)


def check_worktree_file(work: Workplace, value: object, field: str = "file") -> Place:
    """Return the place of a file: its canonical path in the worktree of its repository."""
    return file_named(tree_of(work), check_name(value, field), field)


@seen_by_caller(0)
def file_named(tree: Tree, text: str, field: str) -> Place:
    tree, text = _in_worktree(tree, text)
    return Place(check_file(text, tree.files_root, field), tree.worktree)


@seen_by_caller(0)
def edited_file(tree: Tree, folder: str, path: str) -> Place:
    """Return the place of a file that a client's tool names, relative to a folder."""
    if path.startswith("~") or "://" in path:
        raise InvalidInput(f"file {path!r} is no path", "Give a path such as src/app.py")
    full = os.path.join(folder, path)  # noqa: PTH118 -- on the path of every edit
    # as it is called from the root, since the length of names is limited
    start = "" if tree.files_root is None else f"{tree.files_root.rstrip('/')}/"
    inside = full[len(start) :] if start and full.startswith(start) else full
    return file_named(tree, check_name(inside, "file"), "file")


def _in_worktree(tree: Tree, path: str) -> tuple[Tree, str]:
    # the tree that holds a path, and the path there: an absolute path may lead into another worktree of the same
    # repository, also one inside the caller's
    if tree.root is None or tree.files_root is None:
        return tree, path
    # normpath would take the slash that makes a folder of a path
    slash = "/" if path.endswith("/") else ""
    full = os.path.normpath(os.path.join(tree.files_root, path))  # noqa: PTH118 -- on the path of every claim
    inside = f"{full}/".startswith(f"{tree.files_root.rstrip('/')}/")
    if inside and not _has_repository_between(tree.files_root, full):
        return tree, path
    from satchel.base.paths import worktree_of

    real = full if inside else f"{os.path.realpath(os.path.dirname(full))}/{os.path.basename(full)}"  # noqa: PTH119, PTH120 -- as above
    try:
        repository = worktree_of(real)
    except Refused:  # a folder that only claims to be a worktree
        return tree, path
    if repository is None or str(repository.root) != tree.root:
        return tree, path
    worktree = str(repository.worktree) if repository.worktree else None
    return Tree(tree.root, worktree or tree.root, worktree), f"{real}{slash}"


@seen_by_caller(0, unknown=UNSEEN)
def look_at(tree: Tree, place: Place) -> OnDisk:
    path = tree.path_of(place)
    if path is None or place.is_folder:
        return UNSEEN
    try:
        status = os.stat(path)  # noqa: PTH116 -- on the path of every claim
    except (OSError, ValueError):
        return OnDisk(os.path.lexists(path))
    if stat.S_ISDIR(status.st_mode):
        return OnDisk(is_folder=True)
    return OnDisk(exists=True, modified_at=status.st_mtime_ns // 1_000_000 if stat.S_ISREG(status.st_mode) else None)


def is_there(work: Workplace, place: Place) -> bool | None:
    return look_at(tree_of(work), place).exists


def is_remote(work: Workplace) -> bool:
    """Return whether the caller's files are on another machine, without a Satchel program there."""
    return work.caller is not None and work.caller.kind == REMOTE


def _exists(tree: Tree, name: str) -> bool:
    return tree.files_root is not None and os.path.lexists(f"{tree.files_root}/{name}")


def _refuse_part(tree: Tree, text: str, field: str, *, may_be_key: bool = False) -> None:
    # a claim on a part of a file would protect nothing: others name the file
    match = re.fullmatch(paths.PLACE, text)
    name = text.rpartition("#")[0] if match is None else match["file"]
    if not name or _exists(tree, text):
        return
    # a file may have # in its name; lines may belong to a file that does not exist yet
    if (match is not None and not may_be_key) or (
        tree.files_root is not None and os.path.isfile(os.path.join(tree.files_root, name))  # noqa: PTH113, PTH118 -- in every claim
    ):
        raise InvalidInput(
            f"{field} {text!r} names a part of a file",
            f"Claim {name} as shared, and name your part in the reason",
        )


def _has_repository_between(root: str, path: str) -> bool:
    # whether a folder between the root and the path is another working tree
    at = len(path)
    while at > len(root):
        if os.path.lexists(f"{path[:at]}/.git"):
            return True
        at = path.rfind("/", 0, at)
    return False
