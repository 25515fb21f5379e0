"""Citations: the content of an entry's file when written, compared with the reader's tree."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from satchel.base.cited import (
    CHANGED,
    ELSEWHERE,
    GONE,
    LEFT_OUT,
    MAX_BYTES,
    MOVED,
    Comparison,
    Digest,
    digest_of,
    find,
    read_cited,
)
from satchel.base.errors import InvalidInput
from satchel.base.git_files import read_head, top_of
from satchel.base.git_index import CLEAN, DIRTY, UNTRACKED, standing
from satchel.base.machine import caller_elsewhere, seen_by_caller
from satchel.base.records import NamedTuple, dataclass
from satchel.base.text import quoted_line
from satchel.find.kind import Kind
from satchel.redaction.filenames import is_secret_path
from satchel.store.transaction import Row, Transaction, set_of

_LINE_CHARS, _LINES_NEAR, _NEAR_BYTES = 80, 50, 400

_STANDINGS = {CLEAN: "committed", DIRTY: "dirty", UNTRACKED: "untracked"}


class Cited(NamedTuple):
    """The recorded citation of an entry.

    Attributes:
        blob: git's hash if the file matched the index.
        first_line: the first cited line, shortened; None near a secret, if the whole file is cited, or when read.
    """

    digest: Digest
    standing: int | None
    blob: bytes | None
    branch: str | None
    commit: str | None
    first_line: str | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """State of an entry's file in the reader's tree, compared with the cited content.

    Attributes:
        state: unchanged, moved, changed, gone, or not checked out, as in a sparse checkout; elsewhere if the reader's
            file cannot tell: the content was not committed in another clone, or its commit is missing here.
        line: the cited content's current first line; None if several places match, or the whole file is cited.
        commit, branch: the checkout where it was written, or None.
        worktree: the file's state there: committed, dirty or untracked; None if unknown.
        file: the file's current path; None if it is the entry's.
        is_unmerged: True if it is from an existing branch not merged into the reader's.
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
        return self.state in {CHANGED, GONE}

    @property
    def marks(self) -> tuple[str, ...]:
        """Return remarks for a reader; empty if nothing changed."""
        if self.state == ELSEWHERE:
            return (f"{self._origin}, not in your tree",)
        if self.is_unmerged and self.branch:
            return (f"from branch {_quoted(self.branch)}, not merged",)
        remark = {CHANGED: "file changed since", GONE: "file gone", LEFT_OUT: "file not checked out"}.get(self.state)
        renamed = None if self.file is None else f"moved to {_quoted(self.file)}"
        if self.state == MOVED and self.line is not None:
            remark = f"moved to line {self.line}" if renamed is None else f"line {self.line}"
        elif self.state == MOVED and renamed is None:
            remark = "moved in the file"
        return tuple(part for part in (renamed, remark) if part is not None)

    @property
    def _origin(self) -> str:
        branch = "" if self.branch is None else f" on branch {_quoted(self.branch)}"
        return f"uncommitted{branch}" if self.is_uncommitted else f"of commit {(self.commit or '?')[:8]}{branch}"

    @property
    def is_uncommitted(self) -> bool:
        return self.worktree in {_STANDINGS[DIRTY], _STANDINGS[UNTRACKED]}


def _quoted(name: str) -> str:
    return quoted_line(name) if any(map(str.isspace, name)) else name


def _behind_links(root: str | None) -> str | None:
    return root if root is None or caller_elsewhere() is not None else os.path.realpath(root)


class Citing:
    """Citations for entries written together, below the folder ``root``; None cites nothing."""

    def __init__(self, root: str | None) -> None:
        self._root = _behind_links(root)
        self._head: tuple[str | None, tuple[str | None, str | None]] | None = None

    def cite(self, path: str, line: int | None, last: int | None) -> Cited | None:
        """Return a citation; none of secret files, since a digest of a short line could be guessed."""
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
        if file is not None and digest is None and line is not None:
            count = len(file.data.splitlines())
            if line > count:
                raise InvalidInput(
                    f"{path} has {count} line{'s' * (count != 1)}, so line {line} is not there",
                    "Give a line that it has, or leave the line out",
                )
        if file is None or digest is None:
            return None
        if self._head is None:
            top = top_of(root)
            self._head = top, read_head(top)
        top, (branch, commit) = self._head
        full = f"{root}/{path}"
        # the index says nothing of files of a submodule or a nested clone
        is_of_tree = top is not None and top_of(os.path.dirname(full)) == top  # noqa: PTH120 -- in every write
        in_git = standing(top, os.path.relpath(full, top), file, commit) if top and is_of_tree else (None, None)
        return Cited(digest, *in_git, branch, commit, None if line is None else _first_line(file.data, line))


def _first_line(data: bytes, line: int) -> str | None:
    # None near a secret, which one line alone may not give away, and of a file that is no text
    from satchel.base.invisible import revealed
    from satchel.redaction import redact

    lines = data.splitlines()
    window = lines[max(0, line - _LINES_NEAR) : line + _LINES_NEAR]
    near = b"\n".join(one[:_NEAR_BYTES] for one in window).decode("utf-8", "replace")
    if b"\0" in data or redact(near).text != near:
        return None
    return quoted_line(revealed(lines[line - 1].decode("utf-8", "replace").strip()), _LINE_CHARS)


