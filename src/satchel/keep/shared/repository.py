"""Reading of the repository: the default branch's texts from git, and the files of this worktree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from satchel.base import git_commands
from satchel.base.records import dataclass, field
from satchel.keep.shared.folder import (
    BELOW,
    IGNORED,
    IS_NAME,
    MAX_BYTES,
    MAX_FILES,
    Folder,
    Listing,
    Place,
    Problem,
    size_problem,
)
from satchel.keep.shared.front_matter import BrokenText
from satchel.keep.shared.items import cleaned, secrets_in
from satchel.keep.shared.markdown import HasConflict, SharedText, parse, render


class RepositoryText(NamedTuple):
    """A text with its file name."""

    name: str
    text: SharedText


@dataclass(frozen=True, slots=True)
class Repository:
    """State of a repository and its worktree.

    Attributes:
        is_behind: whether the commit is older than the last one read, so that it has no news.
        changed: uids changed there since the last commit read; None if unknown.
        conflicts: names of files here with conflict markers.
    """

    commit: str | None
    is_behind: bool
    committed: dict[str, RepositoryText]
    changed: frozenset[str] | None
    here: dict[str, RepositoryText]
    problems: tuple[Problem, ...]
    conflicts: tuple[str, ...]
    listing: Listing = field(compare=False)


def read_repository(place: Place, read_last: str | None, listing: Listing | None = None) -> Repository:
    folder = Folder(place.root)
    listing = folder.list() if listing is None else listing
    problems = [*listing.problems]
    committed: dict[str, RepositoryText] = {}
    changed: frozenset[str] | None = None
    parsed: dict[bytes, SharedText] = {}
    commit, is_behind = tip_of(place), False
    if commit is not None:
        files = _checked(folder, git_commands.files_at(place.root, commit, BELOW), problems)
        contents = git_commands.contents(place.root, files.values())
        pairs = ((name, contents.get(file.blob)) for name, file in files.items())
        committed, _ = _parsed(folder, pairs, problems, parsed)
        if read_last is not None and read_last != commit:
            base = git_commands.merge_base(place.root, read_last, commit)
            is_behind = base == commit
            before = None if base is None else git_commands.files_at(place.root, base, BELOW)
            if before is not None:
                old = {file.blob for file in before}
                changed = frozenset(uid for uid, text in committed.items() if files[text.name].blob not in old)
        elif read_last is not None:
            changed = frozenset()
    texts, conflicts = _parsed(folder, ((name, folder.read(name)) for name in listing.names), problems, parsed)
    unique = tuple(dict.fromkeys(problems))
    return Repository(commit, is_behind, committed, changed, texts, unique, conflicts, listing)


def tip_of(place: Place) -> str | None:
    # the later of the local and origin's commits; the local one if they have diverged
    if place.local is None or place.remote is None or place.local == place.remote:
        return place.local or place.remote
    base = git_commands.merge_base(place.root, place.local, place.remote)
    return place.remote if base == place.local else place.local


def _checked(
    folder: Folder, files: Iterable[git_commands.TreeFile] | None, problems: list[Problem]
) -> dict[str, git_commands.TreeFile]:
    items: dict[str, git_commands.TreeFile] = {}
    if files is None:
        problems.append(Problem(BELOW, "git cannot list the default branch's files here"))
        return items
    more = 0
    for file in files:
        if file.path in IGNORED:
            continue
        problem = size_problem(file.size)
        if not file.is_regular:
            problem = "is a link or a submodule, not a regular file"
        elif not IS_NAME(file.path):
            problem = "is not a valid name of an item's file: letters, digits, . _ and -, ending in .md"
        if problem is not None:
            problems.append(Problem(folder.display_path(file.path), problem))
        elif len(items) < MAX_FILES:
            items[file.path] = file
        else:
            more += 1
    if more:
        problems.append(Problem(BELOW, f"{more:,} files beyond {MAX_FILES:,} are not read"))
    return items


def _parsed(
    folder: Folder,
    files: Iterable[tuple[str, bytes | None]],
    problems: list[Problem],
    parsed: dict[bytes, SharedText],
) -> tuple[dict[str, RepositoryText], tuple[str, ...]]:
    texts: dict[str, RepositoryText] = {}
    conflicts: list[str] = []
    for name, data in files:
        if data is None:
            problems.append(Problem(folder.display_path(name), "cannot be read, or was replaced in the meantime"))
            continue
        try:
            text = parsed[data] = parsed.get(data) or parse(data)
        except HasConflict as error:
            conflicts.append(name)
            problems.append(Problem(folder.display_path(name), error.problem, error.line))
            continue
        except BrokenText as error:
            problems.append(Problem(folder.display_path(name), error.problem, error.line))
            continue
        other = texts.get(text.uid)
        if other is not None:
            problems.append(Problem(folder.display_path(name), f"has the uid of {other.name}; one of them is a copy"))
            continue
        texts[text.uid] = RepositoryText(name, text)
    return texts, tuple(conflicts)


def format_problems(folder: Folder, files: Listing) -> list[Problem]:
    problems = [*files.problems]
    uids: dict[str, str] = {}
    keys: dict[tuple[str, str], str] = {}
    for name in files.names:
        problems += [
            Problem(folder.display_path(name), problem, line)
            for line, problem in _faults(name, folder.read(name), uids, keys)
        ]
    return problems


def _faults(
    name: str, data: bytes | None, uids: dict[str, str], keys: dict[tuple[str, str], str]
) -> Iterator[tuple[int | None, str]]:
    if data is None:
        yield None, f"cannot be read as a regular file of at most {MAX_BYTES // 1024**2} MiB"
        return
    try:
        text = parse(data)
    except BrokenText as error:
        yield error.line, error.problem
        return
    other = uids.setdefault(text.uid, name)
    if other != name:
        yield None, f"has the uid of {other}; one of them is a copy"
    if not name.endswith(f"-{text.uid[:8]}.md") and not name.endswith(f"-{text.uid[8:]}.md"):
        yield None, f"its name does not end with -{text.uid[:8]}.md, the beginning of its uid"
    key = text.fields.get("key") or text.fields.get("hash")
    if isinstance(key, str) and not text.is_gone:
        other = keys.setdefault((text.kind, key), name)
        if other != name:
            yield None, f"has the key of {other}: satchel sync and satchel accept merge them"
    secrets = secrets_in(text)
    if secrets:
        yield None, f"holds a secret ({secrets[0]})"
    notes = [note for note in cleaned(text)[1] if "secret" not in note]
    if notes:
        yield None, "; ".join(notes)
    written = render(text)
    if written != data.replace(b"\r\n", b"\n"):
        yield _first_difference(data.replace(b"\r\n", b"\n"), written), "is not formatted as satchel sync writes it"


def _first_difference(data: bytes, written: bytes) -> int:
    pairs = zip(data.split(b"\n"), written.split(b"\n"), strict=False)
    return next((number for number, (one, other) in enumerate(pairs, start=1) if one != other), data.count(b"\n") + 1)
