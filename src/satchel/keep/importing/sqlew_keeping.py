"""Bringing what was kept in sqlew into the store through each kind's own writing, where they are not there already."""

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
from satchel.keep.importing.sqlew_preparing import (
    ReadyConstraint,
    ReadyDecision,
    ReadyFileChange,
    ReadyMessage,
    ReadyState,
    state_identity,
)
from satchel.keep.importing.verdicts import ADDED, PRESENT, Outcome, Verdict, conflict, there
from satchel.keep.messages import updates as message_writing
from satchel.keep.projects import Workplace
from satchel.store.transaction import Row, Transaction

_INACTIVE = "inactive in sqlew when it was imported"


class SqlewKeeping:
    """Judges the items of one import against one project inside one transaction, and keeps what is to be kept.

    Args:
        project_id: None before the first write for the project.
        now: the time of the import, in milliseconds UTC; from then on messages and file changes are kept.
        write: False for a preview.
        new_layers: collects the layers that the project did not have, by their folded names.
    """

    def __init__(
        self,
        transaction: Transaction,
        workplace: Workplace,
        project_id: int | None,
        now: int,
        new_layers: dict[str, str],
        *,
        write: bool,
    ) -> None:
        self._transaction = transaction
        self._workplace = workplace
        self._project = -1 if project_id is None else project_id
        self._now = now
        self._new_layers = new_layers
        self._write = write

    def decisions(self, items: Sequence[ReadyDecision]) -> list[Verdict]:
        """Keep decisions with their history.

        A decision that an earlier import brought, and nobody changed here since, takes the states that are newer in
        the other store; one that stands here otherwise is left alone.
        """
        return [self._decision(one) for one in items]

    def _decision(self, one: ReadyDecision) -> Verdict:
        before = decision_states.load(self._transaction, self._project, one.key)
        if before is None:
            self._upsert(one)
            return Verdict(Outcome.ADDED, states=len(one.states) - 1)
        last = one.states[-1]
        if _says(before.state) == _wants(last):
            return PRESENT
        if before.uid != one.uid:
            return _conflict(before, f"it was set here, not imported, {_when(before, last)}")
        earlier = self._transaction.all(
            """
            SELECT uid, value_text, value_number, version, set_at FROM decision_history
            WHERE decision_id = :id ORDER BY revision
            """,
            {"id": before.id},
        )
        if any(_is_state(row, last) for row in earlier):
            return PRESENT
        if _touched(one, earlier):
            return _conflict(before, f"it was changed here since it was imported, {_when(before, last)}")
        if last.set_at < before.updated_at:
            return PRESENT
        newer = [state for state in one.states if state.set_at > before.updated_at] or [last]
        self._raise_if_cancelled(before, newer)
        return Verdict(Outcome.UPDATED, states=len(newer))

    def _upsert(self, one: ReadyDecision) -> None:
        first, *following = one.states
        for state in one.states:
            self._layer(state.layer)
        if self._write:
            made = decision_tables.create(
                self._transaction,
                self._project,
                one.key,
                self._resolved(first),
                self._agent(first.agent),
                first.set_at,
                one.uid,
            )
            self._raise_if_cancelled(made, following)

    def _raise_if_cancelled(self, current: Current, states: Sequence[ReadyState]) -> None:
        for state in states:
            self._layer(state.layer)
            if self._write:
                uid = state_identity(current.key, current.updated_at, current.state.value, current.state.version)
                current = decision_tables.change(
                    self._transaction,
                    self._project,
                    current,
                    self._resolved(state),
                    self._agent(state.agent),
                    state.set_at,
                    uid,
                )

    def _resolved(self, state: ReadyState) -> State:
        def named(table: str, given: Sequence[str]) -> tuple[Named, ...]:
            ensured = {names.ensure_name(self._transaction, table, self._project, name, self._now) for name in given}
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

    def constraints(self, items: Sequence[ReadyConstraint]) -> list[Verdict]:
        """Keep constraints; one that holds here and no longer there is left alone."""
        there = self._there(Kind.CONSTRAINT, "id, active", items)
        verdicts: list[Verdict] = []
        for one in items:
            known = there.get(one.uid)
            if known is None:
                self._constraint(one)
                verdicts.append(ADDED)
            elif known[1] and not one.active:
                reason = "it does not hold any more in sqlew, but does here"
                verdicts.append(conflict(Kind.CONSTRAINT.ref(known[0]), one.content.text[:80], reason))
            else:
                verdicts.append(PRESENT)
        return verdicts

    def _constraint(self, one: ReadyConstraint) -> None:
        self._layer(one.content.layer)
        if not self._write:
            return
        agent = _number(self._agent(one.agent))
        number = constraint_writing.insert(
            self._transaction, self._workplace, self._project, agent, one.content, one.created_at, one.uid
        )
        if not one.active:
            constraint_writing.deactivate(self._transaction, self._project, number, _INACTIVE, None, self._now)

    def messages(self, items: Sequence[ReadyMessage]) -> list[Verdict]:
        """Keep messages; one to an agent that was read is read by that agent."""
        there = self._there(Kind.MESSAGE, "id", items)
        for one in items:
            if one.uid not in there and self._write:
                self._message(one)
        return [PRESENT if one.uid in there else ADDED for one in items]

    def _message(self, one: ReadyMessage) -> None:
        to = _number(self._agent(one.to, acts=one.read))
        draft = message_writing.Draft(
            _number(self._agent(one.sender)), to, one.type, one.priority, one.text, one.payload
        )
        retention = self._workplace.retention
        stored = message_writing.insert(
            self._transaction, self._project, draft, one.created_at, retention, one.uid, kept_from=self._now
        )
        if one.read and to is not None:
            unread = message_writing.Unread(stored.id, False, stored.expires_at, stored.read_expires_at)
            message_writing.mark(self._transaction, to, [unread], one.created_at)

    def file_changes(self, items: Sequence[ReadyFileChange]) -> list[Verdict]:
        """Keep recorded edits."""
        there = self._there(Kind.FILE_CHANGE, "id", items)
        retention = self._workplace.retention
        expires = retention.expires_at(self._now, retention.file_changes_hours)
        for one in items:
            if one.uid not in there:
                layer = self._layer(one.layer)
                if self._write:
                    new = file_writing.NewChange(
                        self._project,
                        one.file,
                        one.change,
                        _number(self._agent(one.agent)),
                        None,
                        _number(layer),
                        one.description,
                        one.created_at,
                        expires,
                        one.uid,
                    )
                    file_writing.insert(self._transaction, new)
        return [PRESENT if one.uid in there else ADDED for one in items]

    def _there(
        self, kind: Kind, columns: str, items: Sequence[ReadyConstraint | ReadyMessage | ReadyFileChange]
    ) -> dict[bytes, Row]:
        return there(self._transaction, kind.table, columns, self._project, [one.uid for one in items])

    def _agent(self, name: str | None, *, acts: bool = True) -> Named | None:
        if name is None:
            return None
        return names.ensure_agent(self._transaction, self._project, name, self._now, acts=acts)

    def _layer(self, name: str | None) -> Named | None:
        """Return a layer, added where the project lacks it: that list is closed to slips, which this is not."""
        if name is None:
            return None
        known = names.find_name(self._transaction, "layers", self._project, name)
        if known is None and (self._write or fold(name) not in LAYERS):
            self._new_layers.setdefault(fold(name), name)
        if not self._write:
            return None
        return names.ensure_name(self._transaction, "layers", self._project, name, self._now)


