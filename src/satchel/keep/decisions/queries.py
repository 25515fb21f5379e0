"""Finding decisions: every filter, one snapshot for the count and the page.

A page by one tag, scope, layer or none at all is a range of an index, and its total stands in ``decision_counts``; what
combines filters is counted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from satchel.base.clock import check_since
from satchel.base.errors import InvalidInput, unknown_name
from satchel.base.paging import MATCHES, Reading, check_page, check_reading
from satchel.base.text import check_name
from satchel.find import search as searching
from satchel.find.kind import Kind
from satchel.find.query import parse
from satchel.find.search import Scope
from satchel.keep.decisions.records import Decision
from satchel.keep.decisions.state import COLUMNS, SOURCE, currents, status_number
from satchel.keep.decisions.updates import decision
from satchel.keep.names import check_names, find_agent, find_layer, find_name
from satchel.keep.projects import Workplace
from satchel.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Filter(Reading):
    """What to find, checked. None or an empty tuple means that a filter was not given."""

    status: int | None
    layer: str | None
    tags: tuple[str, ...]
    match: str
    scopes: tuple[str, ...]
    minimum: float | None
    maximum: float | None
    agent: str | None
    now: int


def check_filter(
    workplace: Workplace,
    *,
    search: str | None,
    status: str | None,
    layer: str | None,
    tags: Sequence[str] | None,
    match: str,
    scopes: Sequence[str] | None,
    minimum: float | None,
    maximum: float | None,
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
    if match not in MATCHES:
        raise unknown_name("match", match, MATCHES)
    minimum, maximum = _check_bound(minimum, "minimum"), _check_bound(maximum, "maximum")
    if minimum is not None and maximum is not None and minimum > maximum:
        raise InvalidInput(f"minimum {minimum:g} is above maximum {maximum:g}", "Exchange them")
    check_page(limit, offset)
    now = workplace.clock()
    return Filter(
        search=search,
        status=None if status is None else status_number(status),
        layer=None if layer is None else check_name(layer, "layer"),
        tags=_check_filled(tags, "tags"),
        match=match,
        scopes=_check_filled(scopes, "scopes"),
        minimum=minimum,
        maximum=maximum,
        agent=None if agent is None else check_name(agent, "agent"),
        since=check_since(since, now),
        after_seq=after_seq,
        order=order,
        limit=limit,
        offset=offset,
        now=now,
    )


def _check_bound(number: object, field: str) -> float | None:
    if number is None:
        return None
    # the largest float is the largest number that can be kept; a comparison with NaN is false
    if not isinstance(number, (int, float)) or isinstance(number, bool) or not abs(number) <= sys.float_info.max:
        raise InvalidInput(f"{field} {repr(number)[:80]} is no number", "Give a finite number")
    return float(number)


def _check_filled(names: Sequence[str] | None, field: str) -> tuple[str, ...]:
    if names is None:
        return ()
    checked = check_names(names, field)
    if not checked:
        raise InvalidInput(f"{field} is empty", f"Give at least one, or leave {field} out")
    return checked


@dataclass(frozen=True, slots=True)
class _Names:
    """The filters by name, resolved. None stands for a filter that was not given, or a list that matches nothing."""

    layer: int | None
    tags: tuple[int, ...]
    scopes: tuple[int, ...]
    agent: int | None
    unknown: tuple[str, ...]
    is_empty: bool


Result = tuple[tuple[Decision, ...], int, tuple[str, ...]]


def find(transaction: Transaction, project_id: int, chosen: Filter) -> Result:
    """Return the page, the total and notes for the reader."""
    names = _resolve(transaction, project_id, chosen)
    if names.is_empty:
        return (), 0, names.unknown
    if chosen.search is not None:
        return _search(transaction, project_id, chosen, names, chosen.search)
    total = _counted(transaction, project_id, chosen, names)
    if total is not None:
        numbers = _range(transaction, project_id, chosen, names) if chosen.limit else []
    else:
        where, values = _conditions(project_id, chosen, names)
        row = transaction.one(f"SELECT count(*) FROM decisions d WHERE {where}", values)
        total = int(row[0]) if row else 0
        direction = "ASC" if chosen.order == "asc" else "DESC"
        order = "d.seq" if chosen.after_seq is not None else f"d.created_at {direction}, d.id {direction}"
        numbers = [
            number
            for (number,) in transaction.all(
                f"SELECT d.id FROM decisions d WHERE {where} ORDER BY {order} LIMIT :limit OFFSET :offset",
                {**values, "limit": chosen.limit, "offset": chosen.offset},
            )
        ]
    return _load(transaction, numbers), total, names.unknown


def _resolve(transaction: Transaction, project_id: int, chosen: Filter) -> _Names:
    unknown: list[str] = []

    def numbers(table: str, names: tuple[str, ...]) -> tuple[int, ...]:
        found: list[int] = []
        for name in names:
            number = find_name(transaction, table, project_id, name)
            if number is None:
                unknown.append(f"there is no {table[:-1]} {name!r}")
            else:
                found.append(number)
        return tuple(found)

    layer = find_layer(transaction, project_id, chosen.layer)
    tags, scopes = numbers("tags", chosen.tags), numbers("scopes", chosen.scopes)
    agent = find_agent(transaction, project_id, chosen.agent)
    if agent == -1:
        unknown.append(f"there is no agent {chosen.agent!r}")
    no_tag = bool(chosen.tags) and (not tags or (chosen.match == "all" and len(tags) < len(chosen.tags)))
    no_scope = bool(chosen.scopes) and not scopes
    return _Names(layer, tags, scopes, agent, tuple(unknown), no_tag or no_scope or agent == -1)


def _counted(transaction: Transaction, project_id: int, chosen: Filter, names: _Names) -> int | None:
    """Return the total where at most one name and the status are asked for, else None."""
    named = [(1, names.layer)] if names.layer is not None else []
    named += [(2, number) for number in names.tags] + [(3, number) for number in names.scopes]
    others = (chosen.minimum, chosen.maximum, names.agent, chosen.since, chosen.after_seq)
    if len(named) > 1 or any(other is not None for other in others):
        return None
    dimension, number = named[0] if named else (0, 0)
    row = transaction.one(
        f"""
        SELECT COALESCE(sum(decisions), 0) FROM decision_counts
        WHERE project_id = :project AND dimension = :dimension AND name_id = :name
        {"" if chosen.status is None else "AND status = :status"}
        """,
        {"project": project_id, "dimension": dimension, "name": number, "status": chosen.status},
    )
    return int(row[0]) if row else 0


def _range(transaction: Transaction, project_id: int, chosen: Filter, names: _Names) -> list[int]:
    """Return a page of at most one name: a range of an index for each status, merged."""
    if names.tags:
        table, column, where = "decision_tags", "decision_id", f"tag_id = {names.tags[0]}"
    elif names.scopes:
        table, column, where = "decision_scopes", "decision_id", f"scope_id = {names.scopes[0]}"
    else:
        layer = "" if names.layer is None else f" AND layer_id = {names.layer}"
        table, column, where = "decisions", "id", f"project_id = :project{layer}"
    direction = "ASC" if chosen.order == "asc" else "DESC"
    arms = " UNION ALL ".join(
        f"""
        SELECT created_at, id FROM (
            SELECT created_at, {column} AS id FROM {table} WHERE {where} AND status = {status}
            ORDER BY created_at {direction}, {column} {direction} LIMIT :reach
        ) AS arm{status}
        """
        for status in ((1, 2, 3) if chosen.status is None else (chosen.status,))
    )
    rows = transaction.all(
        f"SELECT id FROM ({arms}) AS merged ORDER BY created_at {direction}, id {direction} "
        "LIMIT :limit OFFSET :offset",
        {
            "project": project_id,
            "reach": chosen.limit + chosen.offset,
            "limit": chosen.limit,
            "offset": chosen.offset,
        },
    )
    return [row[0] for row in rows]


def _search(transaction: Transaction, project_id: int, chosen: Filter, names: _Names, text: str) -> Result:
    query = parse(text)
    if not query.terms:
        return (), 0, (*names.unknown, f"{text.strip()[:80]!r} holds no word to search for")
    scope = Scope(project_id, kinds=(Kind.DECISION,), agent_id=names.agent, status="all", now=chosen.now)
    ranking = searching.rank(transaction, query, scope)
    notes = (*names.unknown, *ranking.notes)
    if not ranking.hits:
        return (), 0, notes
    scores = {hit.document: round(hit.score, 4) for hit in ranking.hits}
    where, values = _conditions(project_id, chosen, names)
    matched = transaction.all(
        f"SELECT s.id, d.id, d.created_at, {where} FROM documents s JOIN decisions d ON d.id = s.item_id "
        f"WHERE s.id IN ({', '.join(map(str, scores))})",
        values,
    )
    if len(matched) < len(scores):
        raise searching.disagreement()
    rows = [row for row in matched if row[3]]
    if chosen.order is None:
        place = {document: number for number, document in enumerate(scores)}
        rows.sort(key=lambda row: place[row[0]])
    else:
        rows.sort(key=lambda row: (row[2], row[1]), reverse=chosen.order == "desc")
    page = rows[chosen.offset : chosen.offset + chosen.limit]
    found = _load(transaction, [row[1] for row in page], {row[1]: scores[row[0]] for row in page})
    return found, len(rows), notes


def _conditions(project_id: int, chosen: Filter, names: _Names) -> tuple[str, dict[str, object]]:
    """Return the WHERE clause over ``decisions d`` without the search, and its values."""
    parts = ["d.project_id = :project"]
    values: dict[str, object] = {"project": project_id}

    def compare(column: str, operator: str, value: object) -> None:
        if value is not None:
            name = f"{column}_{len(values)}"
            parts.append(f"d.{column} {operator} :{name}")
            values[name] = value

    compare("status", "=", chosen.status)
    compare("layer_id", "=", names.layer)
    compare("value_number", ">=", chosen.minimum)
    compare("value_number", "<=", chosen.maximum)
    compare("agent_id", "=", names.agent)
    compare("updated_at", ">=", chosen.since)
    compare("seq", ">", chosen.after_seq)
    if names.tags:
        every = f" GROUP BY decision_id HAVING count(*) = {len(names.tags)}" if chosen.match == "all" else ""
        listed = ", ".join(map(str, names.tags))
        parts.append(f"d.id IN (SELECT decision_id FROM decision_tags WHERE tag_id IN ({listed}){every})")
    if names.scopes:
        listed = ", ".join(map(str, names.scopes))
        parts.append(f"d.id IN (SELECT decision_id FROM decision_scopes WHERE scope_id IN ({listed}))")
    return " AND ".join(parts), values


def _load(
    transaction: Transaction, numbers: Sequence[int], scores: dict[int, float] | None = None
) -> tuple[Decision, ...]:
    if not numbers:
        return ()
    rows = transaction.all(f"SELECT {COLUMNS} FROM {SOURCE} WHERE d.id IN ({', '.join(map(str, numbers))})")
    found = currents(transaction, rows)
    return tuple(decision(found[number], (scores or {}).get(number)) for number in numbers if number in found)
