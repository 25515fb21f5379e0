"""Declaration of decisions."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from satchel.base.errors import InvalidInput
from satchel.base.records import replace
from satchel.find.kind import Kind
from satchel.keep import fields, names
from satchel.keep import listing as filters
from satchel.keep.common_filters import ListFilters
from satchel.keep.decisions import records, tables
from satchel.keep.decisions.records import (
    COLUMNS,
    DEFAULT_VERSION,
    SOURCE,
    STATUSES,
    NewDecision,
    status_number,
    value_of,
)
from satchel.keep.decisions.updates import prepare
from satchel.keep.fields import Codec, Field
from satchel.keep.kind import ItemKind, Line, Part, Rows, names_part
from satchel.keep.listing import Filter, Listing, View
from satchel.keep.projects import Workplace
from satchel.store.transaction import first_number

if TYPE_CHECKING:
    from satchel.keep.moving.reading import Reading


def _value(value: Any, reading: Reading, _: str) -> str | float:
    # the key helps to recognize a secret value
    key = reading.row.get("key") or "value"
    prepared = prepare(NewDecision(key=key, value=value), reading.workplace)
    reading.notes += prepared.notes
    stored = prepared.value
    assert isinstance(stored, (str, int, float))
    return stored if isinstance(stored, str) else float(stored)


VALUE = Codec("a text or a number", lambda value: value if isinstance(value, str) else value_of(None, value), _value)


def split_value(row: dict[str, Any]) -> None:
    value = row.pop("value")
    row["value_text"], row["value_number"] = (value, None) if isinstance(value, str) else (None, value)


_NAMES = Codec(
    "a list of names",
    lambda text: json.loads(text) or None,
    lambda value, _, name: json.dumps(list(names.check_names(value, name)), ensure_ascii=False),
)

VALUE_SQL = "i.value_text, i.value_number"  # the columns of a value: text or number

_UID = Field("uid", fields.HEX)
_CONTENT = (
    Field("value", VALUE, sql=VALUE_SQL, either=2, required=True),
    Field("status", fields.one_of(STATUSES), required=True),
    Field("version", fields.NAME, default=DEFAULT_VERSION),
    fields.name_field("layer", fields.LAYER, "layers", "layer_id"),
    Field("rationale", fields.TEXT),
    Field("paths", fields.PATHS, default="[]"),
    Field("metadata", fields.METADATA, default=fields.EMPTY),
)
_STATE = (
    *_CONTENT,
    fields.name_field("agent", fields.AGENT, "agents", "agent_id"),
    Field("tags", _NAMES, default="[]"),
    Field("scopes", _NAMES, default="[]"),
    Field("set_at", fields.TIME, required=True),
)
# the columns that identify a state of a decision
_COLUMNS = (
    "value_text",
    "value_number",
    *(field.column_name for field in _STATE if field.name not in {"value", "agent"}),
)


def _merge_history(reading: Reading, number: int, row: dict[str, Any], incoming: Rows) -> None:
    transaction = reading.transaction
    columns = (*_COLUMNS, "uid", "agent_id", "session_id", "created_at", "revision")
    rows = transaction.all(
        f"SELECT {', '.join(columns)} FROM decision_history WHERE decision_id = :id ORDER BY revision",
        {"id": number},
    )
    states = [dict(zip(columns, one, strict=True)) for one in rows]
    existing = {tuple(one[column] for column in _COLUMNS) for one in states}
    new: Rows = []
    for one in incoming:
        split_value(one)
        state = tuple(one[column] for column in _COLUMNS)
        if state not in existing:
            existing.add(state)
            new.append({**one, "uid": one["uid"] or os.urandom(16)})
    if not new:
        return
    revisions = [one["revision"] for one in new]
    in_order = revisions == sorted(set(revisions)) and revisions[0] > 0
    is_whole = not states and in_order and revisions[-1] < row["revision"]
    every = new if is_whole else sorted([*states, *new], key=lambda one: (one["set_at"], one["revision"]))
    transaction.run("DELETE FROM decision_history WHERE decision_id = :id", {"id": number})
    first = transaction.next_seq(reading.project, len(every))
    for place, one in enumerate(every):
        revision = one["revision"] if is_whole else place + 1
        seq = reading.seq(one.get("seq"), first + place)
        placed = {**one, "decision_id": number, "project_id": reading.project, "seq": seq}
        transaction.add("decision_history", {**placed, "revision": revision})
    transaction.run(
        "UPDATE decisions SET revision = :least WHERE id = :id AND revision < :least",
        {"least": len(every) + 1, "id": number},
    )


HISTORY = Part(
    "history",
    "decision_history",
    "decision_id",
    (
        _UID,
        Field("seq", fields.WHOLE),
        Field("revision", fields.WHOLE, required=True),
        *_STATE,
        Field("replaced_at", fields.TIME, "created_at", required=True),
    ),
    order="i.revision",
    add=_merge_history,
)


def keep_old(reading: Reading, number: int, old: Line, new: Line) -> None:
    replaced = max(new["updated_at"], old["updated_at"])
    state = {field.name: old[field.name] for field in _STATE if field.name in old}
    entry = {**state, "set_at": old["updated_at"], "replaced_at": replaced, "revision": old.get("revision", 1)}
    row = reading.part_rows(HISTORY, [entry])
    _merge_history(reading, number, {"revision": 0}, row)


def _decision_names(names: str, codec: Codec) -> Part:
    # a decision's state and age are stored with each of its names
    part = names_part("decision", names, codec)
    table, column = part.table, part.fields[0].column_name

    def add(reading: Reading, number: int, row: dict[str, Any], rows: Rows) -> None:
        reading.transaction.many(
            f"INSERT INTO {table} ({column}, status, created_at, decision_id) "
            "VALUES (:name, :status, :created, :decision) ON CONFLICT DO NOTHING",
            [
                {"name": one[column], "status": row["status"], "created": row["created_at"], "decision": number}
                for one in rows
            ],
        )

    return replace(part, add=add)


DECISION: ItemKind[Any] = ItemKind(
    "a decision under a key, with its history",
    (
        fields.BEGAN,
        Field("key", fields.NAME, required=True),
        *_CONTENT,
        fields.name_field("agent", fields.AGENT, "agents", "agent_id", merge=fields.FILL),
        Field("revision", fields.COUNT, default=1, merge=fields.MAX),
        Field("updated_at", fields.TIME, required=True, merge=fields.SOFT),
        fields.link_field("session", "sessions", "session_id", merge=fields.SOFT),
    ),
    (_decision_names("tags", fields.TAG), _decision_names("scopes", fields.SCOPE), HISTORY),
    key=("key", "key"),
    documents=Kind.DECISION,
    derive=lambda _, row: split_value(row),
    enter=tables.enter,
    withdraw=tables.withdraw,
    keep_old=keep_old,
    rank=("updated_at",),
    statuses=STATUSES,
    source=tables.DOCUMENTS,
    delete=tables.delete,
    open=lambda transaction, reader, number: records.load_number(transaction, reader.project_id, number),
)


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
    minimum = view.request.filters.get("minimum", maximum)
    if minimum > maximum:
        raise InvalidInput(f"minimum {minimum:g} is above maximum {maximum:g}", "Exchange them")
    view.where("c.value_number <= {}", maximum)


def _range(view: View) -> tuple[Sequence[int], int] | None:
    query, status = view.request, view.request.filters.get("status")
    dimensions = [(1, "layer", number) for number in view.numbers.get("layer", ())]
    dimensions += [(2, "tag", number) for number in view.numbers.get("tag", ())]
    dimensions += [(3, "scope", number) for number in view.numbers.get("scope", ())]
    others = query.filters.keys() & {"minimum", "maximum", "metadata", "author"}
    tags = view.numbers.get("tag", ())
    # one number for each tag of the request: none has tags below it
    needs_each = query.filters["match"] == "all" and len(tags) == len({*tags}) == len(query.filters.get("tags", ()))
    is_any = query.filters["match"] == "any"
    if len(dimensions) == len(tags) > 1 and (needs_each or is_any) and not (others or query.common):
        return None if query.after_seq is not None else _with_tags(view, {*tags}, status, is_any=is_any)
    if len(dimensions) > 1 or others or query.common or query.after_seq is not None:
        return None
    dimension, what, name = dimensions[0] if dimensions else (0, "", 0)
    values = {**view.values, "dimension": dimension, "name": name, "status": status}
    total = first_number(
        view.transaction,
        f"""
        SELECT sum(decisions) FROM decision_counts
        WHERE project_id = :project AND dimension = :dimension AND name_id = :name
        {"" if status is None else "AND status = :status"}
        """,
        values,
    )
    if not query.limit:
        return (), total
    table, column, where = "decisions", "id", "project_id = :project"
    if dimension == 1:
        where += " AND layer_id = :name"
    elif dimension:
        table, column, where = f"decision_{what}s", "decision_id", f"{what}_id = :name"
    way = "ASC" if query.order == "asc" else "DESC"
    arms = [
        f"""
        SELECT created_at, id FROM (
            SELECT created_at, {column} AS id FROM {table} WHERE {where} AND status = {one}
            ORDER BY created_at {way}, {column} {way} LIMIT :reach
        ) AS arm{one}
        """
        for one in ((1, 2, 3) if status is None else (status,))
    ]
    return _merged(view, arms, values), total


def _with_tags(view: View, numbers: set[int], status: int | None, *, is_any: bool) -> tuple[Sequence[int], int]:
    query = view.request
    way = "ASC" if query.order == "asc" else "DESC"
    total, arms = 0, []
    for one in (1, 2, 3) if status is None else (status,):
        some = (f" {'UNION' if is_any else 'INTERSECT'} ").join(
            f"SELECT created_at, decision_id AS id FROM decision_tags WHERE tag_id = {tag} AND status = {one}"
            for tag in sorted(numbers)
        )
        # ordered, so that SQLite merges the index ranges without a temporary table
        matching = f"{some} ORDER BY created_at {way}, id {way}"
        total += first_number(view.transaction, f"SELECT count(*) FROM ({matching}) AS every")
        arms.append(f"SELECT created_at, id FROM ({matching} LIMIT :reach) AS arm{one}")
    if not query.limit or not total:
        return (), total
    return _merged(view, arms, {}), total


def _merged(view: View, arms: Sequence[str], values: dict[str, Any]) -> list[int]:
    query = view.request
    way = "ASC" if query.order == "asc" else "DESC"
    rows = view.transaction.all(
        f"SELECT id FROM ({' UNION ALL '.join(arms)}) AS merged "
        f"ORDER BY created_at {way}, id {way} LIMIT :limit OFFSET :offset",
        {**values, "reach": query.limit + query.offset, "limit": query.limit, "offset": query.offset},
    )
    return [number for (number,) in rows]


LISTING = Listing(
    kind=Kind.DECISION,
    table="decisions c",
    columns=COLUMNS,
    source=SOURCE,
    make=lambda view, rows: records.from_rows(view.transaction, rows, view.scores),
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
