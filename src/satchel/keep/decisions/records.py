"""The records of decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final

from satchel.base.paging import Page
from satchel.base.records import dataclass, field, field_names
from satchel.base.vocabulary import number_of
from satchel.find.kind import Kind
from satchel.keep.paths import globs_in
from satchel.store.transaction import Row, Transaction, grouped, set_of

STATUSES = ("active", "deprecated", "draft")  # the statuses of a decision, stored by their position, from 1

DEFAULT_VERSION = "1.0.0"

Value = str | int | float  # the value of a decision: text or a number


Metadata = Mapping[str, str | float]


class Keep(Enum):
    """Marker of an omitted field, whose stored value stays."""

    KEEP = "keep"


KEEP: Final = Keep.KEEP


UNCHANGED = "nothing was changed"  # the note on a decision that was set as it was


@dataclass(frozen=True, slots=True)
class NewDecision:
    """A decision to set. An omitted field keeps its value; None or an empty list clears it.

    Attributes:
        key: its name, at most 200 characters; compared exactly.
        value: text or a number; required for a new key.
        tags: names, case-insensitive.
        scopes: services, components and the like, case-insensitive.
        paths: globs of the files that it binds, relative to the project; empty for all.
        metadata: texts, numbers, true and false by key, at most 2 KB of JSON.
        layer: one of the project's layers, or None.
        version: a free label of the value; None is 1.0.0, as is a new value without one.
        status: one of :data:`STATUSES`.
        rationale: the reason.
        expected_revision: set it only if this is its revision; 0 requires a new key.
        until: the date or condition that ends it, at most 200 characters; kept in ``metadata``, shown in briefings.
        notes: remarks for the writer, made as it is checked.
    """

    key: str
    value: Value | Keep = KEEP
    tags: Sequence[str] | Keep | None = KEEP
    scopes: Sequence[str] | Keep | None = KEEP
    paths: Sequence[str] | Keep | None = KEEP
    layer: str | Keep | None = KEEP
    version: str | Keep | None = KEEP
    status: str | Keep = KEEP
    rationale: str | Keep | None = KEEP
    expected_revision: int | None = None
    metadata: Metadata | Keep | None = KEEP
    until: str | Keep | None = KEEP
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DecisionState:
    """A previous state of a decision.

    Attributes:
        agent: its author, or None.
        set_at: when it was set, in milliseconds UTC.
        replaced_at: when it was replaced.
    """

    revision: int
    value: Value
    status: str
    version: str
    layer: str | None
    tags: tuple[str, ...]
    scopes: tuple[str, ...]
    agent: str | None
    rationale: str | None
    set_at: int
    replaced_at: int
    paths: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Similar:
    """An existing decision similar to a new one.

    Attributes:
        by: key or value: what is similar.
        likeness: similarity in percent.
    """

    ref: str
    key: str
    value: Value
    by: str
    likeness: int


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision's current state.

    Attributes:
        id: the store's number; ``ref`` is its short id.
        uid: 32 hexadecimal digits, stable across export and import.
        seq: the number of its last change.
        value: text or a number.
        revision: 1 at first, plus one for every change.
        agent: the author of the last change, or None.
        created_at: in milliseconds UTC.
        updated_at: the time of the last change.
        proposed_by: the author of the draft that this agent agreed to or rejected, if that was another.
        score: relevance in a search, higher is better; None without one.
        notes: remarks for the writer; empty when read.
        replaced: the state this call replaced; only when written.
        similar: similar decisions; only when written.
    """

    id: int
    uid: str
    seq: int
    key: str
    value: Value
    status: str
    version: str
    revision: int
    layer: str | None
    tags: tuple[str, ...]
    scopes: tuple[str, ...]
    agent: str | None
    rationale: str | None
    created_at: int
    updated_at: int
    paths: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    proposed_by: str | None = None
    score: float | None = None
    notes: tuple[str, ...] = ()
    replaced: DecisionState | None = None
    similar: tuple[Similar, ...] = ()

    @property
    def ref(self) -> str:
        return Kind.DECISION.ref(self.id)

    @property
    def is_rejected(self) -> bool:
        """Return whether another than its author ended it as a draft, without taking what it proposes."""
        return self.status == "deprecated" and self.proposed_by is not None


@dataclass(frozen=True, slots=True)
class DecisionHistory:
    """A decision with its previous states.

    Attributes:
        history: a page of previous states, newest first.
    """

    decision: Decision
    history: Page[DecisionState]


def replaced_state(before: Decision, now: int) -> DecisionState:
    """Return the state of a decision that another one replaces."""
    names = (name for name in field_names(DecisionState) or () if not name.endswith("_at"))
    state = {name: getattr(before, name) for name in names}
    return DecisionState(**state, set_at=before.updated_at, replaced_at=now)


@dataclass(frozen=True, slots=True)
class ChangedDecision:
    """A change of another agent's decision; see ``satchel.brief.announcements``.

    Attributes:
        agent_id: the author of the replaced state.
        by_id: the author of the change, or None.
        human_key: the key of the person's decision that ``decision``, a draft, proposes to change or changed.
    """

    project_id: int
    agent_id: int
    by_id: int | None
    before: DecisionState
    decision: Decision
    human_key: str | None = None


