"""Declarations of all kinds of lines, used by export and import.

Functions here hold the rules that fields cannot express.
"""

from __future__ import annotations

from typing import Any

from satchel.base.errors import InvalidInput
from satchel.base.records import replace
from satchel.base.text import fold
from satchel.base.vocabulary import LAYERS
from satchel.find.kind import Kind
from satchel.keep import fields, runs
from satchel.keep.corrections.log import CONFIRMED, SUPERSEDED
from satchel.keep.fields import Codec, Field, read_uid
from satchel.keep.kind import ItemKind, LineKind, Part
from satchel.keep.kinds import IN_EXPORT_ORDER, KINDS
from satchel.keep.moving import marks
from satchel.keep.moving.reading import Reading
from satchel.keep.names import check_author_name


def _folded_name(_: Reading, row: dict[str, Any]) -> None:
    row["folded"] = fold(row["name"])


def _folded_author(reading: Reading, row: dict[str, Any]) -> None:
    if not reading.is_as_written:
        check_author_name(row["name"])
    row["folded"] = fold(row["name"])


_AGENT_KIND = LineKind(
    "an agent, which writes or receives messages",
    (
        fields.BEGAN,
        Field("name", fields.NAME, required=True),
        Field("role", fields.NAME, merge=fields.SOFT),
        Field("has_acted", fields.FLAG, default=0, merge=fields.MAX),
    ),
    key=("folded", "name"),
    derive=_folded_author,
    name="agent",
    table="agents",
)


_LAYER_KIND = LineKind(
    "a layer of the architecture, besides the predefined ones",
    (Field("name", fields.NAME, required=True), fields.BEGAN),
    key=("folded", "name"),
    predefined=LAYERS,
    derive=_folded_name,
    name="layer",
    table="layers",
)


_RUN_KIND = LineKind(
    "a piece of work",
    (
        fields.BEGAN,
        Field("run", fields.NAME, "run_id", required=True),
        Field("title", fields.short(runs.MAX_TITLE_CHARS, one_line=True), merge=fields.SOFT),
        Field("spec_path", fields.FILE, merge=fields.SOFT),
        Field("effort", fields.NAME, merge=fields.SOFT),
        Field("status", fields.one_of(runs.STATUSES), required=True, merge=fields.SOFT),
        Field("ended_at", fields.TIME, merge=fields.SOFT),
    ),
    key=("run_id", "run"),
    rank=("ended_at",),
    name="run",
    table="runs",
)

_SESSION_KIND = LineKind(
    "a conversation of a client, without machine-specific data; elsewhere it is ended",
    (
        fields.CREATED,
        Field("client", fields.NAME),
        Field("version", fields.NAME, merge=fields.SOFT),
        fields.name_field("agent", fields.AGENT, "agents", "agent_id", merge=fields.SOFT),
        fields.name_field("run", fields.RUN, "runs", "run_id", "run_id", merge=fields.SOFT),
        Field("task_id", fields.NAME, merge=fields.SOFT),
        fields.link_field("predecessor", "sessions", "predecessor_id", merge=fields.SOFT),
        Field("branch", fields.NAME, merge=fields.SOFT),
        Field("commit", fields.NAME, "commit_id", merge=fields.SOFT),
        Field("window", fields.WHOLE, default=1, merge=fields.MAX),
        Field("seen_at", fields.TIME, required=True, merge=fields.MAX),
        Field("ended_at", fields.TIME, sql="COALESCE(i.ended_at, i.seen_at)", required=True, merge=fields.MAX),
    ),
    rank=("seen_at",),
    name="session",
    table="sessions",
)


_CORRECTED = {kind.name.lower(): kind for kind in Kind if kind.text is not None}
_BY_NUMBER = {kind.number: name for name, kind in _CORRECTED.items()}


def _corrected(column: str) -> str:
    choices = " ".join(
        f"WHEN {kind.number} THEN (SELECT n.uid FROM {kind.table} n WHERE n.id = i.{column})"
        for kind in _CORRECTED.values()
    )
    return f"CASE i.item_kind {choices} END"


def _corrected_item(value: Any, reading: Reading, name: str) -> int:
    read_uid(value, name)
    kind = _CORRECTED[_BY_NUMBER[reading.row["item_kind"]]]
    number = reading.number_of(kind.table, value)
    if number is None:
        raise InvalidInput(f"its {name} {value} is missing", "Export the corrected item with the correction")
    return number


_ITEM = Codec("the uid of another item", bytes.hex, _corrected_item, is_number=True)


def _correction_derived(_: Reading, row: dict[str, Any]) -> None:
    if (row["action"] == SUPERSEDED) != (row["heir_id"] is not None):
        raise InvalidInput("it does not name the replacement", "Give heir where action is superseded")


_CORRECTION_KIND = LineKind(
    "the replacement, retraction or confirmation of an item",
    (
        fields.CREATED,
        Field("action", fields.one_of(("superseded", "retracted", "confirmed")[:CONFIRMED]), required=True),
        Field("item_kind", fields.choice({name: kind.number for name, kind in _CORRECTED.items()}), required=True),
        Field("item", _ITEM, "item_id", _corrected("item_id"), required=True),
        Field("heir", _ITEM, "heir_id", _corrected("heir_id")),
        fields.AUTHOR,
        fields.SESSION,
        Field("reason", fields.TEXT),
        Field("undone_at", fields.TIME, merge=fields.SOFT),
    ),
    derive=_correction_derived,
    rank=("undone_at",),
    name="correction",
    table="corrections",
)

_DELIVERY_KIND = LineKind(
    "items delivered to an agent in one context window; its uid is derived from the window's fields",
    marks.WINDOW_FIELDS,
    (Part("items", "deliveries", "window_id", marks.DELIVERY_FIELDS),),
    name=marks.DELIVERY,
    table="windows",
    take=marks.take_window,
)


def _with_pin(kind: ItemKind[Any]) -> LineKind:
    return replace(kind, parts=(*kind.parts, marks.pin_of(kind.kind))) if kind.kind.live else kind


# all kinds in export order: an item comes after the items it refers to
LINE_KINDS: dict[str, LineKind] = {
    kind.name: kind
    for kind in (
        *(_AGENT_KIND, _LAYER_KIND, _RUN_KIND, _SESSION_KIND),
        *(_with_pin(KINDS[kind]) for kind in IN_EXPORT_ORDER),
        *(_CORRECTION_KIND, _DELIVERY_KIND, marks.SEEN_KIND, marks.TEXT_KIND, marks.DOCUMENT_KIND),
    )
}
