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
from satchel.keep.fields import Field
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


_CORRECTED = {kind.name.lower(): kind.number for kind in Kind if kind.text is not None}


def _corrected(name: str) -> Field:
    column = f"{name}_id"
    sql = marks.of_item("uid", _CORRECTED.values(), "i.item_kind", f"i.{column}")
    return Field(name, marks.item_codec("item_kind"), column, sql, required=name == "item")


def _correction_derived(_: Reading, row: dict[str, Any]) -> None:
    if (row["action"] == SUPERSEDED) != (row["heir_id"] is not None):
        raise InvalidInput("it does not name the replacement", "Give heir where action is superseded")


_CORRECTION_KIND = LineKind(
    "the replacement, retraction or confirmation of an item",
    (
        fields.CREATED,
        Field("action", fields.one_of(("superseded", "retracted", "confirmed")[:CONFIRMED]), required=True),
        Field("item_kind", fields.choice(_CORRECTED), required=True),
        _corrected("item"),
        _corrected("heir"),
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
