"""What was read of a sqlew database, made ready to be kept: checked, cleaned, and given its lasting identity."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from satchel.base.errors import InvalidInput, SatchelError
from satchel.base.vocabulary import PRIORITIES
from satchel.keep import names
from satchel.keep.constraints import updates as constraint_writing
from satchel.keep.decisions import updates as decision_writing
from satchel.keep.decisions.records import STATUSES, Keep, NewDecision, Value
from satchel.keep.importing.keeping import Preparation, Ready
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


ReadyDecision = Ready[ForeignDecision, tuple[ReadyState, ...]]
"""Its states, the oldest first; the last is the current one."""

ReadyConstraint = Ready[ForeignConstraint, constraint_writing.Prepared]

ReadyMessage = Ready[ForeignMessage, tuple[str, str | None]]
"""Its text and its payload."""

ReadyFileChange = Ready[ForeignFileChange, tuple[str, str | None]]
"""Its file and its description."""


class SqlewPreparation(Preparation):
    """Everything of a sqlew database that can be kept, and what cannot."""

    def __init__(self, store: SqlewStore, workplace: Workplace) -> None:
        super().__init__(store, workplace)
        self._source = store.project_id
        decisions, constraints, messages, changes = store.tables
        self.decisions = self.each(decisions, store.decisions, self._decision)
        self.constraints = self.each(constraints, store.constraints, self._constraint)
        self.messages = self.each(messages, store.messages, self._message)
        self.file_changes = self.each(changes, store.file_changes, self._file_change)

    def _decision(self, one: ForeignDecision) -> ReadyDecision:
        *earlier, current = one.states
        states: list[ReadyState] = []
        for state in earlier:
            try:
                states.append(self._state(one, state))
            except SatchelError as error:
                self.note([f"its state of {state.set_at // 1_000}: {error.problem}"])
        states.append(self._state(one, current))
        states[0] = replace(states[0], set_at=min(one.created_at, states[0].set_at))
        uid = identity(_TOOL, "decision", self._source, one.key_id, one.key)
        return Ready(uid, one, tuple(states), weight=len(states))

    def _state(self, one: ForeignDecision, state: ForeignState) -> ReadyState:
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
            self.workplace,
        )
        self.note(given.notes)
        assert not isinstance(given.value, Keep)
        return ReadyState(
            value=given.value,
            status=_given(given.status),
            version=_given(given.version),
            layer=_given(given.layer),
            tags=_given(given.tags),
            scopes=_given(given.scopes),
            rationale=_given(given.rationale),
            agent=state.agent,
            set_at=state.set_at,
        )

    def _constraint(self, one: ForeignConstraint) -> ReadyConstraint:
        text = one.text if one.reason is None else f"{one.text}\n\nWhy: {one.reason}"
        content = constraint_writing.prepare(
            text, one.category, PRIORITIES[one.priority - 1], one.layer, one.tags, self.workplace
        )
        self.note(content.notes)
        uid = identity(_TOOL, "constraint", self._source, one.id, one.created_at, content.text)
        return Ready(uid, one, content)

    def _message(self, one: ForeignMessage) -> ReadyMessage:
        limit = self.workplace.max_content_bytes
        content = check_content(NO_TEXT if one.text is None else one.text, "message", limit)
        try:
            payload, notes = storable_payload(one.payload, limit)
        except InvalidInput:
            if not isinstance(one.payload, str):
                raise
            # what was no JSON there is text here, even where it looks like JSON that cannot be kept
            cleaned = storable(one.payload)
            payload, notes = to_json(cleaned.text), cleaned.notes
        self.note((*content.notes, *notes))
        uid = identity(_TOOL, "message", self._source, one.id, one.created_at, content.text, payload)
        return Ready(uid, one, (content.text, payload))

    def _file_change(self, one: ForeignFileChange) -> ReadyFileChange:
        file = names.check_file(one.file, self.workplace.files_root)
        description: str | None = None
        if one.description is not None:
            content = check_content(one.description, "description", self.workplace.max_content_bytes)
            self.note(content.notes)
            description = content.text
        uid = identity(_TOOL, "file_change", self._source, one.id, one.created_at, file, one.change)
        return Ready(uid, one, (file, description))


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
