"""Queries for decisions.

A page by one tag, scope or layer, or without any, is a range of an index, and its total comes from
``decision_counts``. A page by several tags merges their ranges, or, if all are required, probes the others for the
rarest one's rows. Totals of other combinations are counted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from satchel.base.errors import InvalidInput
from satchel.find.kind import Kind
from satchel.keep import listing as filters
from satchel.keep.common_filters import ListFilters
from satchel.keep.decisions.records import Decision
from satchel.keep.decisions.state import COLUMNS, SOURCE, currents, status_number
from satchel.keep.decisions.updates import decision
from satchel.keep.listing import Filter, Listing, View
from satchel.keep.projects import Workplace
from satchel.store.transaction import Row, set_of


class DecisionFilters(ListFilters, total=False):
    """Filters for decisions.

    Keys:
        status: active, deprecated or draft; None is all of them.
        layer: only this layer.
        tags: with any of these tags or those below them (``auth`` finds ``auth/login``), or with all, by ``match``.
        match: any or all.
        scopes: with any or all of these scopes, likewise.
        minimum, maximum: only numbers within these limits.
        metadata: only with this key, or ``key=value``.
        author: only decisions this agent set last.
    """

    status: str | None
    layer: str | None
    tags: Sequence[str] | None
    match: str
    scopes: Sequence[str] | None
    minimum: float | None
    maximum: float | None
    metadata: str | None
    author: str | None


def _check_bound(field: str) -> filters.Check:
    def check(number: object, _: Workplace) -> float:
        # the largest float is the largest number that can be stored; a comparison with NaN is false
        if not isinstance(number, (int, float)) or isinstance(number, bool) or not abs(number) <= sys.float_info.max:
            raise InvalidInput(f"{field} {repr(number)[:80]} is no number", "Give a finite number")
        return float(number)

    return check


def _up_to(view: View, maximum: float) -> None:
    minimum = view.request.chosen.get("minimum", maximum)
    if minimum > maximum:
        raise InvalidInput(f"minimum {minimum:g} is above maximum {maximum:g}", "Exchange them")
    view.where("c.value_number <= {}", maximum)


def _make(view: View, rows: Sequence[Row]) -> tuple[Decision, ...]:
    decisions_by_number = currents(view.transaction, rows)
    return tuple(decision(decisions_by_number[row[0]], view.scores.get(row[0])) for row in rows)


def _range(view: View) -> tuple[Sequence[int], int] | None:
    query, status = view.request, view.request.chosen.get("status")
    dimensions = [(1, "layer", number) for number in view.numbers.get("layer", ())]
    dimensions += [(2, "tag", number) for number in view.numbers.get("tag", ())]
    dimensions += [(3, "scope", number) for number in view.numbers.get("scope", ())]
    others = query.chosen.keys() & {"minimum", "maximum", "metadata", "author"}
    tags = view.numbers.get("tag", ())
    # one number for each tag of the request: none stands for those below it
    needs_each = query.chosen["match"] == "all" and len(tags) == len({*tags}) == len(query.chosen.get("tags", ()))
    is_any = query.chosen["match"] == "any"
    if len(dimensions) == len(tags) > 1 and (needs_each or is_any) and not (others or query.common):
        return None if query.after_seq is not None else _with_tags(view, {*tags}, status, is_any=is_any)
    if len(dimensions) > 1 or others or query.common or query.after_seq is not None:
        return None
    dimension, what, name = dimensions[0] if dimensions else (0, "", 0)
    values = {**view.values, "dimension": dimension, "name": name, "status": status}
    row = view.transaction.one(
        f"""
        SELECT COALESCE(sum(decisions), 0) FROM decision_counts
        WHERE project_id = :project AND dimension = :dimension AND name_id = :name
        {"" if status is None else "AND status = :status"}
        """,
        values,
    )
    total = int(row[0]) if row else 0
    if not query.limit:
        return (), total
    table, column, where = "decisions", "id", "project_id = :project"
    if dimension == 1:
        where += " AND layer_id = :name"
    elif dimension:
        table, column, where = f"decision_{what}s", "decision_id", f"{what}_id = :name"
    way = "ASC" if query.order == "asc" else "DESC"
    arms = " UNION ALL ".join(
        f"""
        SELECT created_at, id FROM (
            SELECT created_at, {column} AS id FROM {table} WHERE {where} AND status = {one}
            ORDER BY created_at {way}, {column} {way} LIMIT :reach
        ) AS arm{one}
        """
        for one in ((1, 2, 3) if status is None else (status,))
    )
    rows = view.transaction.all(
        f"SELECT id FROM ({arms}) AS merged ORDER BY created_at {way}, id {way} LIMIT :limit OFFSET :offset",
        {**values, "reach": query.limit + query.offset, "limit": query.limit, "offset": query.offset},
    )
    return [number for (number,) in rows], total


def _with_tags(view: View, numbers: set[int], status: int | None, *, is_any: bool) -> tuple[Sequence[int], int]:
    query = view.request
    counts: dict[int, int] = dict(
        view.transaction.all(
            f"""
            SELECT name_id, sum(decisions) FROM decision_counts
            WHERE project_id = :project AND dimension = 2 AND name_id IN {set_of(numbers)} GROUP BY name_id
            """,
            view.values,
        )
    )
    tags = sorted(numbers, key=lambda tag: (counts.get(tag, 0), tag))
    by_merging = is_any or sum(counts.values()) < _MERGED * counts.get(tags[0], 0)
    way = "ASC" if query.order == "asc" else "DESC"
    total, arms = 0, []
    for one in (1, 2, 3) if status is None else (status,):
        # ordered, so that SQLite merges the index ranges without a temporary table
        some = _merged(tags, one, "UNION" if is_any else "INTERSECT") if by_merging else _probed(tags, one)
        matching = f"{some} ORDER BY created_at {way}, id {way}"
        row = view.transaction.one(f"SELECT count(*) FROM ({matching}) AS every")
        total += int(row[0]) if row else 0
        arms.append(f"SELECT created_at, id FROM ({matching} LIMIT :reach) AS arm{one}")
    if not query.limit or not total:
        return (), total
    rows = view.transaction.all(
        f"SELECT id FROM ({' UNION ALL '.join(arms)}) AS merged "
        f"ORDER BY created_at {way}, id {way} LIMIT :limit OFFSET :offset",
        {"reach": query.limit + query.offset, "limit": query.limit, "offset": query.offset},
    )
    return [number for (number,) in rows], total


_MERGED = 5
"""Ranges are merged if all together are at most this many times the rarest tag's range, otherwise probed."""


