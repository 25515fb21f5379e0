"""What the repository says now: the default branch's texts as git has them, and the files of this worktree."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from satchel.base import git_trees
from satchel.base.records import dataclass, field
from satchel.keep.shared.folder import IGNORED, IS_NAME, MAX_FILES, Folder, Listing, Skipped, files_of, size_problem
from satchel.keep.shared.front_matter import BrokenText
from satchel.keep.shared.looking import BELOW, Place
from satchel.keep.shared.markdown import HasConflict, SharedText, parse


class Found(NamedTuple):
    """A text, the name of its file, and the hash that git has for the bytes, where git has them."""

    name: str
    text: SharedText
    blob: str | None


@dataclass(frozen=True, slots=True)
class World:
    """What the repository says.

    Attributes:
        commit: the default branch's, as far as it is known here; None where it has none.
        is_behind: whether the commit is older than the one that was read last, so that nothing of it is news.
        committed: the texts of the default branch, by their uids.
        changed: the uids of those that were changed there since the commit that was read last; None where that is not
            known.
        here: the texts of this worktree, by their uids.
        problems: what was skipped.
        conflicts: the names of files here that git could not merge.
        listing: the files of this worktree.
    """

    commit: str | None
    is_behind: bool
    committed: dict[str, Found]
    changed: frozenset[str] | None
    here: dict[str, Found]
    problems: tuple[Skipped, ...]
    conflicts: tuple[str, ...]
    listing: Listing = field(compare=False)


def read_world(place: Place, read_last: str | None, listing: Listing | None = None) -> World:
    """Read what the repository says.

    Args:
        read_last: the commit of the default branch that was read last.
        listing: the files of the worktree, where they were listed already.
    """
    folder = Folder(place.root)
    listing = folder.list() if listing is None else listing
    problems = [*listing.skipped]
    committed: dict[str, Found] = {}
    changed: frozenset[str] | None = None
    blobs: dict[str, tuple[str, SharedText]] = {}
    commit, is_behind = _tip(place), False
    if commit is not None:
        files = _checked(folder, git_trees.files_at(place.root, commit, BELOW), problems)
        held = git_trees.contents(place.root, files.values())
        pairs = ((name, held.get(file.blob)) for name, file in files.items())
        committed, _ = _parsed(folder, pairs, problems, {name: file.blob for name, file in files.items()})
        blobs = {found.blob: (found.name, found.text) for found in committed.values() if found.blob is not None}
        if read_last is not None and read_last != commit:
            base = git_trees.merge_base(place.root, read_last, commit)
            is_behind = base == commit
            before = None if base is None else git_trees.files_at(place.root, base, BELOW)
            if before is not None:
                old = {file.blob for file in before}
                changed = frozenset(uid for uid, found in committed.items() if found.blob not in old)
        elif read_last is not None:
            changed = frozenset()
    texts, conflicts = _parsed(folder, files_of(folder, listing), problems, {}, blobs)
    unique = tuple(dict.fromkeys(problems))
    return World(commit, is_behind, committed, changed, texts, unique, conflicts, listing)


def _tip(place: Place) -> str | None:
    """Return the further of the default branch's commits here and at its origin; ours where they have parted."""
    if place.local is None or place.remote is None or place.local == place.remote:
        return place.local or place.remote
    base = git_trees.merge_base(place.root, place.local, place.remote)
    return place.remote if base == place.local else place.local


def _checked(
    folder: Folder, files: Iterable[git_trees.TreeFile] | None, problems: list[Skipped]
) -> dict[str, git_trees.TreeFile]:
    """Return the files of a commit that may be items, by name; what else is there is said."""
    found: dict[str, git_trees.TreeFile] = {}
    if files is None:
        problems.append(Skipped(BELOW, "git does not say what the default branch has here"))
        return found
    left = 0
    for file in files:
        if file.path in IGNORED:
            continue
        problem = size_problem(file.size)
        if not file.is_regular:
            problem = "is a link or a repository of its own, not a regular file"
        elif not IS_NAME(file.path):
            problem = "is not named as an item's file is: letters, digits, . _ and - and .md at the end"
        if problem is not None:
            problems.append(Skipped(folder.shown(file.path), problem))
        elif len(found) < MAX_FILES:
            found[file.path] = file
        else:
            left += 1
    if left:
        problems.append(Skipped(BELOW, f"{left:,} files beyond {MAX_FILES:,} are not read"))
    return found


def _parsed(
    folder: Folder,
    files: Iterable[tuple[str, bytes | None]],
    problems: list[Skipped],
    blobs: dict[str, str],
    known: dict[str, tuple[str, SharedText]] | None = None,
) -> tuple[dict[str, Found], tuple[str, ...]]:
    """Read files; those that cannot be read are said.

    Args:
        blobs: git's hashes of them, by name.
        known: texts that were read already, by git's hashes.

    Returns:
        The texts by their uids, and the names of those that git could not merge.
    """
    found: dict[str, Found] = {}
    conflicts: list[str] = []
    of_sha256 = any(len(blob) == 64 for blob in known or ())
    for name, data in files:
        if data is None:
            problems.append(Skipped(folder.shown(name), "cannot be read, or was exchanged meanwhile"))
            continue
        blob = blobs.get(name)
        if known:
            blob = _blob_of(data, of_sha256=of_sha256)
        read = known.get(blob) if known and blob is not None else None
        try:
            text = parse(data) if read is None or read[0] != name else read[1]
        except HasConflict as error:
            conflicts.append(name)
            problems.append(Skipped(folder.shown(name), error.problem, error.line))
            continue
        except BrokenText as error:
            problems.append(Skipped(folder.shown(name), error.problem, error.line))
            continue
        other = found.get(text.uid)
        if other is not None:
            problems.append(Skipped(folder.shown(name), f"has the uid of {other.name}; one of them is a copy"))
            continue
        found[text.uid] = Found(name, text, blob)
    return found, tuple(conflicts)


def _blob_of(data: bytes, *, of_sha256: bool) -> str:
    """Return git's hash of what a file holds: https://git-scm.com/book/en/v2/Git-Internals-Git-Objects."""
    made = hashlib.sha256 if of_sha256 else hashlib.sha1
    return made(b"blob %d\0" % len(data) + data, **({} if of_sha256 else {"usedforsecurity": False})).hexdigest()
