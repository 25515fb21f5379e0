"""Taking over what sqlew kept: checked, given its lasting identity, and kept where it is not here already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from satchel.base.clock import moment_text
from satchel.base.errors import InvalidInput, SatchelError
from satchel.base.records import dataclass, replace
from satchel.base.text import fold
from satchel.base.vocabulary import LAYERS, PRIORITIES
from satchel.find.kind import Kind
from satchel.keep import names
from satchel.keep.constraints import updates as constraint_writing
from satchel.keep.decisions import state as decision_states
from satchel.keep.decisions import tables as decision_tables
from satchel.keep.decisions import updates as decision_writing
from satchel.keep.decisions.records import STATUSES, Keep, NewDecision, Value
from satchel.keep.decisions.state import Current, Named, State
from satchel.keep.files import changes as file_writing
from satchel.keep.importing.sqlew_records import (
    ForeignConstraint,
    ForeignDecision,
    ForeignFileChange,
    ForeignMessage,
    ForeignState,
    SqlewStore,
)
from satchel.keep.importing.taking import ADDED, PRESENT, Outcome, Ready, Step, Taking, Verdict, conflict
from satchel.keep.importing.values import identity
from satchel.keep.messages import updates as message_writing
from satchel.keep.projects import Workplace
from satchel.keep.texts import check_content, storable, to_json
from satchel.store.transaction import Row

_INACTIVE = "inactive in sqlew when it was imported"
_NO_TEXT = "(no text was kept of this message)"
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


class SqlewTaking(Taking):
    """Takes over a sqlew database; messages and file changes are kept from the time of the import on."""

    def __init__(self, store: SqlewStore, workplace: Workplace, now: int, *, write: bool) -> None:
        super().__init__(store, workplace, now, write=write)
        self._store = store
        self._source = store.project_id
        self._new_layers: dict[str, str] = {}

    def steps(self) -> Sequence[Step]:
        """Prepare everything, and return what is taken, in order."""
        store = self._store
        of_decisions, of_constraints, of_messages, of_changes = store.tables
        decisions = self.each(of_decisions, store.decisions, self._prepare_decision)
        constraints = self.each(of_constraints, store.constraints, self._prepare_constraint)
        messages = self.each(of_messages, store.messages, self._prepare_message)
        changes = self.each(of_changes, store.file_changes, self._prepare_file_change)
        return (
            Step("decisions", decisions, self._decision),
            Step("constraints", constraints, self._constraint, Kind.CONSTRAINT.table, "id, active"),
            Step("messages", messages, self._message, Kind.MESSAGE.table),
            Step("file_changes", changes, self._file_change, Kind.FILE_CHANGE.table),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Which layers were added."""
        if not self._new_layers:
            return ()
        return (f"layers that this project did not have: {', '.join(self._new_layers.values())}",)

    def _prepare_decision(self, one: ForeignDecision) -> ReadyDecision:
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

    def _decision(self, one: ReadyDecision, _: Row | None) -> Verdict:
        """Keep a decision with its history.

        One that an earlier import brought, and nobody changed here since, takes the states that are newer in the other
        store; one that stands here otherwise is left alone.
        """
        key, states = one.source.key, one.content
        before = decision_states.load(self.transaction, self.project, key)
        if before is None:
            self._upsert(one)
            return Verdict(Outcome.ADDED, states=len(states) - 1)
        last = states[-1]
        if _says(before.state) == _wants(last):
            return PRESENT
        if before.uid != one.uid:
            return _conflict(before, f"it was set here, not imported, {_when(before, last)}")
        earlier = self.transaction.all(
            """
            SELECT uid, value_text, value_number, version, set_at FROM decision_history
            WHERE decision_id = :id ORDER BY revision
            """,
            {"id": before.id},
        )
        if any(_is_state(row, last) for row in earlier):
            return PRESENT
        if _touched(key, earlier):
            return _conflict(before, f"it was changed here since it was imported, {_when(before, last)}")
        if last.set_at < before.updated_at:
            return PRESENT
        newer = [state for state in states if state.set_at > before.updated_at] or [last]
        self._change(before, newer)
        return Verdict(Outcome.UPDATED, states=len(newer))

    def _upsert(self, one: ReadyDecision) -> None:
        first, *following = one.content
        for state in one.content:
            self._layer(state.layer)
        if self.write:
            made = decision_tables.create(
                self.transaction,
                self.project,
                one.source.key,
                self._resolved(first),
                self.agent(first.agent),
                first.set_at,
                one.uid,
            )
            self._change(made, following)

    def _change(self, current: Current, states: Sequence[ReadyState]) -> None:
        for state in states:
            self._layer(state.layer)
            if self.write:
                uid = state_identity(current.key, current.updated_at, current.state.value, current.state.version)
                current = decision_tables.change(
                    self.transaction,
                    self.project,
                    current,
                    self._resolved(state),
                    self.agent(state.agent),
                    state.set_at,
                    uid,
                )

    def _resolved(self, state: ReadyState) -> State:
        def named(table: str, given: Sequence[str]) -> tuple[Named, ...]:
            ensured = {names.ensure_name(self.transaction, table, self.project, name, self.now) for name in given}
            return decision_states.sorted_names(ensured)

        return State(
            value=state.value,
            status=state.status,
            version=state.version,
            layer=self._layer(state.layer),
            tags=named("tags", state.tags),
            scopes=named("scopes", state.scopes),
            rationale=state.rationale,
        )

    def _prepare_constraint(self, one: ForeignConstraint) -> ReadyConstraint:
        text = one.text if one.reason is None else f"{one.text}\n\nWhy: {one.reason}"
        content = constraint_writing.prepare(
            text, one.category, PRIORITIES[one.priority - 1], one.layer, one.tags, self.workplace
        )
        self.note(content.notes)
        uid = identity(_TOOL, "constraint", self._source, one.id, one.created_at, content.text)
        return Ready(uid, one, content)

    def _constraint(self, one: ReadyConstraint, known: Row | None) -> Verdict:
        """Keep a constraint; one that holds here and no longer there is left alone."""
        if known is not None:
            if not known[1] or one.source.active:
                return PRESENT
            reason = "it does not hold any more in sqlew, but does here"
            return conflict(Kind.CONSTRAINT.ref(known[0]), one.content.text[:80], reason)
        self._layer(one.content.layer)
        if self.write:
            agent = _number(self.agent(one.source.agent))
            number = constraint_writing.insert(
                self.transaction, self.workplace, self.project, agent, one.content, one.source.created_at, one.uid
            )
            if not one.source.active:
                constraint_writing.end(self.transaction, self.project, number, _INACTIVE, None, self.now)
        return ADDED

    def _prepare_message(self, one: ForeignMessage) -> ReadyMessage:
        limit = self.workplace.max_content_bytes
        content = check_content(_NO_TEXT if one.text is None else one.text, "message", limit)
        try:
            payload, notes = message_writing.storable_payload(one.payload, limit)
        except InvalidInput:
            if not isinstance(one.payload, str):
                raise
            # what was no JSON there is text here, even where it looks like JSON that cannot be kept
            cleaned = storable(one.payload)
            payload, notes = to_json(cleaned.text), cleaned.notes
        self.note((*content.notes, *notes))
        uid = identity(_TOOL, "message", self._source, one.id, one.created_at, content.text, payload)
        return Ready(uid, one, (content.text, payload))

    def _message(self, one: ReadyMessage, known: Row | None) -> Verdict:
        """Keep a message; one to an agent that was read is read by that agent."""
        if known is not None:
            return PRESENT
        if self.write:
            there, (text, payload) = one.source, one.content
            to = _number(self.agent(there.to, acts=there.read))
            sender = _number(self.agent(there.sender))
            stored = message_writing.insert(
                self.transaction,
                self.project,
                message_writing.Draft(sender, to, there.type, there.priority, text, payload),
                there.created_at,
                self.workplace.retention,
                one.uid,
                kept_from=self.now,
            )
            if there.read and to is not None:
                unread = message_writing.Unread(stored.id, False, stored.expires_at, stored.read_expires_at)
                message_writing.mark(self.transaction, to, [unread], there.created_at)
        return ADDED

    def _prepare_file_change(self, one: ForeignFileChange) -> ReadyFileChange:
        file = names.check_file(one.file, self.workplace.files_root)
        description: str | None = None
        if one.description is not None:
            content = check_content(one.description, "description", self.workplace.max_content_bytes)
            self.note(content.notes)
            description = content.text
        uid = identity(_TOOL, "file_change", self._source, one.id, one.created_at, file, one.change)
        return Ready(uid, one, (file, description))

    def _file_change(self, one: ReadyFileChange, known: Row | None) -> Verdict:
        """Keep a recorded edit."""
        if known is not None:
            return PRESENT
        layer = self._layer(one.source.layer)
        if self.write:
            file, description = one.content
            retention = self.workplace.retention
            new = file_writing.NewChange(
                project_id=self.project,
                file=file,
                change=one.source.change,
                agent_id=_number(self.agent(one.source.agent)),
                worktree=None,
                layer_id=_number(layer),
                description=description,
                created_at=one.source.created_at,
                expires_at=retention.expires_at(self.now, retention.file_changes_hours),
                uid=one.uid,
            )
            file_writing.insert(self.transaction, new)
        return ADDED

    def _layer(self, name: str | None) -> Named | None:
        """Return a layer, added where the project lacks it: that list is closed to slips, which this is not."""
        if name is None:
            return None
        known = names.find_name(self.transaction, "layers", self.project, name)
        if known is None and (self.write or fold(name) not in LAYERS):
            self._new_layers.setdefault(fold(name), name)
        if not self.write:
            return None
        return names.ensure_name(self.transaction, "layers", self.project, name, self.now)


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


