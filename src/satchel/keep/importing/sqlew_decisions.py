"""Reading the decisions of a sqlew database: two value tables, a history of values, tags, scopes and rationales."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import pairwise

from satchel.base.clock import iso
from satchel.keep.decisions.records import DEFAULT_VERSION, STATUSES
from satchel.keep.decisions.state import LARGEST_WHOLE, value_of
from satchel.keep.importing.sqlew_tables import SqlewTables, named, needed, time
from satchel.keep.importing.tables import Fields, Row, column, columns
from satchel.keep.importing.values import Unreadable, described, identity, number_of, optional_text, text_of, whole
from satchel.keep.moving.fields import Line
from satchel.store.foreign import Value

_ACTIVE = 1
_LATER_STATUSES = {4: "in_progress", 5: "in_review", 6: "implemented"}
"""Of sqlew 5, whose own hooks write the last two as active."""


def _value(row: Row, value: Value) -> object:
    # an empty text stands for a number: since 3.9 in the history, and beside it among the texts
    if value == "":
        return None
    if row.table != "decisions_numeric":
        return text_of(value, "value")
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Unreadable(f"its value is {described(value)}, not a finite number")
    if abs(value) > LARGEST_WHOLE:
        row.problems.append(f"its value {int(value)} is beyond 2^53; it was kept as text")
        return str(int(value))
    return float(value)


def _status(row: Row, status: Value) -> int:
    later = _LATER_STATUSES.get(number_of(status) or 0)
    if later is not None:
        row.problems.append(f"its status is {later}, which is active here")
        return _ACTIVE
    return whole(status, "status", 1, len(STATUSES), _ACTIVE)


def _reasons(_: Row, why: Value, alternatives: Value, tradeoffs: Value) -> str:
    parts = [text_of(why, "rationale")]
    parts += _listed("Alternatives considered", alternatives)
    parts += _listed("Trade-offs", tradeoffs)
    return "\n".join(parts)


_ID = column("id", partial(whole, default=0))
_CURRENT = {
    "key_id": column("key_id", whole),
    "value": columns("value", read=_value),
    "version": column("version", optional_text),
    "status": columns("status", read=_status),
    "key": needed("key_id", "context_keys"),
    "layer": named("layer_id", "layers"),
    "agent": named("agent_id", "agents"),
    "at": time(),
}
_PAST = {"id": _ID} | {name: _CURRENT[name] for name in ("key_id", "value", "version", "agent", "at")}
_RATIONALE = {
    "key_id": column("decision_key_id", whole),
    "text": columns("rationale", "alternatives_considered", "tradeoffs", read=_reasons),
    "at": time("ts|decision_date"),
    "id": _ID,
}


class DecisionReader:
    """Reads decisions.

    Attributes:
        unchanged: how many rows of the history were dropped because what followed was the same.
        without_value: how many rows of the history hold none: sqlew 3.9 and later record none for a number.
        unknown: how many earlier states came of whose layer, status, tags and scopes sqlew kept nothing.
    """

    def __init__(self, tables: SqlewTables) -> None:
        self._tables = tables
        self.unchanged = self.unknown = self.without_value = 0

    def lines(self) -> Iterator[tuple[str, str, Line]]:
        """Yield a line of every decision that can be read, by the numbers of their keys."""
        tables = self._tables
        numbers = self._values("decisions_numeric", set())
        texts = self._values("decisions", self._keys("decisions_numeric"))
        past = tables.read(_PAST, "decision_history", "id")
        self.without_value = sum(row["value"] is None for row in past)
        history = _by_key([row for row in past if row["value"] is not None])
        rationales = _by_key(tables.read(_RATIONALE, "decision_context", "id"))
        tags, scopes = self._linked("tag"), self._linked("scope")
        for key_id in sorted(texts.keys() | numbers.keys()):
            earlier = history.get(key_id, [])
            table = "decisions" if key_id in texts else "decisions_numeric"
            known = self._known(texts.get(key_id), numbers.get(key_id))
            states = self._changes([*_earlier(earlier, is_number=key_id not in texts), *known])
            began = min(one["at"] for one in (*earlier, *known))
            _give_rationales(states, rationales.get(key_id, []))
            line = self._line(key_id, known[-1]["key"], began, states)
            line |= {"tags": tags.get(key_id), "scopes": scopes.get(key_id)}
            yield tables.name(table), known[-1]["row"], line
        for key_id in sorted(history.keys() - self._keys("decisions") - self._keys("decisions_numeric")):
            for one in history[key_id]:
                tables.trouble("decision_history", f"id {one['id']}", f"key_id {key_id} has no decision any more")

    def _keys(self, table: str) -> set[int | None]:
        return {number_of(key) for (key,) in self._tables.rows(table, "key_id")}

    def _line(self, key_id: int, key: str, began: int, states: Sequence[Fields]) -> Line:
        *earlier, current = states
        self.unknown += sum("status" not in state for state in earlier)
        replaced = [state["at"] for state in states[1:]]
        return {
            "kind": "decision",
            "uid": identity("sqlew", "decision", self._tables.project_id, key_id, key).hex(),
            "key": key,
            **_said(current),
            "revision": len(states),
            "created_at": iso(began),
            "updated_at": iso(current["at"]),
            "history": [
                {**_said(state), "revision": place, "set_at": iso(state["at"]), "replaced_at": iso(at)}
                for place, (state, at) in enumerate(zip(earlier, replaced, strict=True), 1)
            ],
        }

    def _values(self, table: str, mirrored: Collection[int | None]) -> dict[int, Fields]:
        """Return the current state of each key in one of the value tables.

        Args:
            mirrored: keys whose number stands in the other table; sqlew 3.9 and later put an empty text beside it.
        """
        found: dict[int, Fields] = {}
        for state in self._tables.read(_CURRENT, table, "key_id"):
            if state["value"] is not None:
                found[state["key_id"]] = state
            elif state["key_id"] not in mirrored:
                self._tables.trouble(table, state["row"], "its value is empty")
        return found

    def _known(self, text: Fields | None, number: Fields | None) -> list[Fields]:
        """Return what the value tables say of a key, the current state last.

        Set in the same second, the text is current: sqlew itself shows nothing but texts.
        """
        if text is None or number is None:
            return [state for state in (text, number) if state is not None]
        known = sorted((number, text), key=lambda state: state["at"])
        current = "text" if known[-1] is text else "number"
        key = repr(text["key"])
        reason = f"{key} has both a number and a text: the {current} is newer and current, the other became history"
        self._tables.trouble("decisions_numeric", f"key of {key}", reason, left_out=False)
        return known

    def _changes(self, states: Sequence[Fields]) -> list[Fields]:
        """Return the states without those that the next one repeats, as far as both are known."""
        told = ("value", "version", "status", "layer")
        kept = [
            one
            for one, following in pairwise(states)
            if any(one[name] != following.get(name) for name in told if name in one)
        ]
        self.unchanged += len(states) - 1 - len(kept)
        return [*kept, states[-1]]

    def _linked(self, what: str) -> dict[int, list[str]]:
        """Return the tags or scopes of each key."""
        table = f"decision_{what}s"
        if self._tables.has(table, "decision_key_id") or not self._tables.has(table, "decision_id"):
            return self._tables.linked("decision", what, lambda key: key, "decision_key_id")
        rows = self._tables.rows("decisions", "id", "key_id")
        return self._tables.linked("decision", what, {number_of(one): number_of(key) for one, key in rows}.get)


def _said(state: Fields) -> Line:
    """Return what a line says of a state; of an earlier one what sqlew kept, which is its value, version and author."""
    value = state["value"]
    return {
        "value": value if isinstance(value, str) else value_of(None, value),
        "status": STATUSES[state.get("status", _ACTIVE) - 1],
        "version": state["version"] or DEFAULT_VERSION,
        "layer": state.get("layer"),
        "agent": state["agent"],
        "rationale": state.get("rationale"),
    }


def _earlier(past: Sequence[Fields], *, is_number: bool) -> list[Fields]:
    """Turn rows of the history into states; what sqlew did not record of them is not known."""
    return [
        {name: row[name] for name in ("version", "agent", "at")}
        | {"value": _number_or_text(row["value"]) if is_number else row["value"]}
        for row in past
    ]


def _by_key(rows: Sequence[Fields]) -> dict[int, list[Fields]]:
    """Return the rows of each key, the oldest first."""
    found: dict[int, list[Fields]] = defaultdict(list)
    for row in rows:
        found[row["key_id"]].append(row)
    return {key: sorted(of_key, key=lambda one: (one["at"], one["id"])) for key, of_key in found.items()}


def _give_rationales(states: Sequence[Fields], rationales: Sequence[Fields]) -> None:
    """Give each state the rationales of its time; the current one has the last of all where it has none of its own."""
    left = list(rationales)
    last: str | None = None
    for place, state in enumerate(states):
        end = states[place + 1]["at"] if place + 1 < len(states) else math.inf
        own: list[str] = []
        while left and left[0]["at"] < end:
            own.append(left.pop(0)["text"])
        last = "\n\n".join(dict.fromkeys(own)) or last
        state["rationale"] = last if own or place + 1 == len(states) else None


def _listed(title: str, value: Value) -> list[str]:
    """Render alternatives or trade-offs, which sqlew keeps as JSON, as one line of a rationale."""
    text = optional_text(value, title.lower())
    if text is None:
        return []
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = text
    if isinstance(parsed, dict):
        parsed = [f"{name}: {_joined(part)}" for name, part in parsed.items()]
    shown = _joined(parsed)
    return [f"{title}: {shown}"] if shown else []


def _joined(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(map(_joined, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _number_or_text(text: str) -> str | float:
    """Read a number of the history, which sqlew keeps as the text JavaScript makes of it."""
    try:
        number = float(text)
    except ValueError:
        return text
    is_exact = math.isfinite(number) and "_" not in text and not (number.is_integer() and abs(number) >= LARGEST_WHOLE)
    return number if is_exact else text
