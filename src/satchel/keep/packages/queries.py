"""Reading packages: every filter, one snapshot for the counts and the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from satchel.base.clock import check_since
from satchel.base.errors import InvalidInput, unknown_name
from satchel.base.paging import Reading, check_page, check_reading
from satchel.base.text import check_name, fold
from satchel.base.vocabulary import PRIORITIES, priority_number
from satchel.find import search
from satchel.find.kind import Kind
from satchel.find.query import parse
from satchel.find.search import Scope
from satchel.keep import names
from satchel.keep.packages.records import COLUMNS, SOURCE, STATUSES, Package, package_of, type_number
from satchel.keep.packages.updates import consumers_of
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction

SHOWN = (*STATUSES, "all")
"""Which packages to read."""

_ORDERS = {
    "newest": "c.created_at DESC, c.id DESC",
    "oldest": "c.created_at, c.id",
    "priority": "c.priority DESC, c.created_at DESC, c.id DESC",
    "seq": "c.seq",
}


@dataclass(frozen=True, slots=True)
class Filter(Reading):
    """What to read, checked. None or an empty tuple means that a filter was not given."""

    types: tuple[int, ...]
    priority: int | None
    task_id: str | None
    role: str | None
    agent: str | None
    status: str

    usual_order: ClassVar[str] = "priority"


@dataclass(frozen=True, slots=True)
class Result:
    """A page, how many of the whole list have each priority number, and notes for the reader."""

    packages: tuple[Package, ...]
    counts: dict[int, int]
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """How many there are in all."""
        return sum(self.counts.values())

    @property
    def by_priority(self) -> tuple[tuple[str, int], ...]:
        """Pairs of priority and how many have it, the most urgent first."""
        return tuple((PRIORITIES[number - 1], self.counts[number]) for number in sorted(self.counts, reverse=True))


def check_filter(
    workplace: Workplace,
    *,
    search: str | None,
    types: Sequence[str] | None,
    priority: str | None,
    task_id: str | None,
    role: str | None,
    agent: str | None,
    status: str,
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
    if types is not None and (isinstance(types, str) or not types):
        raise InvalidInput(
            "types is no list of package types", 'Give at least one, as in ["research"], or leave it out'
        )
    if status not in SHOWN:
        raise unknown_name("status", status, SHOWN)
    return Filter(
        search=search,
        types=tuple(dict.fromkeys(map(type_number, types or ()))),
        priority=None if priority is None else priority_number(priority),
        task_id=None if task_id is None else check_name(task_id, "task_id"),
        role=None if role is None else fold(check_name(role, "role")),
        agent=None if agent is None else check_name(agent, "agent"),
        status=status,
        since=check_since(since, workplace.clock()),
        after_seq=after_seq,
        order=order,
        limit=limit,
        offset=offset,
    )


def read(transaction: Transaction, project_id: int, run: int, chosen: Filter) -> Result:
    """Return the page, counted over the whole list."""
    agent = names.find_agent(transaction, project_id, chosen.agent)
    if agent == -1:
        return Result((), {}, (f"there is no agent {chosen.agent!r}",))
    where, values = _conditions(project_id, run, agent, chosen)
    if chosen.search is not None:
        return _search(transaction, project_id, run, chosen, chosen.search, where, values)
    counts: dict[int, int] = dict(
        transaction.all(
            f"SELECT c.priority, count(*) FROM context_packages c WHERE {where} GROUP BY c.priority", values
        )
    )
    if not chosen.limit:
        return Result((), counts)
    rows = transaction.all(
        f"SELECT {COLUMNS} FROM {SOURCE} WHERE {where} ORDER BY {_ORDERS[chosen.order_name]} "
        "LIMIT :limit OFFSET :offset",
        {**values, "limit": chosen.limit, "offset": chosen.offset},
    )
    consumers = consumers_of(transaction, [row[0] for row in rows])
    return Result(tuple(package_of(row, consumers.get(row[0], ())) for row in rows), counts)


def _search(
    transaction: Transaction,
    project_id: int,
    run: int,
    chosen: Filter,
    text: str,
    where: str,
    values: dict[str, object],
) -> Result:
    query = parse(text)
    if not query.terms:
        return Result((), {}, (f"{text.strip()[:80]!r} holds no word to search for",))
    ranking = search.rank(transaction, query, Scope(project_id, run, kinds=(Kind.PACKAGE,), status="all"))
    notes = ranking.notes
    # what matches by its surroundings alone has no place among what is asked for by time
    hits = {hit.document: hit for hit in ranking.hits if chosen.order is None or not hit.by_surroundings}
    by_time = "" if chosen.order is None else f" ORDER BY {_ORDERS[chosen.order_name]}"
    matched = transaction.all(
        f"SELECT d.id, c.id, c.priority, {where} FROM documents d JOIN context_packages c ON c.id = d.item_id "
        f"WHERE d.id IN ({', '.join(map(str, hits))}){by_time}",
        values,
    )
    if len(matched) < len(hits):
        raise search.disagreement()
    found = {document: (number, priority) for document, number, priority, passes in matched if passes}
    counts: dict[int, int] = {}
    for _, priority in found.values():
        counts[priority] = counts.get(priority, 0) + 1
    ordered = [document for document in hits if document in found] if chosen.order is None else list(found)
    page = ordered[chosen.offset : chosen.offset + chosen.limit]
    numbers = [found[document][0] for document in page]
    listed = ", ".join(map(str, numbers))
    rows = {row[0]: row for row in transaction.all(f"SELECT {COLUMNS} FROM {SOURCE} WHERE c.id IN ({listed})")}
    consumers = consumers_of(transaction, numbers)
    packages = tuple(
        package_of(rows[number], consumers.get(number, ()), score=round(hits[document].score, 4))
        for document, number in zip(page, numbers, strict=True)
        if number in rows
    )
    return Result(packages, counts, notes)


def _conditions(project_id: int, run: int, agent: int | None, chosen: Filter) -> tuple[str, dict[str, object]]:
    """Return the WHERE clause without the search, and its values."""
    parts = ["c.project_id = :project AND c.run_id = :run"]
    values: dict[str, object] = {"project": project_id, "run": run}
    if chosen.types:
        # numbers from our own table, so they may stand in the text
        parts.append(f"c.type IN ({', '.join(map(str, chosen.types))})")
    if chosen.priority is not None:
        parts.append("c.priority >= :priority")
        values["priority"] = chosen.priority
    if chosen.task_id is not None:
        parts.append("(c.task_id = :task OR c.task_id IS NULL)")
        values["task"] = chosen.task_id
    if chosen.role is not None:
        consumers = "SELECT 1 FROM package_consumers k WHERE k.package_id = c.id"
        parts.append(f"(EXISTS ({consumers} AND k.role = :role) OR NOT EXISTS ({consumers}))")
        values["role"] = chosen.role
    if agent is not None:
        parts.append("c.producer_id = :agent")
        values["agent"] = agent
    if chosen.status != "all":
        parts.append(f"c.superseded_by IS {'NULL' if chosen.status == 'live' else 'NOT NULL'}")
    if chosen.since is not None:
        parts.append("(c.created_at >= :since OR c.updated_at >= :since)")
        values["since"] = chosen.since
    if chosen.after_seq is not None:
        parts.append("c.seq > :after")
        values["after"] = chosen.after_seq
    return " AND ".join(parts), values
