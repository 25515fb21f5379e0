"""What a claim is about: a file or folder of one worktree, or a key, which is one for the whole project."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence

from satchel.base.errors import InvalidInput, Refused
from satchel.base.machine import asked_of_caller
from satchel.base.records import NamedTuple
from satchel.base.text import check_name, fold
from satchel.keep import paths
from satchel.keep.names import check_file, check_identifier
from satchel.keep.projects import Workplace
from satchel.keep.sessions.caller import REMOTE
from satchel.store.transaction import Transaction

MAX_COUNTED = 10_000
"""So many files of claimed folders are counted at most; measured, 6 ms where the disk's cache has them."""

_KEY = re.compile(r"[a-z][a-z0-9_-]*:.+")
_NOT_COUNTED = frozenset({".git", ".satchel"})


class Place(NamedTuple):
    """What a claim is about.

    Attributes:
        path: canonical, ``dir/**`` for a folder; a key as it is compared.
        worktree: the linked worktree, an absolute path; None is the main one, and of a key.
        is_key: whether it is a key such as ``issue:311``, which overlaps the same key alone.
    """

    path: str
    worktree: str | None
    is_key: bool = False

    @property
    def is_folder(self) -> bool:
        """Whether it stands for everything in a folder."""
        return not self.is_key and paths.is_folder(self.path)

    def meets(self, other: Place) -> bool:
        """Whether both have a file in common, or are one key, in whatever worktree."""
        if self.is_key or other.is_key:
            return self.is_key == other.is_key and self.path == other.path
        return paths.overlap(self.path, other.path)

    def clashes(self, other: Place) -> bool:
        """Whether they meet in one worktree."""
        return self.worktree == other.worktree and self.meets(other)


def clashing(places: Iterable[Place]) -> Callable[[Place], bool]:
    """Return what says whether a place clashes with one of some; of a thousand files each with a thousand in 1 ms."""
    known = frozenset(places)
    folders = [place for place in known if place.is_folder]

    def clashes(place: Place) -> bool:
        if place in known:
            return True
        return any(place.clashes(other) for other in (known if place.is_folder else folders))

    return clashes


class Tree(NamedTuple):
    """The working tree that a caller works in.

    Attributes:
        root: the project's root folder.
        files_root: the folder that paths are relative to: the worktree's, else the root.
        worktree: the linked worktree, an absolute path; None is the main one.
    """

    root: str | None
    files_root: str | None
    worktree: str | None

    def path_of(self, place: Place) -> str | None:
        """Return where a file or folder is on disk; None of a key, and where nobody knows."""
        return None if place.is_key or self.root is None else f"{place.worktree or self.root}/{place.path}"


def tree_of(work: Workplace) -> Tree:
    """Return the working tree of a workplace."""
    return Tree(work.root, work.files_root, work.worktree)


class OnDisk(NamedTuple):
    """How a place stands on disk.

    Attributes:
        exists: whether a file is there; None where it is no file, or nobody knows where it would be.
        is_folder: whether a folder is there under the name of a file.
        modified_at: when the file was changed, in milliseconds UTC; None of what is none.
    """

    exists: bool | None = None
    is_folder: bool = False
    modified_at: int | None = None


UNSEEN = OnDisk()


def check_place(work: Workplace, value: object, field: str) -> Place:
    """Return what a claim is to be about.

    Args:
        value: a file, a folder as ``src/auth/``, or a key: a word of ``a-z``, ``0-9``, ``_`` and ``-``, a colon, and
            more. An absolute path counts in the worktree of the repository that holds it; what exists as a file is one.
        field: the argument's name, for the error.

    Raises:
        InvalidInput: it is none of these, leaves the project, names a part of a file, or holds a secret.
        Refused: a link on it leads out of the project.
    """
    return place_named(tree_of(work), check_name(value, field), field)


@asked_of_caller(unknown=lambda tree, text, _field: Place(text, tree.worktree))
def place_named(tree: Tree, text: str, field: str) -> Place:
    """Return what a claim is to be about, as :func:`check_place` does."""
    key = fold(text)
    if _KEY.fullmatch(key) and not _exists(tree, text.split("/", maxsplit=1)[0]):
        _refuse_part(tree, text, field, may_be_key=True)
        if "*" in key:
            raise InvalidInput(f"{field} {text!r} is a pattern", "A key stands for itself alone, as issue:311")
        return Place(check_identifier(" ".join(key.split()), field), None, is_key=True)
    tree, text = _in_worktree(tree, text)
    _refuse_part(tree, text, field)
    return Place(paths.check_path(text, tree.files_root, field), tree.worktree)


def check_worktree_file(work: Workplace, value: object, field: str = "file") -> Place:
    """Return the canonical path of a file, and the worktree of the repository that holds it."""
    return file_named(tree_of(work), check_name(value, field), field)


@asked_of_caller(unknown=lambda tree, text, _field: Place(text, tree.worktree))
def file_named(tree: Tree, text: str, field: str) -> Place:
    """Return the place of a file, as :func:`check_worktree_file` does."""
    tree, text = _in_worktree(tree, text)
    return Place(check_file(text, tree.files_root, field), tree.worktree)


