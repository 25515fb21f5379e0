"""Queries for packages."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.text import check_name, fold
from satchel.base.vocabulary import PRIORITIES
from satchel.find.kind import Kind
from satchel.keep import listing as filters
from satchel.keep.listing import Filter, Listing, Order, RunFilters, View
from satchel.keep.packages.records import COLUMNS, SOURCE, Package, package_of, type_number
from satchel.keep.packages.updates import DOCUMENTS, consumers_of
from satchel.store.transaction import Row


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


def _make(view: View, rows: Sequence[Row]) -> tuple[Package, ...]:
    consumers = consumers_of(view.transaction, [row[0] for row in rows])
    return tuple(package_of(row, consumers.get(row[0], ()), score=view.scores.get(row[0])) for row in rows)


def _for_role(view: View, role: str) -> None:
    consumers = "SELECT 1 FROM package_consumers k WHERE k.package_id = c.id"
    view.where(f"(EXISTS ({consumers} AND k.role = {{}}) OR NOT EXISTS ({consumers}))", role)


def _count_by_priority(view: View, where: str) -> None:
    rows = view.transaction.all(
        f"SELECT c.priority, count(*) FROM context_packages c WHERE {where} GROUP BY c.priority ORDER BY 1 DESC",
        view.values,
    )
    view.fields["by_priority"] = tuple((PRIORITIES[number - 1], count) for number, count in rows)


LISTING = Listing(
    kind=Kind.PACKAGE,
    table="context_packages c",
    columns=COLUMNS,
    source=SOURCE,
    make=_make,
    texts=DOCUMENTS.texts,
    filters=(
        filters.types("c.type", Kind.PACKAGE, "package", "research", type_number),
        filters.least_priority("c.priority"),
        filters.compared("task_id", "(c.task_id = {} OR c.task_id IS NULL)"),
        Filter("role", lambda value, _: fold(check_name(value, "role")), _for_role),
        filters.author("c.producer_id"),
        filters.liveness("c.superseded_by"),
    ),
    usual=Order("priority", "c.priority DESC, c.created_at DESC, c.id DESC"),
    changed=("created_at", "updated_at"),
    in_run=True,
    finish=_count_by_priority,
)
