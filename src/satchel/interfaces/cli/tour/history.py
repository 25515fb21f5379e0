"""Reads a git repository's recent history without running anything that the repository configures."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from satchel.base.errors import InvalidInput, NotFound, Refused, SatchelError, Unavailable
from satchel.base.text import clean_content

MIN_COMMITS = 5
"""A history with fewer commits that are not merges has next to nothing to tell."""

MAX_FILES_PER_COMMIT = 200
MAX_TRACKED_FILES = 20_000
MAX_COUNTED_COMMITS = 100_000

_SAMPLE = Path(__file__).parent / "sample" / "history.json"
_TIMEOUT_SECONDS = 20.0
_MAX_FIELD_BYTES = 64 * 1024
_CHUNK_BYTES = 64 * 1024
# What belongs to the person stays; what a calling hook sets (GIT_DIR, GIT_INDEX_FILE ...) goes.
_KEPT_VARIABLES = {
    "GIT_CEILING_DIRECTORIES",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
}
_SAFE_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "log.showSignature=false",
    "log.showRoot=true",
    "protocol.allow=never",
)


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit, its text cleaned. Paths that are not UTF-8 show their odd bytes as ``\\xff``."""

    sha: str
    author: str
    date_ms: int
    subject: str
    body: str
    files: tuple[str, ...]
    is_merge: bool

    @property
    def short_sha(self) -> str:
        """The first eight digits, enough to name a commit to a person."""
        return self.sha[:8]


@dataclass(frozen=True, slots=True)
class History:
    """The newest commits of one repository, newest first, and the files it tracks now."""

    name: str
    root: Path | None
    commits: tuple[Commit, ...]
    total_commits: int
    tracked_files: tuple[str, ...]

    @property
    def is_thin(self) -> bool:
        """Whether there is next to no history: fewer than MIN_COMMITS commits that are not merges."""
        return sum(not commit.is_merge for commit in self.commits) < MIN_COMMITS


@dataclass(frozen=True, slots=True)
class Choice:
    """The history that the tour tells, and, when that is the bundled sample, why."""

    history: History
    sample_because: str | None


def choose_history(given: Path | None, here: Path, limit: int = 60) -> Choice:
    """Choose what the tour tells: the repository given, the one around ``here``, or the bundled sample.

    Args:
        given: a repository that the person named; one that cannot be read is an error.
        here: the folder the command stands in; where nothing can be read, the sample steps in.
        limit: how many commits to read at most.

    Raises:
        SatchelError: ``given`` cannot be read.
    """
    try:
        history = read_history(given if given is not None else here, limit)
    except SatchelError as error:
        if given is not None:
            raise
        return Choice(load_sample(), error.problem)
    if history.is_thin:
        told = sum(not commit.is_merge for commit in history.commits)
        return Choice(load_sample(), f"{history.name} has {told} commit{'s' * (told != 1)}, too few for a story")
    return Choice(history, None)


def read_history(repository: Path, limit: int = 60) -> History:
    """Read the newest commits of a git repository.

    Args:
        repository: a folder in a work tree, a git directory, or a bare repository.
        limit: how many commits at most, 1 to 1,000; merges count.

    Returns:
        The history; without a commit yet, one with no commits. At most MAX_FILES_PER_COMMIT paths of a commit
        and MAX_TRACKED_FILES of the tree are kept, and commits are counted up to MAX_COUNTED_COMMITS.

    Raises:
        NotFound: no such folder, or no repository there.
        Refused: git declines to read a repository that someone else owns.
        Unavailable: git is not installed.
        InvalidInput: the limit is out of range, or git cannot read the history.
    """
    if not 1 <= limit <= 1_000:
        raise InvalidInput(f"limit {limit} is out of range", "Give 1 to 1000 commits")
    if not repository.is_dir():
        raise NotFound(f"there is no folder {str(repository)!r}", "Give the folder of a git repository")
    place = _output(repository, ["rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--absolute-git-dir"])
    bare, inside, git_dir_line = place.split("\n", 2)
    git_dir = Path(git_dir_line.removesuffix("\n"))
    if inside == "true":
        root = Path(_output(repository, ["rev-parse", "--show-toplevel"]).removesuffix("\n"))
    else:
        root = git_dir.parent if bare == "false" and git_dir.name == ".git" else git_dir
    name = clean_content(root.name.removesuffix(".git")).text or "repository"
    if not _output(repository, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], may_fail=True):
        return History(name, root, (), 0, ())
    total = _output(repository, ["rev-list", "--count", f"--max-count={MAX_COUNTED_COMMITS}", "HEAD", "--"])
    tree = _fields(repository, ["ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD"])
    tracked = tuple(_path(field) for field, _ in zip(tree, range(MAX_TRACKED_FILES), strict=False))
    tree.close()
    return History(name, root, tuple(_commits(repository, limit)), int(total), tracked)