def _in_worktree(tree: Tree, path: str) -> tuple[Tree, str]:
    """Return the working tree that holds a path, and the path as it is to be read there.

    That is another than the caller's for an absolute path into another worktree of the same repository, and for a
    worktree that stands within the caller's.
    """
    if tree.root is None or tree.files_root is None:
        return tree, path
    # normpath would take the slash that makes a folder of a path
    slash = "/" if path.endswith("/") else ""
    given = os.path.normpath(os.path.join(tree.files_root, path))  # noqa: PTH118 -- on the path of every claim
    inside = f"{given}/".startswith(f"{tree.files_root.rstrip('/')}/")
    if inside and not _has_repository_between(tree.files_root, given):
        return tree, path
    from satchel.base.paths import worktree_of

    real = given if inside else f"{os.path.realpath(os.path.dirname(given))}/{os.path.basename(given)}"  # noqa: PTH119, PTH120 -- as above
    try:
        found = worktree_of(real)
    except Refused:  # a folder that only says that it is a worktree
        return tree, path
    if found is None or str(found.root) != tree.root:
        return tree, path
    worktree = str(found.worktree) if found.worktree else None
    return Tree(tree.root, worktree or tree.root, worktree), f"{real}{slash}"


def as_on_disk(transaction: Transaction, project_id: int, root: str | None, wanted: Sequence[Place]) -> list[Place]:
    """Return places, spelled as live claims spell them where the disk takes names in another case for the same."""
    if root is None or all(place.is_key for place in wanted):
        return list(wanted)
    from satchel.base.project_paths import ignores_letter_case

    if not ignores_letter_case(root):
        return list(wanted)
    spelled: dict[str, str] = {}
    for (path,) in transaction.all(
        "SELECT DISTINCT path FROM file_claims WHERE project_id = :project AND is_key = 0", {"project": project_id}
    ):
        steps = path.split("/")
        for depth in range(1, len(steps) + 1):
            start = "/".join(steps[:depth])
            spelled.setdefault(start.casefold(), start)
    return [place if place.is_key else place._replace(path=_spelled(place.path, spelled)) for place in wanted]


def folder_notes(work: Workplace, places: Iterable[Place]) -> tuple[str, ...]:
    """Say how many files the folders among some places hold; of many files in all, only that there are more."""
    notes = []
    left = MAX_COUNTED
    for place in places:
        if place.is_folder and left:
            name = place.path.removesuffix(paths.EVERYTHING)
            count = count_files(tree_of(work), place, left)
            if not count:
                continue
            said = f"over {left:,} files" if count > left else f"{count:,} file{'' if count == 1 else 's'}"
            notes.append(f"{name or 'the whole project'} holds {said}: claim single files where these are enough")
            left -= min(count, left)
    return tuple(notes)


@asked_of_caller(unknown=UNSEEN)
def look_at(tree: Tree, place: Place) -> OnDisk:
    """Return how a place stands on disk."""
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
    """Whether a file exists; None where it is no file, or nobody knows where it would be."""
    return look_at(tree_of(work), place).exists


def is_remote(work: Workplace) -> bool:
    """Whether the caller's files are on another machine's disk, and it has no program of ours there."""
    return work.caller is not None and work.caller.kind == REMOTE


def _exists(tree: Tree, name: str) -> bool:
    return tree.files_root is not None and os.path.lexists(f"{tree.files_root}/{name}")


def _refuse_part(tree: Tree, text: str, field: str, *, may_be_key: bool = False) -> None:
    """Refuse a file with a part of it behind it: the file is meant, and nobody else would name the part."""
    found = paths.PLACE.fullmatch(text)
    name = text.rpartition("#")[0] if found is None else found["file"]
    if not name or _exists(tree, text):
        return
    # a name behind # may be a file's own, lines are of a file also where that is still to be written
    if (found is not None and not may_be_key) or (
        tree.files_root is not None and os.path.isfile(os.path.join(tree.files_root, name))  # noqa: PTH113, PTH118 -- in every claim
    ):
        raise InvalidInput(
            f"{field} {text!r} names a part of a file",
            f"Claim {name} with exclusive=false to share it, and name the part in the reason",
        )


def _has_repository_between(root: str, path: str) -> bool:
    """Whether a folder on the way from the root to a path is a working tree itself."""
    at = len(path)
    while at > len(root):
        if os.path.lexists(f"{path[:at]}/.git"):
            return True
        at = path.rfind("/", 0, at)
    return False


def _spelled(path: str, spelled: dict[str, str]) -> str:
    """Return a path whose beginning, as far as it is known in another spelling, has that spelling."""
    steps = path.split("/")
    for depth in range(len(steps), 0, -1):
        known = spelled.get("/".join(steps[:depth]).casefold())
        if known is not None:
            return "/".join([known, *steps[depth:]])
    return path


@asked_of_caller(unknown=0)
def count_files(tree: Tree, place: Place, most: int) -> int:
    """Return how many files a folder holds, without git's and our own; one more than the most for more than that."""
    path = tree.path_of(place)
    count = 0
    left = [] if path is None else [path.removesuffix(paths.EVERYTHING)]
    while left and count <= most:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        left += [] if entry.name in _NOT_COUNTED else [entry.path]
                    else:
                        count += 1
                        if count > most:
                            break
        except OSError:
            continue
    return count
