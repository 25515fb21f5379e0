"""The history of decisions in lines: a state that was replaced is in it, from whichever side it came."""

from __future__ import annotations

import json
import os
from typing import Any

from satchel.keep import names
from satchel.keep.decisions.records import DEFAULT_VERSION, STATUSES, NewDecision
from satchel.keep.decisions.state import value_of
from satchel.keep.decisions.updates import prepare
from satchel.keep.moving.fields import (
    AGENT,
    HEX,
    LAYER,
    NAME,
    TEXT,
    TIME,
    WHOLE,
    Codec,
    Field,
    Line,
    Part,
    Rows,
    named,
    one_of,
)
from satchel.keep.moving.reading import Reading


def _show_value(value: str | float) -> str | int | float:
    return value if isinstance(value, str) else value_of(None, value)


def _value(value: Any, reading: Reading, _: str) -> str | float:
    # the key names what the value is of: of a secret it tells that
    key = reading.row.get("key") or "value"
    given = prepare(NewDecision(key=key, value=value), reading.workplace)
    reading.notes += given.notes
    kept = given.value
    assert isinstance(kept, (str, int, float))
    return kept if isinstance(kept, str) else float(kept)


VALUE = Codec("a text or a number", _show_value, _value)


def split_value(row: dict[str, Any]) -> None:
    """Put the value of a row into the columns of texts and of numbers."""
    value = row.pop("value")
    row["value_text"], row["value_number"] = (value, None) if isinstance(value, str) else (None, value)


def _names(value: Any, _: Reading, name: str) -> str:
    return json.dumps(list(names.check_names(value, name)), ensure_ascii=False)


_NAMES = Codec("a list of names", lambda text: json.loads(text) or None, _names)

VALUE_SQL = "i.value_text, i.value_number"
"""What holds the value: a text in one column, or a number in the other."""

_UID = Field("uid", HEX)
_STATE = (
    Field("value", VALUE, sql=VALUE_SQL, either=2, required=True),
    Field("status", one_of(STATUSES), required=True),
    Field("version", NAME, default=DEFAULT_VERSION),
    named("layer", LAYER, "layers", "layer_id"),
    Field("rationale", TEXT),
    named("agent", AGENT, "agents", "agent_id"),
    Field("tags", _NAMES, default="[]"),
    Field("scopes", _NAMES, default="[]"),
    Field("set_at", TIME, required=True),
)
_COLUMNS = ("value_text", "value_number", "status", "version", "layer_id", "rationale", "tags", "scopes", "set_at")
"""What tells the states of one decision apart."""


def _bring_together(reading: Reading, number: int, row: dict[str, Any], given: Rows) -> None:
    """Put states into the history that it does not have, in the order of their times."""
    transaction = reading.transaction
    known = transaction.all(
        f"SELECT {', '.join(_COLUMNS)}, uid, agent_id, created_at, revision FROM decision_history "
        "WHERE decision_id = :id ORDER BY revision",
        {"id": number},
    )
    columns = (*_COLUMNS, "uid", "agent_id", "created_at", "revision")
    states = [dict(zip(columns, one, strict=True)) for one in known]
    seen = {tuple(one[column] for column in _COLUMNS) for one in states}
    new: Rows = []
    for one in given:
        split_value(one)
        state = tuple(one[column] for column in _COLUMNS)
        if state not in seen:
            seen.add(state)
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
        placed = {**one, "decision_id": number, "project_id": reading.project, "seq": first + place}
        transaction.add("decision_history", {**placed, "revision": revision})
    transaction.run(
        "UPDATE decisions SET revision = :least WHERE id = :id AND revision < :least",
        {"least": len(every) + 1, "id": number},
    )


HISTORY = Part(
    "history",
    "decision_history",
    "decision_id",
    (_UID, Field("revision", WHOLE, required=True), *_STATE, Field("replaced_at", TIME, "created_at", required=True)),
    order="i.revision",
    add=_bring_together,
)


def keep_old(reading: Reading, number: int, old: Line, new: Line) -> None:
    """Put a state that another replaces, or that lost against it, into the history.

    Args:
        old: what the decision said, or what another store says of it, as a line.
        new: what it says from now on.
    """
    replaced = max(new["updated_at"], old["updated_at"])
    state = {field.name: old[field.name] for field in _STATE if field.name in old}
    given = {**state, "set_at": old["updated_at"], "replaced_at": replaced, "revision": old.get("revision", 1)}
    row = reading.part_rows(HISTORY, [given])
    _bring_together(reading, number, {"revision": 0}, row)
