"""Citations: what an entry's file held when the entry was written, and how the reader's tree stands by that now."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence

from satchel.base.cited import (
    CHANGED,
    ELSEWHERE,
    GONE,
    MAX_BYTES,
    MOVED,
    Comparison,
    Digest,
    digest_of,
    find,
    read_cited,
)
from satchel.base.git_head import read_head, top_of
from satchel.base.git_index import CLEAN, DIRTY, UNTRACKED, standing
from satchel.base.machine import asked_of_caller, caller_elsewhere
from satchel.base.records import NamedTuple, dataclass
from satchel.base.text import quoted_line
from satchel.find.kind import Kind
from satchel.redaction.filenames import is_secret_path
from satchel.store.transaction import Transaction, set_of

_STANDINGS = {CLEAN: "committed", DIRTY: "dirty", UNTRACKED: "untracked"}


class Cited(NamedTuple):
    """What is recorded of the file of an entry.

    Attributes:
        standing: how the file stood by git's index; None where that was not known.
        blob: git's hash of the file where it stood as the index has it.
        branch, commit: what was checked out, or None.
    """

    digest: Digest
    standing: int | None
    blob: bytes | None
    branch: str | None
    commit: str | None


@dataclass(frozen=True, slots=True)
class Citation:
    """How the file of an entry stands, in the tree of who reads, by what it held when the entry was written.

    Attributes:
        state: unchanged, moved, changed or gone; elsewhere where the reader's file cannot tell: what was cited is of
            another clone, and was not committed there, or its commit is not in this one.
        line: the line where what was cited begins now; None where several places are like it, or the whole file is
            cited.
        commit, branch: what was checked out where it was written, or None.
        worktree: how the file stood there by git: committed, dirty or untracked; None where that is not known.
        file: the path that the file has now; None where that is the entry's.
        is_unmerged: True where it is from a branch that is there and was not merged into what the reader has.
    """

    state: str
    line: int | None
    commit: str | None
    branch: str | None
    worktree: str | None
    file: str | None = None
    is_unmerged: bool | None = None

    @property
    def is_stale(self) -> bool:
        """Whether what was cited is not there any more."""
        return self.state in {CHANGED, GONE}

    @property
    def marks(self) -> tuple[str, ...]:
        """What a reader is told; nothing while all stands as it did."""
        if self.state == ELSEWHERE:
            return (f"{self._origin}, not in your tree",)
        if self.is_unmerged and self.branch:
            return (f"from branch {_quoted(self.branch)}, not merged",)
        said = {CHANGED: "file changed since", GONE: "file gone"}.get(self.state)
        renamed = None if self.file is None else f"moved to {_quoted(self.file)}"
        if self.state == MOVED and self.line is not None:
            said = f"moved to line {self.line}" if renamed is None else f"line {self.line}"
        elif self.state == MOVED and renamed is None:
            said = "moved in the file"
        return tuple(part for part in (renamed, said) if part is not None)

    @property
    def _origin(self) -> str:
        """Where what was cited stood when the entry was written."""
        branch = "" if self.branch is None else f" on branch {_quoted(self.branch)}"
        return f"uncommitted{branch}" if self.is_uncommitted else f"of commit {(self.commit or '?')[:8]}{branch}"

    @property
    def is_uncommitted(self) -> bool:
        """Whether what was cited was in no commit when the entry was written."""
        return self.worktree in {_STANDINGS[DIRTY], _STANDINGS[UNTRACKED]}


def _quoted(name: str) -> str:
    return quoted_line(name) if any(map(str.isspace, name)) else name


def _behind_links(root: str | None) -> str | None:
    return root if root is None or caller_elsewhere() is not None else os.path.realpath(root)


class Citing:
    """Cites files for entries that are written at one time.

    Args:
        root: the folder that paths are relative to; None cites nothing.
    """

    def __init__(self, root: str | None) -> None:
        self._root = _behind_links(root)
        self._head: tuple[str | None, tuple[str | None, str | None]] | None = None

    def cite(self, path: str, line: int | None, last: int | None) -> Cited | None:
        """Return what is to be recorded of a file.

        A file whose name says that it holds secrets is not cited: of a short line a digest could be guessed.

        Args:
            path: canonical.
            line, last: the lines that are cited; None for the whole file.

        Returns:
            None where there is no such line in a regular file of at most 1 MB.
        """
        root = self._root
        if root is None or is_secret_path(path):
            return None
        if caller_elsewhere() is not None:
            return cited_in(root, path, line, last)
        try:
            file = read_cited(root, path)
        except OSError:
            return None
        digest = None if file is None else digest_of(file.data, line, last)
        if file is None or digest is None:
            return None
        if self._head is None:
            top = top_of(root)
            self._head = top, read_head(top)
        top, (branch, commit) = self._head
        in_git = (None, None) if top is None else standing(top, os.path.relpath(f"{root}/{path}", top), file, commit)
        return Cited(digest, *in_git, branch, commit)


@asked_of_caller()
def cited_in(root: str, path: str, line: int | None, last: int | None) -> Cited | None:
    """Return what is to be recorded of a file, as :meth:`Citing.cite` does."""
    return Citing(root).cite(path, line, last)


def record(transaction: Transaction, entry: int, cited: Cited) -> None:
    """Record what an entry cites, by its number."""
    transaction.run(
        """
        INSERT INTO citations (entry_id, digest, size, places, standing, blob, branch, commit_id)
        VALUES (:entry, :digest, :size, :places, :standing, :blob, :branch, :commit)
        """,
        {
            "entry": entry,
            "digest": cited.digest.value,
            "size": cited.digest.size,
            "places": cited.digest.places,
            "standing": cited.standing,
            "blob": cited.blob,
            "branch": cited.branch,
            "commit": cited.commit,
        },
    )


class Place(NamedTuple):
    """What an entry cites, as it is recorded, with its file."""

    path: str
    cited: Cited


def load(transaction: Transaction, entries: Collection[int]) -> dict[int, Place]:
    """Return what entries cite, by their numbers; those without a citation are left out."""
    if not entries:
        return {}
    rows = transaction.all(
        f"""
        SELECT t.entry_id, c.file, c.line, c.last_line, t.digest, t.size, t.places, t.standing, t.blob, t.branch,
            t.commit_id
        FROM citations t JOIN context c ON c.id = t.entry_id
        WHERE t.entry_id IN {set_of(entries)}
        """
    )
    found = {
        number: Place(path, Cited(Digest(line, last, value, size, places), *git))
        for number, path, line, last, value, size, places, *git in rows
    }
    return {number: found[number] for number in entries if number in found}


class Sinking:
    """Says of the results of a search whose file does not hold any more what was cited of it.

    Args:
        root: as for :class:`Comparing`.

    Attributes:
        found: how the files of the entries among the best 200 stand, by the numbers of their documents.
    """

    def __init__(self, transaction: Transaction, root: str | None) -> None:
        self._transaction = transaction
        self._root = root
        self.found: dict[int, Citation] = {}

    def __call__(self, documents: Sequence[int]) -> list[int]:
        """Return the documents that are to sink, of some that come best first."""
        # the plus keeps the planner from the index by kind, which took 5 ms of each search of 100,000 notes
        rows = self._transaction.all(
            f"""
            SELECT d.id, t.entry_id FROM documents d JOIN citations t ON t.entry_id = d.item_id
            WHERE d.id IN {set_of(documents[:_MAX_FILES])} AND +d.kind = {Kind.ENTRY.number}
            """
        )
        entries = {entry: document for document, entry in rows}
        found = Comparing(self._root).compare(load(self._transaction, entries))
        self.found = {entries[entry]: citation for entry, citation in found.items()}
        return [document for document, citation in self.found.items() if citation.is_stale]


_MAX_FILES, _MAX_READ = 200, 16 * MAX_BYTES
"""So many files, and bytes of them that are not known from before, are compared at one time; others go unmarked."""

_SETTLED_NS = 50_000_000
"""A file that changed less than 50 ms ago may change again without another time: file systems count in 4 to 10 ms."""

_MAX_KNOWN = 4_096
_known: dict[tuple[object, ...], Comparison] = {}


@asked_of_caller(unknown=())
def compared_in(root: str, places: Sequence[tuple[int, Place]]) -> tuple[tuple[int, Citation], ...]:
    """Return how the files of entries stand, as :meth:`Comparing.compare` does."""
    return tuple(Comparing(root, is_apart=True).compare(dict(places)).items())


class Comparing:
    """Compares what entries cite with one tree, within bounds.

    Args:
        root: the folder that paths are relative to; None compares nothing.
        is_over: asked before a file is read: whether the rest goes unmarked.
        is_apart: whether entries may be from other clones than the one that holds the folder, as over a server.
    """

    def __init__(
        self, root: str | None, is_over: Callable[[], bool] = lambda: False, *, is_apart: bool = False
    ) -> None:
        self._is_apart = is_apart
        self._root = _behind_links(root)
        self._is_over = is_over
        self._files: set[str] = set()
        self._read = 0

    def compare(self, places: Mapping[int, Place]) -> dict[int, Citation]:
        """Return how the files of entries stand, by the entries' numbers; what is not known is left out."""
        if self._root is not None and caller_elsewhere() is not None:
            return dict(compared_in(self._root, tuple(places.items())))
        found: dict[int, Citation] = {}
        for number, (path, cited) in places.items():
            stands = self._compare(path, cited.digest)
            if stands is not None:
                worktree = None if cited.standing is None else _STANDINGS.get(cited.standing)
                found[number] = Citation(stands.state, stands.line, cited.commit, cited.branch, worktree)
        if self._root is None or not any(one.is_stale for one in found.values()):
            return found
        from satchel.keep.cited_history import explained  # only where something is to be explained

        return explained(self._root, places, found, self._compare, is_apart=self._is_apart)

    def _compare(self, path: str, digest: Digest) -> Comparison | None:
        root = self._root
        if root is None or not isinstance(path, str):
            return None
        if path not in self._files:
            if len(self._files) >= _MAX_FILES:
                return None
            self._files.add(path)
        try:
            status = os.lstat(f"{root}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            return Comparison(GONE, None)
        except (OSError, ValueError):
            return None
        key = (root, path, status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, digest)
        known = _known.get(key)
        if known is not None or self._read + status.st_size > _MAX_READ or self._is_over():
            return known
        try:
            file = read_cited(root, path)
        except OSError:
            return Comparison(GONE, None)
        if file is None:
            return None
        self._read += len(file.data)
        stands = find(file.data, digest)
        changed = max(file.status.st_mtime_ns, file.status.st_ctime_ns)
        if (file.status.st_mtime_ns, file.status.st_ino) == key[2:6:3] and time.time_ns() - changed > _SETTLED_NS:
            if len(_known) >= _MAX_KNOWN:
                _known.clear()
            _known[key] = stands
        return stands