CHANGEABLE = ("value", "status", "version", "layer", "tags", "scopes", "paths", "metadata", "rationale")


def changed_fields(before: Any, now: Any) -> list[str]:
    """Return the names of the fields that differ between two states of a decision."""
    changed = [name for name in CHANGEABLE if getattr(before, name) != getattr(now, name)]
    if "value" in changed and now.rationale is None and "rationale" in changed:
        changed.remove("rationale")  # a rationale belongs to its value
    return changed


ACTIVE, DEPRECATED = 1, 2  # the stored numbers of these statuses

DRAFT_SUFFIX = "_draft"  # of the key of a draft that proposes a change of a person's decision

PROPOSED = "it binds once a person accepts it"  # the note on such a draft
STAYS = "stays as it is until another agent sets it active"  # of a decision in force, in the note on its draft

LARGEST_WHOLE = 2**53  # whole numbers up to this one are stored exactly

# columns for decisions; a draft that ended as its proposal was set is not rejected
COLUMNS = f"""
    c.id, c.uid, c.seq, c.key, c.value_text, c.value_number, c.status, c.version, c.revision, l.name, a.name,
    c.rationale, c.created_at, c.updated_at, c.paths, c.metadata,
    CASE WHEN c.revision > 1 AND (c.status = 1 OR (c.status = {DEPRECATED} AND NOT EXISTS (
        SELECT 1 FROM decisions t
        WHERE t.project_id = c.project_id AND t.key = CASE WHEN length(c.key) > {len(DRAFT_SUFFIX)}
            THEN substr(c.key, 1, length(c.key) - {len(DRAFT_SUFFIX)}) END
            AND (t.updated_at = c.updated_at OR EXISTS (
                SELECT 1 FROM decision_history s WHERE s.decision_id = t.id AND s.set_at = c.updated_at))
    ))) THEN (
        SELECT p.name FROM decision_history h JOIN agents p ON p.id = h.agent_id
        WHERE h.decision_id = c.id AND h.revision = c.revision - 1 AND h.status = 3
            AND h.agent_id IS DISTINCT FROM c.agent_id
            AND (h.value_text, h.value_number) IS NOT DISTINCT FROM (c.value_text, c.value_number)
    ) END
"""

SOURCE = "decisions c LEFT JOIN agents a ON a.id = c.agent_id LEFT JOIN layers l ON l.id = c.layer_id"


def from_rows(
    transaction: Transaction, rows: Sequence[Row], scores: Mapping[int, float] | None = None
) -> tuple[Decision, ...]:
    """Build decisions from rows of :data:`COLUMNS`, with their tags and scopes; ``scores`` are those of a search."""
    from satchel.keep.fields import metadata_in  # imported here: who shows decisions loads none

    tags, scopes = (names_of(transaction, name, [row[0] for row in rows]) for name in ("tag", "scope"))
    decisions = []
    for number, uid, seq, key, text, amount, status, version, revision, *names, paths, metadata, proposer in rows:
        layer, agent, rationale, created, updated = names
        lists = tags.get(number, ()), scopes.get(number, ())
        decisions.append(
            Decision(
                *(number, uid.hex(), seq, key, value_of(text, amount), STATUSES[status - 1], version, revision, layer),
                *(*lists, agent, rationale, created, updated, globs_in(paths), metadata_in(metadata)),
                proposed_by=proposer,
                score=None if scores is None else scores.get(number),
            )
        )
    return tuple(decisions)


def load(transaction: Transaction, project_id: int, key: str) -> Decision | None:
    row = transaction.one(
        "SELECT id FROM decisions WHERE project_id = :project AND key = :key", {"project": project_id, "key": key}
    )
    return None if row is None else load_number(transaction, project_id, row[0])


def load_number(transaction: Transaction, project_id: int, number: int) -> Decision | None:
    rows = transaction.all(
        f"SELECT {COLUMNS} FROM {SOURCE} WHERE c.project_id = :project AND c.id = :id",
        {"project": project_id, "id": number},
    )
    return from_rows(transaction, rows)[0] if rows else None


def load_numbers(transaction: Transaction, numbers: Sequence[int]) -> dict[int, Decision]:
    rows = transaction.all(f"SELECT {COLUMNS} FROM {SOURCE} WHERE c.id IN {set_of(numbers)}") if numbers else []
    return {decision.id: decision for decision in from_rows(transaction, rows)}


def value_of(text: str | None, number: float | None) -> Value:
    """Return a decision's value; whole numbers are ints."""
    if number is None:
        return text or ""
    return int(number) if number.is_integer() and abs(number) <= LARGEST_WHOLE else number


def names_of(transaction: Transaction, name: str, numbers: Sequence[int]) -> dict[int, tuple[str, ...]]:
    if not numbers:
        return {}
    rows = transaction.all(
        f"SELECT j.decision_id, n.name FROM decision_{name}s j JOIN {name}s n ON n.id = j.{name}_id "
        f"WHERE j.decision_id IN {set_of(numbers)}"
    )
    by_decision: dict[int, list[str]] = grouped(rows)
    return {decision: tuple(sorted(names, key=str.casefold)) for decision, names in by_decision.items()}


def status_number(name: object) -> int:
    return number_of("status", name, STATUSES)