def load_sample() -> History:
    """Return the bundled sample, made from Satchel's own history by ``scripts/make_tour_sample.py``."""
    import json

    data = json.loads(_SAMPLE.read_text(encoding="utf-8"))
    commits = tuple(
        Commit(
            sha=row["sha"],
            author=row["author"],
            date_ms=row["date_ms"],
            subject=row["subject"],
            body=row["body"],
            files=tuple(row["files"]),
            is_merge=False,
        )
        for row in data["commits"]
    )
    return History(data["name"], None, commits, data["total_commits"], tuple(data["tracked_files"]))


def _commits(repository: Path, limit: int) -> Iterator[Commit]:
    """Parse ``git log -z``: an empty field opens a commit, six fields and its paths follow."""
    fields = _fields(
        repository,
        [
            *("log", "-z", f"--max-count={limit}", "--name-only", "--no-renames", "--no-ext-diff"),
            *("--no-textconv", "--no-show-signature", "--no-notes", "--no-color", "--encoding=UTF-8"),
            *("--format=%x00%H%x00%an%x00%at%x00%P%x00%s%x00%b", "HEAD", "--"),
        ],
    )
    opening = next(fields, None)
    while opening is not None:
        sha, author, seconds, parents, subject, body = (_text(next(fields)) for _ in range(6))
        files: list[str] = []
        opening = next(fields, None)
        if opening:  # git puts a line break before the first path
            opening = opening.removeprefix(b"\n")
        while opening:
            if len(files) < MAX_FILES_PER_COMMIT:
                files.append(_path(opening))
            opening = next(fields, None)
        yield Commit(
            sha=sha,
            author=author,
            date_ms=int(seconds or 0) * 1_000,
            subject=subject,
            body=body.strip(),
            files=tuple(files),
            is_merge=" " in parents,
        )


def _text(field: bytes) -> str:
    return clean_content(field.decode("utf-8", "replace")).text


def _path(field: bytes) -> str:
    return field.decode("utf-8", "backslashreplace")


def _environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k in _KEPT_VARIABLES}
    return kept | {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        # Else a partial clone fetches what is missing, by whatever transport its configuration names.
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "LC_ALL": "C",
    }


def _command(repository: Path, arguments: Sequence[str]) -> list[str]:
    settings = [word for setting in _SAFE_SETTINGS for word in ("-c", setting)]
    return ["git", "--no-pager", *settings, "-C", str(repository), *arguments]


def _output(repository: Path, arguments: Sequence[str], may_fail: bool = False) -> str:
    """Run git for a short answer; with ``may_fail`` a failure is an empty answer."""
    return b"".join(_fields(repository, arguments, may_fail)).decode("utf-8", "surrogateescape")


def _fields(repository: Path, arguments: Sequence[str], may_fail: bool = False) -> Generator[bytes, None, None]:
    """Run git and yield the NUL-separated fields it prints, as a stream; closing the generator stops git."""
    import subprocess
    import tempfile
    import threading

    with tempfile.TemporaryFile() as complaints:
        try:
            process = subprocess.Popen(
                _command(repository, arguments),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=_environment(),
            )
        except OSError as error:
            raise Unavailable(f"git cannot be started ({error.strerror})", "Install git to read a history") from None
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(_TIMEOUT_SECONDS, stop)
        timer.daemon = True
        timer.start()
        try:
            with cast("IO[bytes]", process.stdout) as stream:
                yield from _split(stream)
            status = process.wait()
        finally:
            timer.cancel()
            process.kill()
            process.wait()
        if status and not may_fail:
            complaints.seek(0)
            said = complaints.read(4_000).decode("utf-8", "replace").strip()
            raise _failure(repository, "it took too long" if late.is_set() else said)


def _split(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield NUL-terminated fields; of each only the first 64 KiB are kept."""
    field = bytearray()
    while chunk := os.read(stream.fileno(), _CHUNK_BYTES):
        *ended, rest = chunk.split(b"\0")
        for part in ended:
            field += part[: _MAX_FIELD_BYTES - len(field)]
            yield bytes(field)
            field.clear()
        field += rest[: _MAX_FIELD_BYTES - len(field)]
    if field:
        yield bytes(field)


def _failure(repository: Path, said: str) -> SatchelError:
    """Turn git's complaint into the error that a person can act on."""
    if "not a git repository" in said:
        return NotFound(
            f"{str(repository)!r} is in no git repository", "Stand in one, or give its path as the argument"
        )
    if "dubious ownership" in said:
        return Refused(
            f"git does not read {str(repository)!r}, because someone else owns it",
            "Add it to safe.directory in your git configuration if you trust it",
        )
    line = said.splitlines()[0] if said else "it gave no reason"
    return InvalidInput(f"git cannot read the history of {str(repository)!r}: {line}", "Run git fsck there")