def _merged(tags: Sequence[int], status: int, how: str) -> str:
    return f" {how} ".join(
        f"SELECT created_at, decision_id AS id FROM decision_tags WHERE tag_id = {tag} AND status = {status}"
        for tag in tags
    )


def _probed(tags: Sequence[int], status: int) -> str:
    rarest, *others = tags
    probes = " AND ".join(
        f"""EXISTS (SELECT 1 FROM decision_tags o WHERE o.tag_id = {tag} AND o.status = t.status
            AND o.created_at = t.created_at AND o.decision_id = t.decision_id)"""
        for tag in others
    )
    return (
        "SELECT t.created_at AS created_at, t.decision_id AS id FROM decision_tags t "
        f"WHERE t.tag_id = {rarest} AND t.status = {status} AND {probes}"
    )


LISTING = Listing(
    kind=Kind.DECISION,
    table="decisions c",
    columns=COLUMNS,
    source=SOURCE,
    make=_make,
    filters=(
        filters.compared("status", "c.status = {}", lambda value, _: status_number(value)),
        filters.layer("c.layer_id"),
        filters.MATCH,
        filters.several("tags", "c.id", "decision_tags decision_id tag_id"),
        filters.several("scopes", "c.id", "decision_scopes decision_id scope_id"),
        filters.compared("minimum", "c.value_number >= {}", _check_bound("minimum")),
        Filter("maximum", _check_bound("maximum"), _up_to),
        filters.metadata("c.metadata"),
        filters.author("c.agent_id"),
    ),
    changed=("updated_at",),
    plan=_range,
)
