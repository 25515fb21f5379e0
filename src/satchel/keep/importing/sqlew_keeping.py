"""Bringing what was kept in sqlew into the store through each kind's own writing, where it is not there already."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.clock import iso
from satchel.base.text import fold
from satchel.base.vocabulary import LAYERS
from satchel.find.kind import Kind
from satchel.keep import names
from satchel.keep.constraints import updates as constraint_writing
from satchel.keep.decisions import state as decision_states
from satchel.keep.decisions import tables as decision_tables
from satchel.keep.decisions.state import Current, Named, State
from satchel.keep.files import changes as file_writing
from satchel.keep.importing.keeping import ADDED, PRESENT, Keeping, Outcome, Step, Verdict, conflict
from satchel.keep.importing.sqlew_preparing import (
    ReadyConstraint,
    ReadyDecision,
    ReadyFileChange,
    ReadyMessage,
    ReadyState,
    SqlewPreparation,
    state_identity,
)
from satchel.keep.messages import updates as message_writing
from satchel.store.transaction import Row

_INACTIVE = "inactive in sqlew when it was imported"


class SqlewKeeping(Keeping):
    """Keeps what a sqlew database holds; messages and file changes are kept from the time of the import on."""

    def __init__(self, ready: SqlewPreparation, now: int, *, write: bool) -> None:
        super().__init__(ready, now, write=write)
        self._ready = ready
        self._new_layers: dict[str, str] = {}

    def steps(self) -> Sequence[Step]:
        """Return what is taken, in order."""
        return (
            Step("decisions", self._ready.decisions, self._decision),
            Step("constraints", self._ready.constraints, self._constraint, Kind.CONSTRAINT.table, "id, active"),
            Step("messages", self._ready.messages, self._message, Kind.MESSAGE.table),
            Step("file_changes", self._ready.file_changes, self._file_change, Kind.FILE_CHANGE.table),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Which layers were added."""
        if not self._new_layers:
            return ()
        return (f"layers that this project did not have: {', '.join(self._new_layers.values())}",)

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
                constraint_writing.deactivate(self.transaction, self.project, number, _INACTIVE, None, self.now)
        return ADDED

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


def _conflict(before: Current, reason: str) -> Verdict:
    return conflict(Kind.DECISION.ref(before.id), before.key, reason)


def _when(before: Current, last: ReadyState) -> str:
    return f"on {iso(before.updated_at)}; the other is of {iso(last.set_at)}"


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
