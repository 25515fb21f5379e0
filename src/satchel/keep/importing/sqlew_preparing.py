"""What was read of a sqlew database, made ready to be kept: checked, cleaned, and given its lasting identity."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from satchel.base.errors import InvalidInput, SatchelError
from satchel.base.vocabulary import PRIORITIES
from satchel.keep import names
from satchel.keep.constraints import updates as constraint_writing
from satchel.keep.decisions import updates as decision_writing
from satchel.keep.decisions.records import STATUSES, Keep, NewDecision, Value
from satchel.keep.importing.records import Trouble
from satchel.keep.importing.sqlew_records import (
    ForeignConstraint,
    ForeignDecision,
    ForeignFileChange,
    ForeignMessage,
    ForeignState,
    SqlewStore,
)
from satchel.keep.importing.values import identity
from satchel.keep.messages.updates import storable_payload
from satchel.keep.projects import Workplace
from satchel.keep.texts import check_content, storable, to_json

NO_TEXT = "(no text was kept of this message)"
"""What a message says that another tool kept without its text."""

_TOOL = "sqlew"

Foreign = TypeVar("Foreign", ForeignConstraint, ForeignMessage, ForeignFileChange)
Ready = TypeVar("Ready")
Given = TypeVar("Given")


@dataclass(frozen=True, slots=True)
class ReadyState:
    """One state of a decision, ready to be stored as it is."""

    value: Value
    status: int
    version: str
    layer: str | None
    tags: tuple[str, ...]
    scopes: tuple[str, ...]
    rationale: str | None
    agent: str | None
    set_at: int


@dataclass(frozen=True, slots=True)
class ReadyDecision:
    """A decision, ready to be stored.

    Attributes:
        states: the oldest first; the last is the current one.
    """

    uid: bytes
    key: str
    states: tuple[ReadyState, ...]

    @property
    def weight(self) -> int:
        """How many changes of the store it takes."""
        return len(self.states)


@dataclass(frozen=True, slots=True)
class ReadyConstraint:
    """A constraint, ready to be stored."""

    uid: bytes
    content: constraint_writing.Prepared
    agent: str | None
    active: bool
    created_at: int
    weight: int = 1


@dataclass(frozen=True, slots=True)
class ReadyMessage:
    """A message, ready to be stored.

    Attributes:
        read: whether its addressee has read it.
    """

    uid: bytes
    sender: str | None
    to: str | None
    type: int
    priority: int
    text: str
    payload: str | None
    read: bool
    created_at: int
    weight: int = 1


@dataclass(frozen=True, slots=True)
class ReadyFileChange:
    """A recorded edit, ready to be stored."""

    uid: bytes
    file: str
    change: int
    agent: str | None
    layer: str | None
    description: str | None
    created_at: int
    weight: int = 1


class SqlewPreparation:
    """Everything of a sqlew database that can be kept, and what cannot.

    Attributes:
        troubles: what could not be read, or only in part.
    """

    def __init__(self, store: SqlewStore, workplace: Workplace) -> None:
        self._workplace = workplace
        self._source = store.project_id
        self.troubles = list(store.troubles)
        decisions, constraints, messages, changes = store.tables
        self.decisions = [ready for one in store.decisions if (ready := self._decision(one, decisions)) is not None]
        self.constraints = list(self._each(constraints, store.constraints, self._constraint))
        self.messages = list(self._each(messages, store.messages, self._message))
        self.file_changes = list(self._each(changes, store.file_changes, self._file_change))

    @property
    def total(self) -> int:
        """How many items there are."""
        return len(self.decisions) + len(self.constraints) + len(self.messages) + len(self.file_changes)

    def _each(self, table: str, items: Iterable[Foreign], prepare: Callable[[Foreign, str], Ready]) -> Iterable[Ready]:
        for item in items:
            try:
                ready = prepare(item, table)
            except SatchelError as error:
                self.troubles.append(Trouble(table, f"id {item.id}", error.problem))
                continue
            yield ready

    def _note(self, table: str, row: str, notes: Iterable[str]) -> None:
        self.troubles.extend(Trouble(table, row, note, left_out=False) for note in notes)

    def _decision(self, one: ForeignDecision, table: str) -> ReadyDecision | None:
        row = f"key_id {one.key_id}"
        states: list[ReadyState] = []
        for place, state in enumerate(one.states):
            is_current = place == len(one.states) - 1
            try:
                ready, notes = self._state(one, state)
            except SatchelError as error:
                reason = error.problem if is_current else f"its state of {state.set_at // 1_000}: {error.problem}"
                self.troubles.append(Trouble(table, row, reason, left_out=is_current))
                if is_current:
                    return None
                continue
            self._note(table, row, notes)
            states.append(ready)
        states[0] = replace(states[0], set_at=min(one.created_at, states[0].set_at))
        return ReadyDecision(identity(_TOOL, "decision", self._source, one.key_id, one.key), one.key, tuple(states))

    def _state(self, one: ForeignDecision, state: ForeignState) -> tuple[ReadyState, tuple[str, ...]]:
        value: Value = state.value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        given = decision_writing.prepare(
            NewDecision(
                key=one.key,
                value=value,
                tags=one.tags,
                scopes=one.scopes,
                layer=state.layer,
                version=state.version,
                status=STATUSES[state.status - 1],
                rationale=state.rationale,
            ),
            self._workplace,
        )
        assert not isinstance(given.value, Keep)
        return (
            ReadyState(
                value=given.value,
                status=_given(given.status),
                version=_given(given.version),
                layer=_given(given.layer),
                tags=_given(given.tags),
                scopes=_given(given.scopes),
                rationale=_given(given.rationale),
                agent=state.agent,
                set_at=state.set_at,
            ),
            given.notes,
        )

    def _constraint(self, one: ForeignConstraint, table: str) -> ReadyConstraint:
        text = one.text if one.reason is None else f"{one.text}\n\nWhy: {one.reason}"
        content = constraint_writing.prepare(
            text, one.category, PRIORITIES[one.priority - 1], one.layer, one.tags, self._workplace
        )
        self._note(table, f"id {one.id}", content.notes)
        uid = identity(_TOOL, "constraint", self._source, one.id, one.created_at, content.text)
        return ReadyConstraint(uid, content, one.agent, one.active, one.created_at)

    def _message(self, one: ForeignMessage, table: str) -> ReadyMessage:
        limit = self._workplace.max_content_bytes
        content = check_content(NO_TEXT if one.text is None else one.text, "message", limit)
        try:
            payload, notes = storable_payload(one.payload, limit)
        except InvalidInput:
            if not isinstance(one.payload, str):
                raise
            # what was no JSON there is text here, even where it looks like JSON that cannot be kept
            cleaned = storable(one.payload)
            payload, notes = to_json(cleaned.text), cleaned.notes
        self._note(table, f"id {one.id}", (*content.notes, *notes))
        return ReadyMessage(
            uid=identity(_TOOL, "message", self._source, one.id, one.created_at, content.text, payload),
            sender=one.sender,
            to=one.to,
            type=one.type,
            priority=one.priority,
            text=content.text,
            payload=payload,
            read=one.read and one.to is not None,
            created_at=one.created_at,
        )

    def _file_change(self, one: ForeignFileChange, table: str) -> ReadyFileChange:
        file = names.check_file(one.file, self._workplace.files_root)
        description: str | None = None
        if one.description is not None:
            content = check_content(one.description, "description", self._workplace.max_content_bytes)
            self._note(table, f"id {one.id}", content.notes)
            description = content.text
        return ReadyFileChange(
            uid=identity(_TOOL, "file_change", self._source, one.id, one.created_at, file, one.change),
            file=file,
            change=one.change,
            agent=one.agent,
            layer=one.layer,
            description=description,
            created_at=one.created_at,
        )


def _given(value: Given | Keep) -> Given:
    assert not isinstance(value, Keep)
    return value


def state_identity(key: str, set_at: int, value: Value, version: str) -> bytes:
    """Return the uid of an earlier state of an imported decision; computed from what is kept, it tells such states.

    Args:
        set_at: milliseconds UTC.
    """
    shown = value if isinstance(value, str) else float(value)
    return identity(_TOOL, "state", key, set_at, shown, version)
