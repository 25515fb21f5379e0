"""Reading constraints: every filter, one snapshot for the count and the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from satchel.base.clock import check_since
from satchel.base.errors import InvalidInput, nearest, unknown_name
from satchel.base.paging import MATCHES, Reading, check_page, check_reading
from satchel.base.text import check_name
from satchel.base.vocabulary import priority_number
from satchel.find import search
from satchel.find.kind import Kind
from satchel.find.query import parse
from satchel.find.search import Scope
from satchel.keep import names
from satchel.keep.constraints.records import COLUMNS, SOURCE, STATUSES, Constraint, constraint_of
from satchel.keep.constraints.updates import tags_of
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction

SHOWN = (*STATUSES, "all")
"""Which constraints to read."""

"""How many of the tags a constraint must have."""

_ORDERS = {
    "newest": "c.created_at DESC, c.id DESC",
    "oldest": "c.created_at, c.id",
    "priority": "c.priority DESC, c.created_at DESC, c.id DESC",
    "seq": "c.seq",
}


@dataclass(frozen=True, slots=True)
class Filter(Reading):
    """What to read, checked. None means that a filter was not given."""

    category: str | None
    priority: int | None
    layer: str | None
    tags: tuple[str, ...] | None
    match: str
    status: str
    agent: str | None

    usual_order: ClassVar[str] = "priority"


def check_filter(
    workplace: Workplace,
    *,
    search: str | None,
    category: str | None,
    priority: str | None,
    layer: str | None,
    tags: Sequence[str] | None,
    match: str,
    status: str,
    agent: str | None,
    since: str | int | None,
    after_seq: int | None,
    order: str | None,
    limit: int,
    offset: int,
) -> Filter:
    """Check every filter at the edge.

    Raises:
        InvalidInput: a filter is empty, unknown, out of range, or two contradict each other.
    """
    check_reading(order=order, search=search, after_seq=after_seq)
    check_page(limit, offset)
    if match not in MATCHES:
        raise unknown_name("match", match, MATCHES)
    if status not in SHOWN:
        raise unknown_name("status", status, SHOWN)
    chosen = None if tags is None else names.check_names(tags, "tags")
    if chosen is not None and not chosen:
        raise InvalidInput("tags is empty", 'Give at least one, as in ["security"], or leave it out')
    return Filter(
        search=search,
        category=None if category is None else check_name(category, "category"),
        priority=None if priority is None else priority_number(priority),
        layer=None if layer is None else check_name(layer, "layer"),
        tags=chosen,
        match=match,
        status=status,
        agent=None if agent is None else check_name(agent, "agent"),
        since=check_since(since, workplace.clock()),
        after_seq=after_seq,
        order=order,
        limit=limit,
        offset=offset,
    )


def read(
    transaction: Transaction, project_id: int, chosen: Filter
) -> tuple[tuple[Constraint, ...], int, tuple[str, ...]]:
    """Return the page, the total and notes for the reader.

    Raises:
        InvalidInput: there is no such layer.
    """
    where, values, notes = _conditions(transaction, project_id, chosen)
    if where is None:
        return (), 0, notes
    if chosen.search is not None:
        constraints, total, more = _search(transaction, project_id, chosen, chosen.search, where, values)
        return constraints, total, (*notes, *more)
    row = transaction.one(f"SELECT count(*) FROM constraints c WHERE {where}", values)
    assert row is not None
    if not chosen.limit:
        return (), int(row[0]), notes
    rows = transaction.all(
        f"SELECT {COLUMNS} FROM {SOURCE} WHERE {where} ORDER BY {_ORDERS[chosen.order_name]} "
        "LIMIT :limit OFFSET :offset",
        {**values, "limit": chosen.limit, "offset": chosen.offset},
    )
    tags = tags_of(transaction, [found[0] for found in rows])
    return tuple(constraint_of(found, tags.get(found[0], ())) for found in rows), int(row[0]), notes


def _search(
    transaction: Transaction, project_id: int, chosen: Filter, text: str, where: str, values: dict[str, object]
) -> tuple[tuple[Constraint, ...], int, tuple[str, ...]]:
    query = parse(text)
    if not query.terms:
        return (), 0, (f"{text.strip()[:80]!r} holds no word to search for",)
    ranking = search.rank(transaction, query, Scope(project_id, kinds=(Kind.CONSTRAINT,), status="all"))
    notes = ranking.notes
    hits = {hit.document: hit for hit in ranking.hits}
    if not hits:
        return (), 0, notes
    by_time = "" if chosen.order is None else f" ORDER BY {_ORDERS[chosen.order_name]}"
    matched = transaction.all(
        f"SELECT d.id, c.id, {where} FROM documents d JOIN constraints c ON c.id = d.item_id "
        f"WHERE d.id IN ({', '.join(map(str, hits))}){by_time}",
        values,
    )
    if len(matched) < len(hits):
        raise search.disagreement()
    found = {document: number for document, number, passes in matched if passes}
    ordered = [document for document in hits if document in found] if chosen.order is None else list(found)
    page = ordered[chosen.offset : chosen.offset + chosen.limit]
    numbers = [found[document] for document in page]
    rows = {
        row[0]: row
        for row in transaction.all(f"SELECT {COLUMNS} FROM {SOURCE} WHERE c.id IN ({', '.join(map(str, numbers))})")
    }
    tags = tags_of(transaction, numbers)
    constraints = tuple(
        constraint_of(rows[number], tags.get(number, ()), score=round(hits[document].score, 4))
        for document, number in zip(page, numbers, strict=True)
        if number in rows
    )
    return constraints, len(ordered), notes


def _conditions(
    transaction: Transaction, project_id: int, chosen: Filter
) -> tuple[str | None, dict[str, object], tuple[str, ...]]:
    """Return the WHERE clause without the search, its values, and notes; None where nothing can match."""
    parts = ["c.project_id = :project"]
    values: dict[str, object] = {"project": project_id}
    notes: list[str] = []
    impossible = False
    if chosen.status != "all":
        parts.append("c.active = :active")
        values["active"] = int(chosen.status == "active")
    if chosen.priority is not None:
        parts.append("c.priority >= :priority")
        values["priority"] = chosen.priority
    layer = names.find_layer(transaction, project_id, chosen.layer)
    if layer is not None:
        parts.append("c.layer_id = :layer")
        values["layer"] = layer
    for table, column, what, name in (
        ("categories", "category_id", "category", chosen.category),
        ("agents", "created_by", "agent", chosen.agent),
    ):
        if name is not None:
            number = names.find_name(transaction, table, project_id, name)
            parts.append(f"c.{column} = :{column}")
            values[column] = number
            if number is None:
                impossible = True
                notes.append(_unknown(transaction, table, project_id, what, name))
    if chosen.tags is not None:
        known = {tag: names.find_name(transaction, "tags", project_id, tag) for tag in chosen.tags}
        missing = [tag for tag, number in known.items() if number is None]
        notes += [_unknown(transaction, "tags", project_id, "tag", tag) for tag in missing]
        numbers = {number for number in known.values() if number is not None}
        impossible = impossible or not numbers or (bool(missing) and chosen.match == "all")
        parts.append(
            f"""
            c.id IN (SELECT j.constraint_id FROM constraint_tags j WHERE j.tag_id IN ({", ".join(map(str, numbers))})
                GROUP BY j.constraint_id HAVING count(*) >= :tags)
            """
        )
        values["tags"] = len(numbers) if chosen.match == "all" else 1
    if chosen.since is not None:
        parts.append("(c.created_at >= :since OR c.deactivated_at >= :since)")
        values["since"] = chosen.since
    if chosen.after_seq is not None:
        parts.append("c.seq > :after")
        values["after"] = chosen.after_seq
    return None if impossible else " AND ".join(parts), values, tuple(notes)


def _unknown(transaction: Transaction, table: str, project_id: int, what: str, name: str) -> str:
    """Say that nothing has a name, and which known one comes close."""
    known = transaction.all(f"SELECT name FROM {table} WHERE project_id = :project", {"project": project_id})
    close = nearest(name, [row[0] for row in known])
    return f"there is no {what} {name!r} yet" + (f"; did you mean {close!r}?" if close else "")
