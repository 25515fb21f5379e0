"""Reading entries: every filter, one snapshot for the count and the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from satchel.base.clock import check_since
from satchel.base.errors import InvalidInput, unknown_name
from satchel.base.paging import Reading, check_page, check_reading
from satchel.base.text import check_name, fold
from satchel.base.vocabulary import LIVENESS
from satchel.keep.entries.records import COLUMNS, Entry, entry_of, type_number
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Filter(Reading):
    """What to read, checked. None means that a filter was not given."""

    types: tuple[int, ...]
    agent: str | None
    task_id: str | None
    loop_id: str | None
    file: str | None
    status: str


def check_filter(
    workplace: Workplace,
    *,
    types: Sequence[str] | None,
    agent: str | None,
    task_id: str | None,
    loop_id: str | None,
    file: str | None,
    since: str | int | None,
    after_seq: int | None,
    status: str,
    search: str | None,
    order: str | None,
    limit: int,
    offset: int,
) -> Filter:
    """Check every filter at the edge.

    Raises:
        InvalidInput: a filter is empty, unknown, out of range, or two contradict each other.
    """
    if types is not None and (isinstance(types, str) or not types):
        raise InvalidInput("types is no list of entry types", 'Give at least one, as in ["discovery"], or leave it out')
    if status not in LIVENESS:
        raise unknown_name("status", status, LIVENESS)
    check_reading(order=order, search=search, after_seq=after_seq)
    check_page(limit, offset)
    if file is not None:
        from satchel.base.project_paths import canonical_path

        file = canonical_path(file, workplace.files_root)
    return Filter(
        types=tuple(dict.fromkeys(map(type_number, types or ()))),
        agent=None if agent is None else check_name(agent, "agent"),
        task_id=None if task_id is None else check_name(task_id, "task_id"),
        loop_id=None if loop_id is None else check_name(loop_id, "loop_id"),
        file=file,
        since=check_since(since, workplace.clock()),
        after_seq=after_seq,
        status=status,
        search=search,
        order=order,
        limit=limit,
        offset=offset,
    )


def read(
    transaction: Transaction, project_id: int, run: int, run_id: str, chosen: Filter
) -> tuple[tuple[Entry, ...], int, tuple[str, ...]]:
    """Return the page, the total and notes for the reader."""
    if chosen.search is not None:
        # what only a search needs is most of what there is to load
        from satchel.keep.entries.searching import search_entries

        return search_entries(transaction, project_id, run, run_id, chosen, chosen.search)
    where, values = _conditions(project_id, run, chosen)
    total = _count(transaction, where, values)
    if not chosen.limit:
        return (), total, ()
    rows = transaction.all(
        f"SELECT {COLUMNS} FROM context c LEFT JOIN agents a ON a.id = c.agent_id "
        f"WHERE {where} ORDER BY {_order(chosen)} LIMIT :limit OFFSET :offset",
        {**values, "limit": chosen.limit, "offset": chosen.offset},
    )
    return tuple(entry_of(row, run_id) for row in rows), total, ()


def _conditions(project_id: int, run: int, chosen: Filter) -> tuple[str, dict[str, object]]:
    """Return the WHERE clause without the search, and its values."""
    parts = ["c.project_id = :project AND c.run_id = :run"]
    values: dict[str, object] = {"project": project_id, "run": run}
    if chosen.types:
        # numbers from our own table, so they may stand in the text
        parts.append(f"c.type IN ({', '.join(map(str, chosen.types))})")
    for column, value in (("task_id", chosen.task_id), ("loop_id", chosen.loop_id), ("file", chosen.file)):
        if value is not None:
            parts.append(f"c.{column} = :{column}")
            values[column] = value
    if chosen.agent is not None:
        parts.append("c.agent_id = (SELECT id FROM agents WHERE project_id = :project AND folded = :agent)")
        values["agent"] = fold(chosen.agent)
    if chosen.since is not None:
        parts.append("c.created_at >= :since")
        values["since"] = chosen.since
    if chosen.after_seq is not None:
        parts.append("c.seq > :after")
        values["after"] = chosen.after_seq
    if chosen.status != "all":
        parts.append(f"c.superseded_by IS {'NULL' if chosen.status == 'live' else 'NOT NULL'}")
    return " AND ".join(parts), values


def _order(chosen: Filter) -> str:
    if chosen.after_seq is not None:
        return "c.seq"
    direction = "ASC" if chosen.order == "asc" else "DESC"
    return f"c.created_at {direction}, c.id {direction}"


def _count(transaction: Transaction, where: str, values: dict[str, object]) -> int:
    row = transaction.one(f"SELECT count(*) FROM context c WHERE {where}", values)
    assert row is not None
    return int(row[0])
