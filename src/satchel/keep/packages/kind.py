"""Declaration of packages, their list, and their rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from satchel.base.errors import Conflict, InvalidInput, NotFound, Refused
from satchel.base.text import check_name, fold
from satchel.base.vocabulary import PRIORITIES
from satchel.find import documents
from satchel.find.kind import LIVE, Kind
from satchel.keep import fields, kept, names
from satchel.keep import listing as filters
from satchel.keep.fields import Checking, Codec, Field
from satchel.keep.kind import ItemKind, Part
from satchel.keep.listing import Filter, Order, RunFilters, View
from satchel.keep.packages import contents
from satchel.keep.packages.records import (
    MAX_SUMMARY_CHARS,
    STATUSES,
    TYPES,
    Consumption,
    Package,
    priority_after,
    type_number,
)
from satchel.keep.runs import RunChoice
from satchel.store.transaction import Transaction, grouped, set_of, update_row

_MOST_CONSUMED = 20


def _package_path(value: Any, context: Checking, name: str) -> str:
    root = context.workplace.files_root
    path = names.check_file(value, root, name)
    context.notes += contents.check_saved(path, root, context.workplace.max_content_bytes)
    return path


def check_form(path: object, content: object) -> None:
    if (path is None) == (content is None):
        raise InvalidInput("a package is either a file or a text", "Give path or content, one of them")


PACKAGE = ItemKind(
    "a file or text handed to other agents",
    (
        fields.CREATED,
        Field("type", fields.one_of(TYPES, "package type"), required=True),
        Field("priority", fields.one_of(PRIORITIES), required=True),
        Field("summary", fields.short(MAX_SUMMARY_CHARS, one_line=True), required=True),
        Field("path", Codec("a path inside the project", None, _package_path, check=_package_path), "content_path"),
        Field("content", fields.TEXT, attribute="content_bytes", selected="octet_length(i.content)"),
        fields.name_field("run", fields.RUN, "runs", "run_id", "run_id", required=True, attribute="run_id"),
        fields.TASK,
        fields.name_field("agent", fields.AGENT, "agents", "producer_id", merge=fields.FILL),
        fields.link_field("superseded_by", "context_packages", merge=fields.SOFT, is_own=True),
        Field("updated_at", fields.TIME, required=True, merge=fields.SOFT),
    ),
    (
        Part(
            "consumers",
            "package_consumers",
            "package_id",
            (Field("role", fields.FOLDED, required=True),),
            is_own=True,
            order="i.role",
        ),
    ),
    documents=Kind.PACKAGE,
    derive=lambda _, row: check_form(row["content_path"], row["content"]),
    rank=("superseded_by", "updated_at"),
    record=Package,
    types=TYPES,
    statuses=STATUSES,
    text=("summary", "content"),  # a file may change at any time, so its text is not indexed
    document={
        "run_id": "run_id",
        "type": "type",
        "agent_id": "producer_id",
        "task_id": "task_id",
        "file": "content_path",
    },
)


class PackageFilters(RunFilters, total=False):
    """Filters for packages.

    Keys:
        types: only these types; at least one.
        priority: only this one or a higher one.
        task_id: only packages of this task or of the whole run.
        role: only packages for this role or for any role.
        author: only packages of this agent.
        status: live, superseded or all.
    """

    types: Sequence[str] | None
    priority: str | None
    task_id: str | None
    role: str | None
    author: str | None
    status: str


def _for_role(view: View, role: str) -> None:
    consumers = "SELECT 1 FROM package_consumers k WHERE k.package_id = i.id"
    view.where(f"(EXISTS ({consumers} AND k.role = {{}}) OR NOT EXISTS ({consumers}))", role)


def _count_by_priority(view: View, where: str) -> None:
    rows = view.transaction.all(
        f"SELECT i.priority, count(*) FROM context_packages i WHERE {where} GROUP BY i.priority ORDER BY 1 DESC",
        view.values,
    )
    view.fields["by_priority"] = tuple((PRIORITIES[number - 1], count) for number, count in rows)


LISTING = kept.listing(
    PACKAGE,
    (
        filters.types("i.type", Kind.PACKAGE, "package", "research", type_number),
        filters.least_priority("i.priority"),
        filters.compared("task_id", "(i.task_id = {} OR i.task_id IS NULL)"),
        Filter("role", lambda value, _: fold(check_name(value, "role")), _for_role),
        filters.author("i.producer_id"),
        filters.liveness("i.superseded_by"),
    ),
    Order("priority", "i.priority DESC, i.created_at DESC, i.id DESC"),
    in_run=True,
    finish=_count_by_priority,
)


def check_superseded(
    transaction: Transaction, project_id: int, run: RunChoice, number: int, passes: Callable[[str], bool]
) -> None:
    ref = Kind.PACKAGE.ref(number)
    old = kept.load(PACKAGE, transaction, project_id, number)
    if old is None:
        raise not_there(number)
    if old.run_id != run.run_id:
        raise Conflict(
            f"{ref} belongs to run {old.run_id}, and this is {run.run_id}",
            f"A package is superseded in its own run: name it with run_id={old.run_id}, or leave supersedes out",
        )
    if old.superseded_by is not None:
        raise superseded_already(old)
    check_author(old, passes)


def check_author(package: Package, passes: Callable[[str], bool]) -> None:
    if names.is_persons(package.agent) and not passes(package.ref):
        raise Refused(
            f"{package.ref} was written by a person: only a person can change it", "Save a package of your own"
        )


def superseded_already(package: Package) -> Conflict:
    heir = Kind.PACKAGE.ref(package.superseded_by or 0)
    return Conflict(f"{package.ref} was superseded by {heir} already", f"Name {heir} instead")


def not_there(number: int) -> NotFound:
    return NotFound(
        f"there is no package {Kind.PACKAGE.ref(number)} in this project", "Listing packages shows their ids"
    )


def set_priority(transaction: Transaction, project_id: int, number: int, priority: int, now: int) -> None:
    seq = transaction.next_seq(project_id)
    update_row(transaction, PACKAGE.table, number, priority=priority, seq=seq, updated_at=now)
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


def load_with_content(transaction: Transaction, project_id: int, number: int) -> tuple[Package, str | None] | None:
    package = kept.load(PACKAGE, transaction, project_id, number)
    row = transaction.one("SELECT content FROM context_packages WHERE id = :id", {"id": number})
    return None if package is None or row is None else (package, row[0])


def consumptions(
    transaction: Transaction, project_id: int, numbers: Sequence[int]
) -> dict[int, tuple[Consumption, ...]]:
    rows = transaction.all(
        f"""
        SELECT d.item_id, a.name, w.role, w.task_id, w.iteration, d.created_at
        FROM windows w JOIN deliveries d ON d.window_id = w.id LEFT JOIN agents a ON a.id = w.agent_id
        WHERE w.project_id = :project AND d.kind = {Kind.PACKAGE.number} AND d.item_id IN {set_of(numbers)}
        ORDER BY d.created_at DESC, w.id DESC
        """,
        {"project": project_id},
    )
    by_package = grouped(
        (number, Consumption(agent, role or None, task or None, iteration, at))
        for number, agent, role, task, iteration, at in rows
    )
    return {number: tuple(every[:_MOST_CONSUMED]) for number, every in by_package.items()}
