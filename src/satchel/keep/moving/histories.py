"""Histories of decisions in lines: states replaced on either side are merged."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from satchel.keep import fields, names
from satchel.keep.decisions.records import DEFAULT_VERSION, STATUSES, NewDecision
from satchel.keep.decisions.state import value_of
from satchel.keep.decisions.updates import prepare
from satchel.keep.fields import Codec, Field
from satchel.keep.kind import Line, Part, Rows

if TYPE_CHECKING:
    from satchel.keep.moving.reading import Reading


def _show_value(value: str | float) -> str | int | float:
    return value if isinstance(value, str) else value_of(None, value)


def _value(value: Any, reading: Reading, _: str) -> str | float:
    # the key helps to recognize a secret value
    key = reading.row.get("key") or "value"
    prepared = prepare(NewDecision(key=key, value=value), reading.workplace)
    reading.notes += prepared.notes
    stored = prepared.value
    assert isinstance(stored, (str, int, float))
    return stored if isinstance(stored, str) else float(stored)


VALUE = Codec("a text or a number", _show_value, _value)


def split_value(row: dict[str, Any]) -> None:
    """Move a row's value into the text or the number column."""
    value = row.pop("value")
    row["value_text"], row["value_number"] = (value, None) if isinstance(value, str) else (None, value)


def _names(value: Any, _: Reading, name: str) -> str:
    return json.dumps(list(names.check_names(value, name)), ensure_ascii=False)


_NAMES = Codec("a list of names", lambda text: json.loads(text) or None, _names)

VALUE_SQL = "i.value_text, i.value_number"
"""The columns of a value: text or number."""

_UID = Field("uid", fields.HEX)
_STATE = (
    Field("value", VALUE, sql=VALUE_SQL, either=2, required=True),
    Field("status", fields.one_of(STATUSES), required=True),
    Field("version", fields.NAME, default=DEFAULT_VERSION),
    fields.name_field("layer", fields.LAYER, "layers", "layer_id"),
    Field("rationale", fields.TEXT),
    fields.name_field("agent", fields.AGENT, "agents", "agent_id"),
    Field("tags", _NAMES, default="[]"),
    Field("scopes", _NAMES, default="[]"),
    Field("paths", fields.PATHS, default="[]"),
    Field("metadata", fields.METADATA, default=fields.EMPTY),
    Field("set_at", fields.TIME, required=True),
)
_COLUMNS = (
    "value_text",
    "value_number",
    "status",
    "version",
    "layer_id",
    "rationale",
    "tags",
    "scopes",
    "paths",
    "metadata",
    "set_at",
)
"""The columns that identify a state of a decision."""


def _merge(reading: Reading, number: int, row: dict[str, Any], incoming: Rows) -> None:
    transaction = reading.transaction
    rows = transaction.all(
        f"SELECT {', '.join(_COLUMNS)}, uid, agent_id, created_at, revision FROM decision_history "
        "WHERE decision_id = :id ORDER BY revision",
        {"id": number},
    )
    columns = (*_COLUMNS, "uid", "agent_id", "created_at", "revision")
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
    add=_merge,
)


def keep_old(reading: Reading, number: int, old: Line, new: Line) -> None:
    """Add a replaced or losing state to the history."""
    replaced = max(new["updated_at"], old["updated_at"])
    state = {field.name: old[field.name] for field in _STATE if field.name in old}
    entry = {**state, "set_at": old["updated_at"], "replaced_at": replaced, "revision": old.get("revision", 1)}
    row = reading.part_rows(HISTORY, [entry])
    _merge(reading, number, {"revision": 0}, row)
