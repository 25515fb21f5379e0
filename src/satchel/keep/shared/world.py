"""Reading of the repository: the default branch's texts from git, and the files of this worktree."""

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


class RepositoryText(NamedTuple):
    """A text with its file name, and git's hash of its bytes if known."""

    name: str
    text: SharedText
    blob: str | None


@dataclass(frozen=True, slots=True)
class World:
    """State of the repository.

    Attributes:
        commit: the default branch's latest known commit, or None.
        is_behind: whether the commit is older than the last one read, so that it has no news.
        committed: texts of the default branch by uid.
        changed: uids changed there since the last commit read; None if unknown.
        here: texts of this worktree by uid.
        problems: skipped files.
        conflicts: names of files here with conflict markers.
        listing: the files of this worktree.
    """

    commit: str | None
    is_behind: bool
    committed: dict[str, RepositoryText]
    changed: frozenset[str] | None
    here: dict[str, RepositoryText]
    problems: tuple[Skipped, ...]
    conflicts: tuple[str, ...]
    listing: Listing = field(compare=False)


def read_world(place: Place, read_last: str | None, listing: Listing | None = None) -> World:
    """Read the repository, given the last commit read and the files if they were already listed."""
    folder = Folder(place.root)
    listing = folder.list() if listing is None else listing
    problems = [*listing.skipped]
    committed: dict[str, RepositoryText] = {}
    changed: frozenset[str] | None = None
    blobs: dict[str, tuple[str, SharedText]] = {}
    commit, is_behind = _tip(place), False
    if commit is not None:
        files = _checked(folder, git_trees.files_at(place.root, commit, BELOW), problems)
        contents = git_trees.contents(place.root, files.values())
        pairs = ((name, contents.get(file.blob)) for name, file in files.items())
        committed, _ = _parsed(folder, pairs, problems, {name: file.blob for name, file in files.items()})
        blobs = {text.blob: (text.name, text.text) for text in committed.values() if text.blob is not None}
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
    # the later of the local and origin's commits; the local one if they have diverged
    if place.local is None or place.remote is None or place.local == place.remote:
        return place.local or place.remote
    base = git_trees.merge_base(place.root, place.local, place.remote)
    return place.remote if base == place.local else place.local


def _checked(
    folder: Folder, files: Iterable[git_trees.TreeFile] | None, problems: list[Skipped]
) -> dict[str, git_trees.TreeFile]:
    items: dict[str, git_trees.TreeFile] = {}
    if files is None:
        problems.append(Skipped(BELOW, "git cannot list the default branch's files here"))
        return items
    more = 0
    for file in files:
        if file.path in IGNORED:
            continue
        problem = size_problem(file.size)
        if not file.is_regular:
            problem = "is a link or a repository of its own, not a regular file"
        elif not IS_NAME(file.path):
            problem = "is not a valid name of an item's file: letters, digits, . _ and -, ending in .md"
        if problem is not None:
            problems.append(Skipped(folder.display_path(file.path), problem))
        elif len(items) < MAX_FILES:
            items[file.path] = file
        else:
            more += 1
    if more:
        problems.append(Skipped(BELOW, f"{more:,} files beyond {MAX_FILES:,} are not read"))
    return items


def _parsed(
    folder: Folder,
    files: Iterable[tuple[str, bytes | None]],
    problems: list[Skipped],
    blobs: dict[str, str],
    parsed: dict[str, tuple[str, SharedText]] | None = None,
) -> tuple[dict[str, RepositoryText], tuple[str, ...]]:
    texts: dict[str, RepositoryText] = {}
    conflicts: list[str] = []
    of_sha256 = any(len(blob) == 64 for blob in parsed or ())
    for name, data in files:
        if data is None:
            problems.append(Skipped(folder.display_path(name), "cannot be read, or was replaced in the meantime"))
            continue
        blob = blobs.get(name)
        if parsed:
            blob = _blob_of(data, of_sha256=of_sha256)
        read = parsed.get(blob) if parsed and blob is not None else None
        try:
            text = parse(data) if read is None or read[0] != name else read[1]
        except HasConflict as error:
            conflicts.append(name)
            problems.append(Skipped(folder.display_path(name), error.problem, error.line))
            continue
        except BrokenText as error:
            problems.append(Skipped(folder.display_path(name), error.problem, error.line))
            continue
        other = texts.get(text.uid)
        if other is not None:
            problems.append(Skipped(folder.display_path(name), f"has the uid of {other.name}; one of them is a copy"))
            continue
        texts[text.uid] = RepositoryText(name, text, blob)
    return texts, tuple(conflicts)


def _blob_of(data: bytes, *, of_sha256: bool) -> str:
    # https://git-scm.com/book/en/v2/Git-Internals-Git-Objects
    made = hashlib.sha256 if of_sha256 else hashlib.sha1
    return made(b"blob %d\0" % len(data) + data, **({} if of_sha256 else {"usedforsecurity": False})).hexdigest()
