"""Reading the decisions of a sqlew database: two value tables, a history of values, tags, scopes and rationales."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from satchel.base.clock import iso
from satchel.keep.decisions.records import DEFAULT_VERSION, STATUSES
from satchel.keep.decisions.state import LARGEST_WHOLE
from satchel.keep.importing.sqlew_tables import Names, SqlewTables, milliseconds, named, time
from satchel.keep.importing.tables import Fields, Row, column, columns
from satchel.keep.importing.values import Unreadable, described, identity, number_of, one_of, optional_text, text_of
from satchel.keep.moving.fields import Line
from satchel.store.foreign import Value

_ACTIVE = 1
_LATER_STATUSES = {4: "in_progress", 5: "in_review", 6: "implemented"}
"""Of sqlew 5, whose own hooks write the last two as active."""


def _key(value: Value, _: str = "") -> int:
    key_id = number_of(value)
    if key_id is None:
        raise Unreadable("it belongs to no key")
    return key_id


def _reasons(_: Row, why: Value, alternatives: Value, tradeoffs: Value) -> str:
    parts = [text_of(why, "rationale")]
    parts += _listed("Alternatives considered", alternatives)
    parts += _listed("Trade-offs", tradeoffs)
    return "\n".join(parts)


_ID = columns("id", read=lambda _, value: number_of(value) or 0)
_PAST = {
    "key_id": column("key_id", _key),
    "id": _ID,
    "at": time(),
    # sqlew 3.9 and later record an empty text for a number, which is none
    "value": columns("value", read=lambda _, value: None if value == "" else text_of(value, "value")),
    "version": column("version", optional_text),
    "agent": named("agent_id", "agents"),
}
_RATIONALE = {
    "key_id": column("decision_key_id", _key),
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
        self.unchanged = 0
        self.unknown = self.without_value = 0

    def lines(self) -> Iterator[tuple[str, str, Line]]:
        """Yield a line of every decision that can be read, by the numbers of their keys."""
        keys = self._tables.names("context_keys")
        numbers = self._values("decisions_numeric", ())
        texts = self._values("decisions", numbers.keys())
        past = self._tables.read(_PAST, "decision_history", "id")
        self.without_value = sum(row["value"] is None for row in past)
        history = _by_key([row for row in past if row["value"] is not None])
        rationales = _by_key(self._tables.read(_RATIONALE, "decision_context", "id"))
        tags = self._linked("decision_tags", "tag_id", self._tables.names("tags"))
        scopes = self._linked("decision_scopes", "scope_id", self._tables.names("scopes"))
        for key_id in sorted(texts.keys() | numbers.keys()):
            earlier = history.pop(key_id, [])
            table = "decisions" if key_id in texts else "decisions_numeric"
            try:
                key = keys.need(key_id, "key_id")
            except Unreadable as error:
                self._tables.trouble(table, f"key_id {key_id}", str(error))
                continue
            known = self._known(key, texts.get(key_id), numbers.get(key_id))
            if known:
                is_number = not any(isinstance(state["value"], str) for state in known)
                states = self._changes([*_earlier(earlier, is_number=is_number), *known])
                began = min(one["at"] for one in (*earlier, *known))
                _give_rationales(states, rationales.get(key_id, []))
                line = self._line(key_id, key, began, states)
                line |= {"tags": tags.get(key_id), "scopes": scopes.get(key_id)}
                row = f"key_id {key_id}"
                self._tables.say_of_large(table, row, line)
                yield self._tables.name(table), row, line
        for key_id, rows in history.items():
            for one in rows:
                self._tables.trouble("decision_history", f"id {one['id']}", f"key_id {key_id} has no decision any more")

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

    def _values(self, table: str, mirrored: Collection[int]) -> dict[int, Fields | None]:
        """Return the current state of each key in one of the value tables, None where it cannot be read.

        Args:
            mirrored: keys whose number stands in the other table; sqlew 3.9 and later put an empty text beside it.
        """
        found: dict[int, Fields | None] = {}
        columns = ("key_id", "value", "agent_id", "layer_id", "version", "status", "ts")
        for key, value, *rest in self._tables.rows(table, *columns):
            key_id = number_of(key)
            if key_id is None:
                self._tables.trouble(table, f"key_id {described(key)}", "it belongs to no key")
                continue
            if value == "" and key_id in mirrored:
                continue
            try:
                found[key_id] = self._state(table, key_id, value, *rest)
            except Unreadable as error:
                found[key_id] = None
                self._tables.trouble(table, f"key_id {key_id}", str(error))
        return found

    def _state(
        self,
        table: str,
        key_id: int,
        value: Value,
        agent: Value,
        layer: Value,
        version: Value,
        status: Value,
        at: Value,
    ) -> Fields:
        row = f"key_id {key_id}"
        known = number_of(status)
        if known in _LATER_STATUSES:
            reason = f"its status is {_LATER_STATUSES[known]}, which is active here"
            self._tables.trouble(table, row, reason, left_out=False)
            status = _ACTIVE
        return {
            "value": text_of(value, "value") if table == "decisions" else _finite(value),
            "version": optional_text(version, "version"),
            "status": one_of(status, "status", len(STATUSES), _ACTIVE),
            "layer": self._tables.known("layers").get(layer, "layer_id", table, row),
            "agent": self._tables.known("agents").get(agent, "agent_id", table, row),
            "at": milliseconds(at),
        }

    def _known(self, key: str, text: Fields | None, number: Fields | None) -> list[Fields]:
        """Return what the value tables say of a key, the current state last.

        Set in the same second, the text is current: sqlew itself shows nothing but texts.
        """
        if text is None or number is None:
            return [state for state in (text, number) if state is not None]
        known = sorted((number, text), key=lambda state: state["at"])
        current = "text" if known[-1] is text else "number"
        reason = f"{key!r} has both a number and a text: the {current} is newer and current, the other became history"
        self._tables.trouble("decisions_numeric", f"key of {key!r}", reason, left_out=False)
        return known

    def _changes(self, states: Sequence[Fields]) -> list[Fields]:
        """Return the states without those that the next one repeats, as far as both are known."""
        kept = [
            one for one, following in pairwise(states) if any(one[name] != following.get(name) for name in _told(one))
        ]
        self.unchanged += len(states) - 1 - len(kept)
        return [*kept, states[-1]]

    def _linked(self, table: str, column: str, names: Names) -> dict[int, list[str]]:
        """Return the tags or scopes of each key."""
        by_key = self._tables.has(table, "decision_key_id") or not self._tables.has(table, "decision_id")
        key_of = {} if by_key else self._keys_of_decisions()
        found: dict[int, list[str]] = defaultdict(list)
        for decision, name in self._tables.rows(table, "decision_key_id|decision_id", column):
            number = number_of(decision)
            row = f"decision {described(decision)}"
            key = number if by_key else key_of.get(number)
            if key is None:
                self._tables.trouble(table, row, "it belongs to no decision")
                continue
            known = names.get(name, column, table, row)
            if known is not None:
                found[key].append(known)
        return found

    def _keys_of_decisions(self) -> dict[int | None, int | None]:
        return {number_of(number): number_of(key) for number, key in self._tables.rows("decisions", "id", "key_id")}


def _said(state: Fields) -> Line:
    """Return what a line says of a state; of an earlier one what sqlew kept, which is its value, version and author."""
    return {
        "value": _shown(state["value"]),
        "status": STATUSES[state.get("status", _ACTIVE) - 1],
        "version": state["version"] or DEFAULT_VERSION,
        "layer": state.get("layer"),
        "agent": state["agent"],
        "rationale": state.get("rationale"),
    }


def _shown(value: str | float) -> str | int | float:
    if isinstance(value, str) or not value.is_integer():
        return value
    return int(value) if abs(value) <= LARGEST_WHOLE else str(int(value))


def _earlier(past: Sequence[Fields], *, is_number: bool) -> list[Fields]:
    """Turn rows of the history into states; what sqlew did not record of them is not known."""
    return [
        {name: row[name] for name in ("version", "agent", "at")}
        | {"value": _number_or_text(row["value"]) if is_number else row["value"]}
        for row in past
    ]


def _told(state: Fields) -> list[str]:
    return [name for name in ("value", "version", "status", "layer") if name in state]


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


def _finite(value: Value) -> float:
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Unreadable(f"its value is {described(value)}, not a finite number")
    return float(value)


def _number_or_text(text: str) -> str | float:
    """Read a number of the history, which sqlew keeps as the text JavaScript makes of it."""
    try:
        number = float(text)
    except ValueError:
        return text
    is_exact = math.isfinite(number) and "_" not in text and not (number.is_integer() and abs(number) >= LARGEST_WHOLE)
    return number if is_exact else text
