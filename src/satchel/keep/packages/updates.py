"""Writes of packages and of their search documents."""

from __future__ import annotations

import os
from collections.abc import Sequence

from satchel.base.errors import Conflict, InvalidInput, NotFound
from satchel.base.grouping import grouped
from satchel.base.records import dataclass
from satchel.base.text import fold
from satchel.base.vocabulary import priority_number
from satchel.find import documents
from satchel.find.documents import Document
from satchel.find.kind import LIVE, Kind
from satchel.keep import names, replacing
from satchel.keep.packages import contents
from satchel.keep.packages.records import (
    COLUMNS,
    MAX_SUMMARY_CHARS,
    SOURCE,
    Package,
    package_of,
    priority_after,
    type_number,
)
from satchel.keep.projects import Workplace
from satchel.keep.runs import RunChoice
from satchel.keep.texts import check_content, check_short
from satchel.store.transaction import Transaction, set_of


@dataclass(frozen=True, slots=True)
class Prepared:
    """A package checked without the store, ready to be stored."""

    summary: str
    path: str | None
    content: str | None
    type: int
    priority: int
    task_id: str | None
    consumers: tuple[str, ...]
    notes: tuple[str, ...]


def prepare(
    summary: object,
    path: object,
    content: object,
    type: object,  # noqa: A002 -- the field's own name
    priority: object,
    task_id: object,
    consumers: object,
    workplace: Workplace,
) -> Prepared:
    """Check a package and make its texts storable."""
    if (path is None) == (content is None):
        raise InvalidInput("a package is either a file or a text", "Give path or content, one of them")
    most = workplace.max_content_bytes
    short = check_short(summary, "summary", MAX_SUMMARY_CHARS, most, one_line=True)
    notes = list(short.notes)
    number, urgency = type_number(type), priority_number(priority)
    task = None if task_id is None else names.check_identifier(task_id, "task_id")
    roles = tuple(sorted({fold(role) for role in names.check_names(consumers, "consumers")}))
    text = file = None
    if content is not None:
        stored = check_content(content, "content", most)
        text = stored.text
        notes += stored.notes
    else:
        file = names.check_file(path, workplace.files_root, "path")
        notes += contents.check_saved(file, workplace.files_root, most)
    return Prepared(short.text, file, text, number, urgency, task, roles, tuple(dict.fromkeys(notes)))


def check_superseded(transaction: Transaction, project_id: int, run: RunChoice, number: int) -> None:
    """Refuse to replace a package that is missing, of another run, or already replaced."""
    ref = Kind.PACKAGE.ref(number)
    old = load(transaction, project_id, number)
    if old is None:
        raise not_there(number)
    if old.run_id != run.run_id:
        raise Conflict(
            f"{ref} belongs to run {old.run_id}, and this is {run.run_id}",
            f"A package is superseded in its own run: name it with run_id={old.run_id}, or leave supersedes out",
        )
    if old.superseded_by is not None:
        raise superseded_already(old)


def superseded_already(package: Package) -> Conflict:
    """Return the error for a change to a replaced package."""
    heir = Kind.PACKAGE.ref(package.superseded_by or 0)
    return Conflict(f"{package.ref} was superseded by {heir} already", f"Name {heir} instead")


def not_there(number: int) -> NotFound:
    """Return the error for a missing package."""
    return NotFound(
        f"there is no package {Kind.PACKAGE.ref(number)} in this project", "Listing packages shows their ids"
    )


def insert(
    transaction: Transaction,
    project_id: int,
    run: int,
    agent: int | None,
    new: Prepared,
    now: int,
) -> int:
    """Insert a package with its consumers and document."""
    seq = transaction.next_seq(project_id, documents=1)
    number = transaction.add(
        "context_packages",
        {
            "uid": os.urandom(16),
            "seq": seq,
            "project_id": project_id,
            "run_id": run,
            "task_id": new.task_id,
            "type": new.type,
            "priority": new.priority,
            "summary": new.summary,
            "content_path": new.path,
            "content": new.content,
            "producer_id": agent,
            "created_at": now,
            "updated_at": now,
        },
    )
    transaction.many(
        "INSERT INTO package_consumers (package_id, role) VALUES (:package, :role)",
        [{"package": number, "role": role} for role in new.consumers],
    )
    documents.add(
        transaction,
        Document(
            Kind.PACKAGE,
            number,
            seq,
            project_id,
            run,
            _searchable(new.summary, new.content),
            now,
            type=new.type,
            agent_id=agent,
            task_id=new.task_id,
            file=new.path,
        ),
    )
    return number


