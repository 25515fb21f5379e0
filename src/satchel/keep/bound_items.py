"""List of the rules and decisions that bind a file, for its readers."""

from __future__ import annotations

from satchel.base.paging import Page, check_page
from satchel.base.records import dataclass
from satchel.base.vocabulary import PRIORITIES
from satchel.find.kind import Kind
from satchel.keep import binding, projects
from satchel.keep.paths import check_place
from satchel.keep.projects import Workplace


@dataclass(frozen=True, slots=True)
class BoundItem:
    """A rule or decision that binds a file, for its reader.

    Attributes:
        kind: rule or decision.
        key: of a decision, else None.
        text: the rule, or the decision's value.
        reason: why it was decided, or None.
        priority: of a rule, else None.
        by: the glob, or the name in its text, by which it binds.
        unconfirmed: whether it is a person's rule that no person has confirmed.
    """

    ref: str
    kind: str
    key: str | None
    text: str
    reason: str | None
    priority: str | None
    by: str
    unconfirmed: bool = False


@dataclass(frozen=True, slots=True)
class FileBinding:
    """A file with the items that bind it.

    Attributes:
        file: its canonical path; a folder has a slash at its end.
        bindings: a page of the rules and decisions that bind it, the most urgent first.
    """

    file: str
    bindings: Page[BoundItem]


def binding_of(workplace: Workplace, file: object, limit: int, offset: int) -> FileBinding:
    """Return the rules and decisions that bind a file or folder, the most urgent first."""
    check_page(limit, offset)
    path = check_place(file, workplace.files_root)[0].removesuffix("**")
    with projects.reading(workplace) as (transaction, project):
        bound = binding.find(transaction, workplace, project.id, [path]).items
    items = tuple(
        BoundItem(
            one.ref,
            "decision" if one.kind is Kind.DECISION else "rule",
            one.key or None,
            one.text,
            one.reason,
            PRIORITIES[one.priority - 1] if one.priority else None,
            one.by,
            one.is_unconfirmed,
        )
        for one in bound[offset : offset + limit]
    )
    return FileBinding(path, Page(items, len(bound), offset, limit))