def _conflict(before: Current, reason: str) -> Verdict:
    return conflict(Kind.DECISION.ref(before.id), before.key, reason)


def _when(before: Current, last: ReadyState) -> str:
    return f"on {iso(before.updated_at)}; the other is of {iso(last.set_at)}"


def _says(state: State) -> tuple[object, ...]:
    return (
        state.value,
        state.status,
        state.version,
        None if state.layer is None else fold(state.layer[1]),
        {fold(name) for _, name in state.tags},
        {fold(name) for _, name in state.scopes},
        state.rationale,
    )


def _wants(state: ReadyState) -> tuple[object, ...]:
    return (
        state.value,
        state.status,
        state.version,
        None if state.layer is None else fold(state.layer),
        set(map(fold, state.tags)),
        set(map(fold, state.scopes)),
        state.rationale,
    )


def _is_state(row: Row, state: ReadyState) -> bool:
    """Whether a row of the history is this state."""
    _, text, number, version, set_at = row
    value = decision_states.value_of(text, number)
    return (set_at, value, version) == (state.set_at, state.value, state.version)


def _touched(one: ReadyDecision, history: Sequence[Row]) -> bool:
    """Whether somebody changed a decision after its import: its history then holds a state that no import wrote."""
    return any(
        uid != state_identity(one.key, set_at, decision_states.value_of(text, number), version)
        for uid, text, number, version, set_at in history
    )


def _number(named: Named | None) -> int | None:
    return None if named is None else named[0]
