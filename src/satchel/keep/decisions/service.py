"""Service for decisions: set them, get them with history, and find them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Unpack

from satchel.base.errors import InvalidInput, NotFound
from satchel.base.paging import DEFAULT_LIMIT, KeptPage, Page, check_page
from satchel.base.text import check_name
from satchel.find.kind import Kind
from satchel.keep import projects
from satchel.keep.decisions import updates
from satchel.keep.decisions.records import (
    CHANGEABLE,
    KEEP,
    STATUSES,
    ChangedDecision,
    Decision,
    DecisionHistory,
    DecisionState,
    Keep,
    Metadata,
    NewDecision,
    Value,
    load,
    load_number,
    value_of,
)
from satchel.keep.names import check_agent, is_persons
from satchel.keep.paths import globs_in
from satchel.keep.projects import Workplace
from satchel.keep.sessions.actors import acting, persons_gate
from satchel.keep.texts import placed
from satchel.store.transaction import Row, Transaction, first_number

MAX_BATCH = 200

if TYPE_CHECKING:
    from satchel.keep.decisions.kind import DecisionFilters


# called within the transaction when an agent changes another one's decision, or proposes to
OnDecisionChanged = Callable[[Transaction, ChangedDecision], None]

# called within the transaction when a decision is set, with its project
OnDecisionSet = Callable[[Transaction, int, Decision], None]


class Decisions:
    """Keyed and versioned decisions of the project."""

    def __init__(
        self,
        workplace: Workplace,
        on_decision_changed: OnDecisionChanged | None = None,
        on_set: OnDecisionSet | None = None,
    ) -> None:
        self._workplace = workplace
        self._on_overtaken = on_decision_changed
        self._on_set = on_set

    def set(
        self,
        key: str,
        value: Value | Keep = KEEP,
        *,
        tags: Sequence[str] | Keep | None = KEEP,
        scopes: Sequence[str] | Keep | None = KEEP,
        paths: Sequence[str] | Keep | None = KEEP,
        layer: str | Keep | None = KEEP,
        version: str | Keep | None = KEEP,
        status: str | Keep = KEEP,
        rationale: str | Keep | None = KEEP,
        expected_revision: int | None = None,
        metadata: Metadata | Keep | None = KEEP,
        until: str | Keep | None = KEEP,
        agent: str | None = None,
    ) -> Decision:
        """Set one decision; it is durable when this returns, and what it replaces is in its history.

        A field left out keeps what there is; None, or an empty list or text, clears it. A new value without a reason
        has none. What a person decided only a person changes: an agent's change becomes a separate draft, and the
        person gets a message.
        """
        fields = (key, value, tags, scopes, paths, layer, version, status, rationale, expected_revision)
        new = NewDecision(*fields, metadata, until)
        return self.set_many([new], agent=agent)[0]

    def set_many(self, decisions: Sequence[NewDecision], *, agent: str | None = None) -> tuple[Decision, ...]:
        """Set several decisions in one transaction, all or none."""
        work = self._workplace
        if not 1 <= len(decisions) <= MAX_BATCH:
            raise InvalidInput(f"{len(decisions)} decisions were given", f"Set 1 to {MAX_BATCH} at once")
        prepared = []
        for place, new in enumerate(decisions):
            with placed("decisions", place, len(decisions)):
                prepared.append(updates.prepare(new, work))
        keys = [decision.key for decision in prepared]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise InvalidInput(f"key {twice!r} is in the batch twice", "Set each key once")
        agent = check_agent(work, agent)
        done: list[Decision] = []
        similar: tuple[int, ...] = ()
        if len(decisions) == 1:
            # a batch is compared by its bands only: a search costs as much as setting five decisions
            similar = projects.looked_up(
                work, lambda transaction, project: updates.similar_values(transaction, project, prepared[0])
            )
        with projects.writing(work) as (transaction, project, now):
            actor = acting(transaction, work, project.id, agent, now)
            passes = persons_gate(transaction, work, project.id, agent, now)
            by = updates.Setter(work, project.id, actor, now, passes)
            for place, decision in enumerate(prepared):
                with placed("decisions", place, len(decisions)):
                    one = updates.upsert(transaction, by, decision, similar)
                if self._on_overtaken is not None:
                    for change in one.changes:
                        self._on_overtaken(transaction, change)
                if self._on_set is not None:
                    self._on_set(transaction, project.id, one.decision)
                done.append(one.decision)
        return tuple(done)

    def take_back(self, key: str, revision: int, *, agent: str | None = None) -> Decision:
        """Restore a decision to its state before the last change; a new one becomes deprecated."""
        history = self.get(key, limit=1)
        if history.decision.revision == revision == 1:
            return self.set(history.decision.key, status="deprecated", expected_revision=1, agent=agent)
        # the revision check refuses a concurrent change
        before = history.history.items[0] if history.history.items else history.decision
        if before.status == "draft" and before.agent is not None and not is_persons(before.agent):
            agent = before.agent  # an agent's proposal stays the agent's, and waits for a person again
        fields = {name: getattr(before, name) for name in CHANGEABLE}
        return self.set(history.decision.key, **fields, expected_revision=revision, agent=agent)

    def get(self, key: str, *, limit: int = DEFAULT_LIMIT, offset: int = 0) -> DecisionHistory:
        """Return a decision with its previous states, newest first."""
        key = check_name(key, "key")
        check_page(limit, offset)
        with projects.reading(self._workplace) as (transaction, project):
            current = _find(transaction, project.id, key)
            if current is None:
                close = updates.nearest_key(transaction, project.id, key)
                hint = f"Did you mean {close!r}?" if close else "search finds what was decided"
                raise NotFound(f"there is no decision {key!r}", hint)
            rows = transaction.all(
                """
                SELECT h.revision, h.value_text, h.value_number, h.status, h.version, l.name, h.tags, h.scopes, a.name,
                    h.rationale, h.set_at, h.created_at, h.paths, h.metadata
                FROM decision_history h LEFT JOIN layers l ON l.id = h.layer_id LEFT JOIN agents a ON a.id = h.agent_id
                WHERE h.decision_id = :id ORDER BY h.revision DESC LIMIT :limit OFFSET :offset
                """,
                {"id": current.id, "limit": limit, "offset": offset},
            )
            counted = "SELECT count(*) FROM decision_history WHERE decision_id = :id"
            total = first_number(transaction, counted, {"id": current.id})
        return DecisionHistory(current, Page(tuple(map(_past, rows)), total, offset, limit))

    def find(self, **filters: Unpack[DecisionFilters]) -> KeptPage[Decision]:
        """List decisions, newest first."""
        # imported here: writers do not need lists
        from satchel.keep import lists
        from satchel.keep.decisions.kind import LISTING

        return lists.find(self._workplace, LISTING, KeptPage, filters)


def _find(transaction: Transaction, project_id: int, key: str) -> Decision | None:
    current = load(transaction, project_id, key)
    letter = Kind.DECISION.letter
    digits = key.removeprefix(letter)
    if current is not None or digits == key or not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        return current
    return load_number(transaction, project_id, Kind.DECISION.number_of(key))


def _past(row: Row) -> DecisionState:
    from satchel.keep.fields import metadata_in

    revision, text, number, status, version, layer, tags, scopes, agent, rationale, set_at, at, paths, metadata = row
    return DecisionState(
        *(revision, value_of(text, number), STATUSES[status - 1], version, layer, _names(tags), _names(scopes)),
        *(agent, rationale, set_at, at, globs_in(paths), metadata_in(metadata)),
    )


def _names(text: str) -> tuple[str, ...]:
    try:
        return tuple(json.loads(text))
    except ValueError:  # damaged
        return (text,)
