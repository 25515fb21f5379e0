"""Reading the decisions of a sqlew database: two value tables, a history of values, tags, scopes and rationales."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import TypeVar

from satchel.base.records import dataclass, replace
from satchel.keep.importing.sqlew_records import ForeignDecision, ForeignState, named, time
from satchel.keep.importing.sqlew_tables import Names, SqlewTables, milliseconds
from satchel.keep.importing.tables import Row, column, columns
from satchel.keep.importing.values import Unreadable, described, number_of, one_of, optional_text, text_of
from satchel.store.foreign import Value

_ACTIVE, _STATUSES = 1, 3
_LATER_STATUSES = {4: "in_progress", 5: "in_review", 6: "implemented"}
"""Of sqlew 5, whose own hooks write the last two as active."""


def _key(value: Value, _: str) -> int:
    key_id = number_of(value)
    if key_id is None:
        raise Unreadable("it belongs to no key")
    return key_id


def _recorded_key(_: Row[SqlewTables], key: Value, value: Value) -> int:
    key_id = _key(key, "key_id")
    if value == "":
        raise Unreadable("its value is empty: sqlew 3.9 and later record none for a number")
    return key_id


@dataclass(frozen=True, slots=True, kw_only=True)
class _Past:
    """A row of the history."""

    key_id: int = columns("key_id", "value", read=_recorded_key)
    id: int = columns("id", read=lambda _, value: number_of(value) or 0)
    at: int = time()
    value: str = column("value", text_of)
    version: str | None = column("version", optional_text)
    agent: str | None = named("agent_id", "agents")


def _reasons(_: Row[SqlewTables], why: Value, alternatives: Value, tradeoffs: Value) -> str:
    parts = [text_of(why, "rationale")]
    parts += _listed("Alternatives considered", alternatives)
    parts += _listed("Trade-offs", tradeoffs)
    return "\n".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rationale:
    """A row that says why a key was decided so."""

    key_id: int = column("decision_key_id", _key)
    text: str = columns("rationale", "alternatives_considered", "tradeoffs", read=_reasons)
    at: int = time("ts|decision_date")
    id: int = columns("id", read=lambda _, value: number_of(value) or 0)


_OfKey = TypeVar("_OfKey", _Past, _Rationale)


class DecisionReader:
    """Reads decisions.

    Attributes:
        rows: how many keys have a value there, readable or not.
        unchanged: how many rows of the history were dropped because what followed was the same.
    """

    def __init__(self, tables: SqlewTables) -> None:
        self._tables = tables
        self.rows = 0
        self.unchanged = 0

    def read(self) -> tuple[ForeignDecision, ...]:
        """Return every decision that can be read, by the numbers of their keys."""
        keys = self._tables.names("context_keys")
        numbers = self._values("decisions_numeric", ())
        texts = self._values("decisions", numbers.keys())
        history = _by_key(self._tables.read(_Past, "decision_history", "id"))
        rationales = _by_key(self._tables.read(_Rationale, "decision_context", "id"))
        tags = self._linked("decision_tags", "tag_id", self._tables.names("tags"))
        scopes = self._linked("decision_scopes", "scope_id", self._tables.names("scopes"))
        every = sorted(texts.keys() | numbers.keys())
        self.rows += len(every)
        found: list[ForeignDecision] = []
        for key_id in every:
            past = history.pop(key_id, [])
            table = "decisions" if key_id in texts else "decisions_numeric"
            try:
                key = keys.need(key_id, "key_id")
            except Unreadable as error:
                self._tables.trouble(table, f"key_id {key_id}", str(error))
                continue
            known = self._known(key, texts.get(key_id), numbers.get(key_id))
            if not known:
                continue
            is_number = not any(isinstance(state.value, str) for state in known)
            every_state = [*self._earlier(past, known[0], is_number=is_number), *known]
            found.append(
                ForeignDecision(
                    key_id=key_id,
                    key=key,
                    created_at=min(state.set_at for state in every_state),
                    states=_with_rationales(self._changes(every_state), rationales.get(key_id, [])),
                    tags=tuple(tags.get(key_id, ())),
                    scopes=tuple(scopes.get(key_id, ())),
                )
            )
        for key_id, rows in history.items():
            for row in rows:
                self._tables.trouble("decision_history", f"id {row.id}", f"key_id {key_id} has no decision any more")
        return tuple(found)

    def _values(self, table: str, mirrored: Collection[int]) -> dict[int, ForeignState | None]:
        """Return the current state of each key in one of the value tables, None where it cannot be read.

        Args:
            mirrored: keys whose number stands in the other table; sqlew 3.9 and later put an empty text beside it.
        """
        found: dict[int, ForeignState | None] = {}
        columns = ("key_id", "value", "agent_id", "layer_id", "version", "status", "ts")
        for key, value, *rest in self._tables.rows(table, *columns):
            key_id = number_of(key)
            if key_id is None:
                self.rows += 1
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
    ) -> ForeignState:
        row = f"key_id {key_id}"
        known = number_of(status)
        if known in _LATER_STATUSES:
            reason = f"its status is {_LATER_STATUSES[known]}, which is active here"
            self._tables.trouble(table, row, reason, left_out=False)
            status = _ACTIVE
        return ForeignState(
            value=text_of(value, "value") if table == "decisions" else _finite(value),
            version=optional_text(version, "version"),
            status=one_of(status, "status", _STATUSES, _ACTIVE),
            layer=self._tables.known("layers").get(layer, "layer_id", table, row),
            agent=self._tables.known("agents").get(agent, "agent_id", table, row),
            rationale=None,
            set_at=milliseconds(at),
        )

    def _known(self, key: str, text: ForeignState | None, number: ForeignState | None) -> list[ForeignState]:
        """Return what the value tables say of a key, the current state last.

        Set in the same second, the text is current: sqlew itself shows nothing but texts.
        """
        if text is None or number is None:
            return [state for state in (text, number) if state is not None]
        known = sorted((number, text), key=lambda state: state.set_at)
        current = "text" if known[-1] is text else "number"
        reason = f"{key!r} has both a number and a text: the {current} is newer and current, the other became history"
        self._tables.trouble("decisions_numeric", f"key of {key!r}", reason, left_out=False)
        return known

    def _earlier(self, past: Sequence[_Past], known: ForeignState, *, is_number: bool) -> list[ForeignState]:
        """Turn rows of the history into states; what sqlew did not record is as in the oldest state that is known."""
        return [
            replace(
                known,
                value=_number_or_text(row.value) if is_number else row.value,
                version=row.version,
                agent=row.agent,
                set_at=row.at,
            )
            for row in past
        ]

    def _changes(self, states: Sequence[ForeignState]) -> list[ForeignState]:
        """Return the states without those that the next one repeats."""
        kept = [
            state
            for state, following in pairwise(states)
            if (state.value, state.version, state.status, state.layer)
            != (following.value, following.version, following.status, following.layer)
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


def _by_key(rows: Sequence[_OfKey]) -> dict[int, list[_OfKey]]:
    """Return the rows of each key, the oldest first."""
    found: dict[int, list[_OfKey]] = defaultdict(list)
    for row in rows:
        found[row.key_id].append(row)
    return {key: sorted(of_key, key=lambda one: (one.at, one.id)) for key, of_key in found.items()}


def _with_rationales(states: Sequence[ForeignState], rationales: Sequence[_Rationale]) -> tuple[ForeignState, ...]:
    """Give each state the rationales of its time; one without any keeps those of the state before."""
    left = list(rationales)
    done: list[ForeignState] = []
    for place, state in enumerate(states):
        end = states[place + 1].set_at if place + 1 < len(states) else math.inf
        own: list[str] = []
        while left and left[0].at < end:
            own.append(left.pop(0).text)
        before = done[-1].rationale if done else None
        done.append(replace(state, rationale="\n\n".join(dict.fromkeys(own)) or before))
    return tuple(done)


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
    return number if math.isfinite(number) and "_" not in text else text
