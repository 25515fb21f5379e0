"""Declaration of decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.base.records import replace
from satchel.find.kind import Kind
from satchel.keep import fields
from satchel.keep.decisions import state, tables
from satchel.keep.decisions.records import DEFAULT_VERSION, STATUSES
from satchel.keep.decisions.updates import decision
from satchel.keep.fields import Codec, Field
from satchel.keep.kind import ItemKind, Part, Rows, names_part
from satchel.keep.moving import histories
from satchel.store.transaction import Transaction

if TYPE_CHECKING:
    from satchel.keep.moving.reading import Reading


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


def _open(transaction: Transaction, reader: Any, number: int) -> object:
    current = state.load_number(transaction, reader.project_id, number)
    return None if current is None else decision(current)


DECISION: ItemKind[Any] = ItemKind(
    "a decision under a key, with its history",
    (
        fields.BEGAN,
        Field("key", fields.NAME, required=True),
        Field("value", histories.VALUE, sql=histories.VALUE_SQL, either=2, required=True),
        Field("status", fields.one_of(STATUSES), required=True),
        Field("version", fields.NAME, default=DEFAULT_VERSION),
        fields.name_field("layer", fields.LAYER, "layers", "layer_id"),
        Field("rationale", fields.TEXT),
        Field("paths", fields.PATHS, default="[]"),
        Field("metadata", fields.METADATA, default=fields.EMPTY),
        fields.name_field("agent", fields.AGENT, "agents", "agent_id", merge=fields.FILL),
        Field("revision", fields.COUNT, default=1, merge=fields.MAX),
        Field("updated_at", fields.TIME, required=True, merge=fields.SOFT),
    ),
    (
        _decision_names("tags", fields.TAG),
        _decision_names("scopes", fields.SCOPE),
        histories.HISTORY,
    ),
    key=("key", "key"),
    documents=Kind.DECISION,
    derive=lambda _, row: histories.split_value(row),
    enter=tables.enter,
    withdraw=tables.withdraw,
    keep_old=histories.keep_old,
    rank=("updated_at",),
    statuses=STATUSES,
    source=tables.DOCUMENTS,
    delete=tables.delete,
    open=_open,
)
