"""A file with its claims, changes, binding rules and decisions, and notes."""

from __future__ import annotations

from satchel.base.records import dataclass, replace
from satchel.find.kind import Kind
from satchel.keep import projects
from satchel.keep.binding import BoundItem, binding_of, matching_paths
from satchel.keep.decisions.records import STATUSES
from satchel.keep.entries.records import Entry
from satchel.keep.entries.service import Entries
from satchel.keep.files.checking import check
from satchel.keep.files.places import check_place
from satchel.keep.files.records import FileChange, FilesChecked
from satchel.keep.files.service import Files
from satchel.keep.paths import FILE_REF, check_lines
from satchel.keep.projects import Workplace
from satchel.store.transaction import set_of

_WINDOW_MS = 86_400_000
_MOST_BOUND, _MOST_NOTES, _MOST_CHANGES = 20, 10, 3


@dataclass(frozen=True, slots=True)
class FileView:
    """A file or folder with what the store knows about it.

    Attributes:
        bindings: the first rules and decisions that bind it, the most urgent first, of ``bound`` in all.
        entries: the newest live notes on it, of ``noted`` in all.
        changes: its newest recorded changes, which ``checked`` leaves out.
        drafts: ids and keys of the decisions that are proposed for it.
    """

    file: str
    checked: FilesChecked
    bindings: tuple[BoundItem, ...]
    entries: tuple[Entry, ...]
    bound: int
    noted: int
    changes: tuple[FileChange, ...]
    drafts: tuple[str, ...]

    @property
    def created_at(self) -> int:
        """Return when it was looked at, which the year of its times is taken from."""
        return self.checked.checked_at


def view(work: Workplace, ref: str, agent: str | None) -> FileView:
    """Return what is known of the file of a request such as ``file:src/a.py``; a line after the path is ignored."""
    path = check_lines(ref.removeprefix(FILE_REF), work.files_root, "file")[0].removesuffix("**")
    checked = check(work, [check_place(work, path, "files[0]")], _WINDOW_MS, agent)
    bindings = binding_of(work, path, _MOST_BOUND, 0).bindings
    page = Entries(work).read(file=path, limit=_MOST_NOTES)
    checked = replace(checked, files=tuple(replace(file, recent=()) for file in checked.files))
    changes = Files(work).changes(file=path, limit=_MOST_CHANGES).changes
    return FileView(path, checked, bindings.items, page.items, bindings.total, page.total, changes, _drafts(work, path))


def _drafts(work: Workplace, path: str) -> tuple[str, ...]:
    with projects.reading(work) as (transaction, project):
        numbers = matching_paths(transaction, project.id, path).get(Kind.DECISION, ())
        rows = transaction.all(
            f"SELECT id, key FROM decisions WHERE id IN {set_of(numbers)} AND status = :draft ORDER BY id",
            {"draft": STATUSES.index("draft") + 1},
        ) if numbers else []  # fmt: skip
    return tuple(f"{Kind.DECISION.ref(number)} {key}" for number, key in rows)
