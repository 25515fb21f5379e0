"""Reads a git repository's recent history without running anything that the repository configures."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from satchel.base.errors import InvalidInput, NotFound, Refused, SatchelError, Unavailable
from satchel.base.records import dataclass, replace
from satchel.base.text import clean_content

MIN_COMMITS = 5
"""A history with fewer commits has next to nothing to tell."""

_SAMPLE = Path(__file__).parent / "sample" / "history.json"
_TIMEOUT_SECONDS = 20.0
# What belongs to the person stays; what a calling hook sets (GIT_DIR, GIT_INDEX_FILE ...) goes.
_KEPT_VARIABLES = """
    GIT_CEILING_DIRECTORIES GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM GIT_CONFIG_SYSTEM GIT_DISCOVERY_ACROSS_FILESYSTEM
    GIT_EXEC_PATH
""".split()
_SAFE_SETTINGS = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false"),
    *("-c", "log.showRoot=true", "-c", "protocol.allow=never"),
)


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit, its text cleaned. Paths that are not UTF-8 show their odd bytes as ``\\xff``."""

    sha: str
    subject: str
    body: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class History:
    """A repository's commits, newest first, and the files it tracks; or the bundled sample, and why it stands in."""

    name: str
    commits: tuple[Commit, ...]
    tracked_files: tuple[str, ...]
    sample_because: str | None = None


def choose_history(given: Path | None, here: Path, limit: int = 60) -> History:
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
        return replace(load_sample(), sample_because=error.problem)
    told = len(history.commits)
    if told >= MIN_COMMITS:
        return history
    thin = f"{history.name} has {told} commit{'s' * (told != 1)}, too few for a story"
    return replace(load_sample(), sample_because=thin)


def read_history(repository: Path, limit: int = 60) -> History:
    """Read the newest commits of a git repository.

    Args:
        repository: a folder in a work tree, a git directory, or a bare repository.
        limit: how many commits at most, 1 to 1,000; merges are left out.

    Returns:
        The history; without a commit yet, one with no commits.

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
    folder = Path(os.fsdecode(_git(repository, "rev-parse", "--absolute-git-dir").removesuffix(b"\n")))
    # The git directory of a work tree beside the main one is named for it.
    name = (
        clean_content((folder.parent if folder.name == ".git" else folder).name.removesuffix(".git")).text
        or "repository"
    )
    if not _git(repository, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", may_fail=True):
        return History(name, (), ())
    tree = _git(repository, "ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD").split(b"\0")[:-1]
    return History(name, tuple(_commits(repository, limit)), tuple(map(_path, tree)))


def load_sample() -> History:
    """Return the bundled sample, made from Satchel's own history by ``scripts/make_tour_sample.py``."""
    data = json.loads(_SAMPLE.read_text(encoding="utf-8"))
    commits = tuple(Commit(row["sha"], row["subject"], row["body"], tuple(row["files"])) for row in data["commits"])
    return History(data["name"], commits, tuple(data["tracked_files"]))


def _commits(repository: Path, limit: int) -> Iterator[Commit]:
    """Parse ``git log -z``: two NULs stand between commits, one between fields, none of which is empty."""
    log = _git(
        repository,
        *("log", "-z", "--no-merges", f"--max-count={limit}", "--name-only", "--no-renames", "--no-ext-diff"),
        *("--no-textconv", "--no-show-signature", "--no-notes", "--no-color", "--encoding=UTF-8"),
        *("--format=%x00subject %s%x00body %b%x00%H", "HEAD", "--"),
    )
    for record in filter(None, log.strip(b"\0").split(b"\0\0")):
        subject, body, sha, *files = record.split(b"\0")
        if files:  # git puts a line break before the first path
            files[0] = files[0].removeprefix(b"\n")
        yield Commit(
            sha=sha.decode(),
            subject=_text(subject.removeprefix(b"subject ")),
            body=_text(body.removeprefix(b"body ")).strip(),
            files=tuple(map(_path, files)),
        )


def _text(field: bytes) -> str:
    return clean_content(field.decode("utf-8", "replace")).text


def _path(field: bytes) -> str:
    return field.decode("utf-8", "backslashreplace")


def _git(repository: Path, *arguments: str, may_fail: bool = False) -> bytes:
    """Run git and return what it prints; with ``may_fail`` a failure is what it printed before."""
    kept = {name: value for name, value in os.environ.items() if name[:4] != "GIT_" or name in _KEPT_VARIABLES}
    safe = {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        # Else a partial clone fetches what is missing, by whatever transport its configuration names.
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "LC_ALL": "C",
    }
    try:
        done = subprocess.run(
            ["git", "--no-pager", *_SAFE_SETTINGS, "-C", str(repository), *arguments],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=kept | safe,
            timeout=_TIMEOUT_SECONDS,
        )
    except OSError as error:
        raise Unavailable(f"git cannot be started ({error.strerror})", "Install git to read a history") from None
    except subprocess.TimeoutExpired:
        raise _failure(repository, "it took too long") from None
    if done.returncode and not may_fail:
        raise _failure(repository, done.stderr.decode("utf-8", "replace").strip())
    return done.stdout


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