@seen_by_caller(0, unknown=None)
def cited_in(root: str, path: str, line: int | None, last: int | None) -> Cited | None:
    return Citing(root).cite(path, line, last)


@seen_by_caller(0, unknown=False)
def is_missing(root: str, path: str) -> bool:
    return not os.path.lexists(os.path.join(root, path.removesuffix("**")))  # noqa: PTH118 -- as above


def record(transaction: Transaction, entry: int, cited: Cited) -> None:
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
    path: str
    cited: Cited


_SELECTED = """
    SELECT t.entry_id, c.file, c.line, c.last_line, t.digest, t.size, t.places, t.standing, t.blob, t.branch,
        t.commit_id
    FROM citations t JOIN context c ON c.id = t.entry_id
"""


def load(transaction: Transaction, entries: Collection[int]) -> dict[int, Place]:
    if not entries:
        return {}
    by_entry = _places(transaction.all(f"{_SELECTED} WHERE t.entry_id IN {set_of(entries)}"))
    return {number: by_entry[number] for number in entries if number in by_entry}


def load_newest(transaction: Transaction, project_id: int, most: int) -> dict[int, Place]:
    return _places(
        transaction.all(
            f"""
            {_SELECTED} WHERE c.project_id = :project AND c.superseded_by IS NULL
            ORDER BY t.entry_id DESC LIMIT :most
            """,
            {"project": project_id, "most": most},
        )
    )


def _places(rows: Iterable[Row]) -> dict[int, Place]:
    return {
        number: Place(path, Cited(Digest(line, last, value, size, places), *git))
        for number, path, line, last, value, size, places, *git in rows
    }


class Sinking:
    """Function that ranks search results lower if their file no longer has the cited content."""

    def __init__(self, transaction: Transaction, root: str | None) -> None:
        self._transaction = transaction
        self._root = root
        self.citations: dict[int, Citation] = {}

    def __call__(self, documents: Sequence[int]) -> list[int]:
        # returns the documents to rank lower, of the best ones first
        # the plus keeps the planner from the index by kind, which is slow here
        rows = self._transaction.all(
            f"""
            SELECT d.id, t.entry_id FROM documents d JOIN citations t ON t.entry_id = d.item_id
            WHERE d.id IN {set_of(documents[:_MAX_FILES])} AND +d.kind = {Kind.ENTRY.number}
            """
        )
        entries = {entry: document for document, entry in rows}
        if not entries:
            return []
        compared = Comparing(self._root).compare(load(self._transaction, entries))
        self.citations = {entries[entry]: citation for entry, citation in compared.items()}
        return [document for document, citation in self.citations.items() if citation.is_stale]


# maximum number of files, and of uncached bytes, compared at once; others are not marked
_MAX_FILES, _MAX_READ = 200, 16 * MAX_BYTES

# a file changed less than 50 ms ago may change again with the same time: file systems count in 4 to 10 ms
_SETTLED_NS = 50_000_000

_MAX_KNOWN = 4_096
_comparisons: dict[tuple[object, ...], Comparison] = {}


COMPARED = "compared"  # the fact of how a citation compares with the tree of a caller elsewhere


def compared_as(number: int, place: Place) -> tuple[int, str]:
    """Return the arguments of :data:`COMPARED`: it holds as long as an entry cites the same."""
    return number, place.cited.digest.value.hex()


class Comparing:
    """Comparison of citations with one tree; ``is_apart`` marks entries that may be of other clones."""

    def __init__(
        self, root: str | None, is_over: Callable[[], bool] = lambda: False, *, is_apart: bool = False
    ) -> None:
        self._is_apart = is_apart
        self._root = _behind_links(root)
        self._is_over = is_over
        self._files: set[str] = set()
        self._read = 0

    def compare(self, places: Mapping[int, Place]) -> dict[int, Citation]:
        """Return the state of entries' files by number; unknown ones are left out."""
        caller = caller_elsewhere()
        if self._root is not None and caller is not None:
            facts = {number: caller.fact(COMPARED, compared_as(number, place)) for number, place in places.items()}
            return {number: citation for number, citation in facts.items() if citation is not None}
        states: dict[int, Citation] = {}
        for number, (path, cited) in places.items():
            stands = self._compare(path, cited.digest)
            if stands is not None:
                worktree = None if cited.standing is None else _STANDINGS.get(cited.standing)
                states[number] = Citation(stands.state, stands.line, cited.commit, cited.branch, worktree)
        if self._root is None or not any(state.is_stale for state in states.values()):
            return states
        from satchel.keep.cited_history import explain  # imported here: only explanations need it

        return explain(self._root, places, states, self._compare, is_apart=self._is_apart)

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
        cached = _comparisons.get(key)
        if cached is not None or self._read + status.st_size > _MAX_READ or self._is_over():
            return cached
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
            if len(_comparisons) >= _MAX_KNOWN:
                _comparisons.clear()
            _comparisons[key] = stands
        return stands
