"""Queries for constraints."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.find.kind import Kind
from satchel.keep import filters
from satchel.keep.common_filters import ListFilters
from satchel.keep.constraints.records import COLUMNS, SOURCE, STATUSES, Constraint, constraint_of
from satchel.keep.constraints.updates import DOCUMENTS, tags_of
from satchel.keep.listing import Filter, Listing, Order, View
from satchel.store.transaction import Row

SHOWN = (*STATUSES, "all")
"""The statuses to filter by."""


class ConstraintFilters(ListFilters, total=False):
    """Filters for constraints.

    Keys:
        category: only this one.
        priority: only this one or a higher one.
        layer: only this one.
        tags: with any of these tags, or with all of them, according to ``match``.
        match: any or all.
        status: active, inactive or all.
        author: only constraints of this agent.
    """

    category: str | None
    priority: str | None
    layer: str | None
    tags: Sequence[str] | None
    match: str
    status: str
    author: str | None


def _make(view: View, rows: Sequence[Row]) -> tuple[Constraint, ...]:
    tags = tags_of(view.transaction, [row[0] for row in rows])
    return tuple(constraint_of(row, tags.get(row[0], ()), score=view.scores.get(row[0])) for row in rows)


def _of_status(view: View, status: str) -> None:
    if status != "all":
        view.where(f"c.active = {int(status == 'active')}")


LISTING = Listing(
    kind=Kind.CONSTRAINT,
    table="constraints c",
    columns=COLUMNS,
    source=SOURCE,
    make=_make,
    texts=DOCUMENTS.texts,
    filters=(
        Filter("status", filters.choice_check("status", SHOWN), _of_status, "active"),
        filters.least_priority("c.priority"),
        filters.layer("c.layer_id"),
        filters.by_name("category", "categories", "c.category_id"),
        filters.author("c.created_by"),
        filters.MATCH,
        filters.several("tags", "c.id", "constraint_tags constraint_id tag_id", may_need_all=True),
    ),
    usual=Order("priority", "c.priority DESC, c.created_at DESC, c.id DESC"),
    changed=("created_at", "deactivated_at"),
)