def set_priority(transaction: Transaction, project_id: int, number: int, priority: int, now: int) -> None:
    """Set a live package's priority."""
    seq = transaction.next_seq(project_id)
    transaction.run(
        """
        UPDATE context_packages SET priority = :priority, seq = :seq, updated_at = :now
        WHERE project_id = :project AND id = :id
        """,
        {"priority": priority, "seq": seq, "now": now, "project": project_id, "id": number},
    )
    documents.set_status(transaction, Kind.PACKAGE, [(number, seq)], LIVE)


def react_for_task(
    transaction: Transaction, project_id: int, run: int, task_id: str, types: Sequence[str], event: str, now: int
) -> list[int]:
    """Change the priority of a task's live packages by rule, after an event of the task; return their numbers."""
    listed = ", ".join(str(type_number(name)) for name in types)
    rows = transaction.all(
        f"""
        SELECT id, priority FROM context_packages
        WHERE project_id = :project AND run_id = :run AND task_id = :task AND superseded_by IS NULL
            AND type IN ({listed})
        ORDER BY id
        """,
        {"project": project_id, "run": run, "task": task_id},
    )
    changed = [
        (number, priority_after(event, before)) for number, before in rows if priority_after(event, before) != before
    ]
    for number, priority in changed:
        set_priority(transaction, project_id, number, priority, now)
    return [number for number, _ in changed]


def load(transaction: Transaction, project_id: int, number: int, *, notes: tuple[str, ...] = ()) -> Package | None:
    """Return a package, or None."""
    row = transaction.one(
        f"SELECT {COLUMNS} FROM {SOURCE} WHERE c.project_id = :project AND c.id = :id",
        {"project": project_id, "id": number},
    )
    if row is None:
        return None
    return package_of(row, consumers_of(transaction, [number]).get(number, ()), notes=notes)


def load_with_content(transaction: Transaction, project_id: int, number: int) -> tuple[Package, str | None] | None:
    """Return a package with its stored text, or None."""
    package = load(transaction, project_id, number)
    if package is None:
        return None
    row = transaction.one(
        "SELECT content FROM context_packages WHERE project_id = :project AND id = :id",
        {"project": project_id, "id": number},
    )
    return package, row[0] if row else None


def consumers_of(transaction: Transaction, numbers: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Return the sorted consumers of packages by number."""
    rows = transaction.all(
        f"""
        SELECT package_id, role FROM package_consumers WHERE package_id IN {set_of(numbers)}
        ORDER BY role
        """
    )
    by_package: dict[int, list[str]] = grouped(rows)
    return {number: tuple(roles) for number, roles in by_package.items()}


def delete(transaction: Transaction, project_id: int, numbers: Sequence[int]) -> None:
    """Delete packages with their documents; those they replaced pass to their replacement, or live again."""
    for number in numbers:
        replacing.hand_on(transaction, project_id, Kind.PACKAGE, number)
        values = {"project": project_id, "id": number}
        removed = f"DELETE FROM {Kind.PACKAGE.table} WHERE project_id = :project AND id = :id RETURNING id"
        documents.remove(transaction, Kind.PACKAGE, [package for (package,) in transaction.all(removed, values)])


def _searchable(summary: str, content: str | None) -> str:
    # a file may change at any time, so its text is not indexed
    return summary if content is None else f"{summary}\n{content}"


DOCUMENTS = documents.Source(
    Kind.PACKAGE,
    "summary, content",
    _searchable,
    run_id="run_id",
    type="type",
    agent_id="producer_id",
    task_id="task_id",
    file="content_path",
    status=documents.STATUS_BY_HEIR,
)