def _conflict(before: Current, reason: str) -> Verdict:
    return conflict(Kind.DECISION.ref(before.id), before.key, reason)


def _when(before: Current, last: ReadyState) -> str:
    return f"on {moment_text(before.updated_at)}; the other is of {moment_text(last.set_at)} UTC"


def _says(state: State) -> tuple[object, ...]:
    layer = None if state.layer is None else state.layer[1]
    tags, scopes = ([name for _, name in named] for named in (state.tags, state.scopes))
    return _folded(state, layer, tags, scopes)


def _wants(state: ReadyState) -> tuple[object, ...]:
    return _folded(state, state.layer, state.tags, state.scopes)


def _folded(
    state: State | ReadyState, layer: str | None, tags: Sequence[str], scopes: Sequence[str]
) -> tuple[object, ...]:
    """Return what a state says, its names as they are compared."""
    named = None if layer is None else fold(layer), set(map(fold, tags)), set(map(fold, scopes))
    return state.value, state.status, state.version, *named, state.rationale


def _is_state(row: Row, state: ReadyState) -> bool:
    """Whether a row of the history is this state."""
    _, text, number, version, set_at = row
    value = decision_states.value_of(text, number)
    return (set_at, value, version) == (state.set_at, state.value, state.version)


def _touched(key: str, history: Sequence[Row]) -> bool:
    """Whether somebody changed a decision after its import: its history then holds a state that no import wrote."""
    return any(
        uid != state_identity(key, set_at, decision_states.value_of(text, number), version)
        for uid, text, number, version, set_at in history
    )


def _number(named: Named | None) -> int | None:
    return None if named is None else named[0]
