"""Reader for sqlew databases: decisions with their history, rules, messages and file changes."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

from satchel.base.clock import iso
from satchel.base.vocabulary import PRIORITIES
from satchel.keep.decisions.records import DEFAULT_VERSION, LARGEST_WHOLE, STATUSES, value_of
from satchel.keep.files.records import CHANGES
from satchel.keep.importing.sqlew_tables import SqlewTables, optional_name, required_name, time
from satchel.keep.importing.tables import (
    Fields,
    Row,
    Unreadable,
    column,
    columns,
    described,
    identity,
    number_of,
    optional_text,
    text_of,
    whole,
)
from satchel.keep.kind import Line
from satchel.keep.messages.records import MESSAGE_TYPES
from satchel.keep.moving.records import Arriving
from satchel.keep.texts import parse_json, to_json
from satchel.store.foreign import Value, open_foreign

_ACTIVE = 1

# statuses of sqlew 5; its own hooks write the last two as active
_LATER_STATUSES = {4: "in_progress", 5: "in_review", 6: "implemented"}


def _decision_value(row: Row, value: Value) -> object:
    # since 3.9 an empty text means that the value is a number
    if value == "":
        return None
    if row.table != "decisions_numeric":
        return text_of(value, "value")
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Unreadable(f"its value is {described(value)}, not a finite number")
    if abs(value) > LARGEST_WHOLE:
        row.problems.append(f"its value {int(value)} is beyond 2^53; imported as text")
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
    "value": columns("value", read=_decision_value),
    "version": column("version", optional_text),
    "status": columns("status", read=_status),
    "key": required_name("key_id", "context_keys"),
    "layer": optional_name("layer_id", "layers"),
    "agent": optional_name("agent_id", "agents"),
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
    """Reader for decisions; it counts the history rows that it leaves out (unchanged, without_value) or completes."""

    def __init__(self, tables: SqlewTables) -> None:
        self._tables = tables
        self.unchanged = self.unknown = self.without_value = 0

    def lines(self) -> Iterator[tuple[str, str, Line]]:
        """Yield a line for each readable decision, ordered by key id."""
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
            current = self._current_states(texts.get(key_id), numbers.get(key_id))
            states = self._changes([*_earlier(earlier, is_number=key_id not in texts), *current])
            began = min(one["at"] for one in (*earlier, *current))
            _give_rationales(states, rationales.get(key_id, []))
            line = self._line(key_id, current[-1]["key"], began, states)
            line |= {"tags": tags.get(key_id), "scopes": scopes.get(key_id)}
            yield tables.name(table), current[-1]["row"], line
        for key_id in sorted(history.keys() - self._keys("decisions") - self._keys("decisions_numeric")):
            for one in history[key_id]:
                tables.trouble("decision_history", f"id {one['id']}", f"key_id {key_id} has no decision")

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
            **_state_fields(current),
            "revision": len(states),
            "created_at": iso(began),
            "updated_at": iso(current["at"]),
            "history": [
                {**_state_fields(state), "revision": place, "set_at": iso(state["at"]), "replaced_at": iso(at)}
                for place, (state, at) in enumerate(zip(earlier, replaced, strict=True), 1)
            ],
        }

    def _values(self, table: str, mirrored: Collection[int | None]) -> dict[int, Fields]:
        # since 3.9 sqlew also stores an empty text for the number of a mirrored key
        by_key: dict[int, Fields] = {}
        for state in self._tables.read(_CURRENT, table, "key_id"):
            if state["value"] is not None:
                by_key[state["key_id"]] = state
            elif state["key_id"] not in mirrored:
                self._tables.trouble(table, state["row"], "its value is empty")
        return by_key

    def _current_states(self, text: Fields | None, number: Fields | None) -> list[Fields]:
        if text is None or number is None:
            return [state for state in (text, number) if state is not None]
        states = sorted((number, text), key=lambda state: state["at"])
        current = "text" if states[-1] is text else "number"
        key = repr(text["key"])
        reason = f"{key} has both a number and a text: the {current} is current, the older is in the history"
        self._tables.trouble("decisions_numeric", f"key of {key}", reason, left_out=False)
        return states

    def _changes(self, states: Sequence[Fields]) -> list[Fields]:
        compared = ("value", "version", "status", "layer")
        changes = [
            one
            for one, following in pairwise(states)
            if any(one[name] != following.get(name) for name in compared if name in one)
        ]
        self.unchanged += len(states) - 1 - len(changes)
        return [*changes, states[-1]]

    def _linked(self, what: str) -> dict[int, list[str]]:
        table = f"decision_{what}s"
        if self._tables.has(table, "decision_key_id") or not self._tables.has(table, "decision_id"):
            return self._tables.linked("decision", what, lambda key: key, "decision_key_id")
        rows = self._tables.rows("decisions", "id", "key_id")
        return self._tables.linked("decision", what, {number_of(one): number_of(key) for one, key in rows}.get)


def _state_fields(state: Fields) -> Line:
    # sqlew records only value, version and author of earlier states
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
    return [
        {name: row[name] for name in ("version", "agent", "at")}
        | {"value": _number_or_text(row["value"]) if is_number else row["value"]}
        for row in past
    ]


def _by_key(rows: Sequence[Fields]) -> dict[int, list[Fields]]:
    by_key: dict[int, list[Fields]] = defaultdict(list)
    for row in rows:
        by_key[row["key_id"]].append(row)
    return {key: sorted(of_key, key=lambda one: (one["at"], one["id"])) for key, of_key in by_key.items()}


def _give_rationales(states: Sequence[Fields], rationales: Sequence[Fields]) -> None:
    # a current state without its own rationale gets the last one
    remaining = list(rationales)
    last: str | None = None
    for place, state in enumerate(states):
        end = states[place + 1]["at"] if place + 1 < len(states) else math.inf
        own: list[str] = []
        while remaining and remaining[0]["at"] < end:
            own.append(remaining.pop(0)["text"])
        last = "\n\n".join(dict.fromkeys(own)) or last
        state["rationale"] = last if own or place + 1 == len(states) else None


def _listed(title: str, value: Value) -> list[str]:
    text = optional_text(value, title.lower())
    if text is None:
        return []
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = text
    if isinstance(parsed, dict):
        parsed = [f"{name}: {_joined(part)}" for name, part in parsed.items()]
    rendered = _joined(parsed)
    return [f"{title}: {rendered}"] if rendered else []


def _joined(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(map(_joined, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _number_or_text(text: str) -> str | float:
    # sqlew stores a number as the text JavaScript makes of it
    try:
        number = float(text)
    except ValueError:
        return text
    is_exact = math.isfinite(number) and "_" not in text and not (number.is_integer() and abs(number) >= LARGEST_WHOLE)
    return number if is_exact else text


_MEDIUM = 2
_PRIORITY = partial(whole, least=1, most=4, default=_MEDIUM)
_INACTIVE = "inactive in sqlew"

# the text of a message stored without one
_NO_TEXT = "(sqlew stored no text of this message)"

_Lines = Iterator[tuple[str, str, Line]]
_Describe = Callable[[Fields], tuple[tuple[object, ...], Line]]


def read_sqlew(file: Path, source_project: str | None = None) -> Arriving:
    """Read all readable items of one project of a sqlew database; None as ``source_project`` takes the only project."""
    with open_foreign(file) as database:
        tables = SqlewTables(database, str(file))
        tables.choose_project(source_project)
        reader = DecisionReader(tables)
        # problems with the file surface before anything is imported
        lines = [*reader.lines(), *_constraints(tables)]
        messages = tables.read(_MESSAGE, "agent_messages", "id")
        lines += [*_messages(tables, messages), *_changes(tables)]
        noted = _noted(tables, reader, messages)
        return tables.arriving(file, f"sqlew, project {tables.project_id}", lines, noted)


def _noted(tables: SqlewTables, reader: DecisionReader, messages: list[Fields]) -> tuple[tuple[object, str], ...]:
    silent = sum(message["text"] is None for message in messages)
    announced = sum(message["read"] and message["to"] is None for message in messages)
    return (
        (tables.has_older_set, "the database also has tables of an older sqlew, which were skipped"),
        (not tables.has("agents"), "this sqlew records no agents, so imported items have no authors"),
        (reader.unchanged, f"earlier states of decisions equal to the next state, dropped: {reader.unchanged}"),
        (
            reader.unknown,
            "earlier states stored with value, version, author and time only, imported as active without layer, "
            f"tags and scopes: {reader.unknown}",
        ),
        (reader.without_value, f"earlier states of numbers without a recorded value, left out: {reader.without_value}"),
        (silent, f"messages without a stored text, imported with their payload only: {silent}"),
        (announced, f"messages to all that were read; sqlew does not record by whom, so they stay unread: {announced}"),
    )


_CONSTRAINT = {
    "id": column("id", whole),
    "category": required_name("category_id", "constraint_categories"),
    "text": column("constraint_text", text_of),
    "priority": column("priority", _PRIORITY),
    "layer": optional_name("layer_id", "layers"),
    "agent": optional_name("created_by|agent_id", "agents"),
    "active": column("active|is_active", partial(whole, most=1, default=1)),
    "reason": column("reason", optional_text),
    "at": time(),
}


def _lines(tables: SqlewTables, table: str, kind: str, rows: list[Fields], describe: _Describe) -> _Lines:
    for one in sorted(rows, key=lambda row: (row["at"], row["id"])):
        parts, fields = describe(one)
        uid = identity("sqlew", kind, tables.project_id, one["id"], one["at"], *parts).hex()
        line = {"kind": kind, "uid": uid, "created_at": iso(one["at"]), **fields}
        yield tables.name(table), one["row"], line


def _constraints(tables: SqlewTables) -> _Lines:
    numbers = {number_of(number) for (number,) in tables.rows("constraints", "id")}
    tags = tables.linked("constraint", "tag", lambda number: number if number in numbers else None)

    def describe(one: Fields) -> tuple[tuple[object, ...], Line]:
        # here a reason explains why a rule ended
        text = one["text"] if one["reason"] is None else f"{one['text']}\n\nWhy: {one['reason']}"
        fields = {name: one[name] for name in ("category", "layer", "agent")}
        fields |= {"text": text, "priority": PRIORITIES[one["priority"] - 1], "tags": tags.get(one["id"])}
        if one["active"]:
            return (text.strip(),), fields | {"status": "active"}
        return (text.strip(),), fields | {"status": "inactive", "reason": _INACTIVE}

    return _lines(tables, "constraints", "constraint", tables.read(_CONSTRAINT, "constraints", "id"), describe)


def _payload(row: Row, payload: Value) -> object:
    text = optional_text(payload, "payload")
    if text is None:
        value: object = None
    else:
        try:
            value = parse_json(text)
        except (ValueError, RecursionError):
            row.problems.append("its payload is not JSON; it was imported as text")
            value = text
    if value is None and row.fields["text"] is None:
        raise Unreadable("it has neither a text nor a payload")
    return value


_MESSAGE = {
    "text": column("message", optional_text),
    "payload": columns("payload", read=_payload),
    "id": column("id", whole),
    "from": optional_name("from_agent_id", "agents"),
    "to": required_name("to_agent_id", "agents", is_optional=True),
    "type": column("msg_type", partial(whole, least=1, most=4)),
    "priority": column("priority", _PRIORITY),
    "read": column("read", partial(whole, most=1, default=0)),
    "at": time(),
}


def _messages(tables: SqlewTables, messages: list[Fields]) -> _Lines:
    def describe(one: Fields) -> tuple[tuple[object, ...], Line]:
        text = _NO_TEXT if one["text"] is None else one["text"].strip()
        fields = {name: one[name] for name in ("from", "to", "payload")} | {"message": text}
        fields |= {"type": MESSAGE_TYPES[one["type"] - 1], "priority": PRIORITIES[one["priority"] - 1]}
        if one["read"] and one["to"] is not None:
            # sqlew's read flag belongs to the addressee, at the message's own time; to all, it belongs to nobody
            fields["reads"] = [{"agent": one["to"], "read_at": iso(one["at"])}]
        return (text, None if one["payload"] is None else to_json(one["payload"])), fields

    return _lines(tables, "agent_messages", "message", messages, describe)


_CHANGE = {
    "id": column("id", whole),
    "file": required_name("file_id", "files"),
    "change": column("change_type", partial(whole, least=1, most=3)),
    "agent": optional_name("agent_id", "agents"),
    "layer": optional_name("layer_id", "layers"),
    "description": column("description", optional_text),
    "at": time(),
}


def _changes(tables: SqlewTables) -> _Lines:
    def describe(one: Fields) -> tuple[tuple[object, ...], Line]:
        fields = {name: one[name] for name in ("file", "agent", "layer", "description")}
        return (one["file"], one["change"]), fields | {"change": CHANGES[one["change"] - 1]}

    return _lines(tables, "file_changes", "file_change", tables.read(_CHANGE, "file_changes", "id"), describe)
