"""The records of decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

from satchel.base.paging import KeptPage, Page
from satchel.base.records import dataclass, field
from satchel.find.kind import Kind

STATUSES = ("active", "deprecated", "draft")
"""The statuses of a decision, stored by their position, from 1."""

DEFAULT_VERSION = "1.0.0"

Value = str | int | float
"""The value of a decision: text or a number."""


Metadata = Mapping[str, str | float]


class Keep(Enum):
    """Marker of an omitted field, whose stored value stays."""

    KEEP = "keep"


KEEP: Final = Keep.KEEP


UNCHANGED = "nothing was changed"
"""The note on a decision that was set as it was."""


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
    score: float | None = None
    notes: tuple[str, ...] = ()
    replaced: DecisionState | None = None
    similar: tuple[Similar, ...] = ()

    @property
    def ref(self) -> str:
        return Kind.DECISION.ref(self.id)


@dataclass(frozen=True, slots=True)
class DecisionPage(KeptPage[Decision]):
    """A page of decisions, counted and read in one snapshot."""

    @property
    def decisions(self) -> tuple[Decision, ...]:
        return self.items


@dataclass(frozen=True, slots=True)
class DecisionHistory:
    """A decision with its previous states.

    Attributes:
        history: a page of previous states, newest first.
    """

    decision: Decision
    history: Page[DecisionState]


@dataclass(frozen=True, slots=True)
class ChangedDecision:
    """A change of another agent's decision; see ``satchel.brief.announcements``.

    Attributes:
        agent_id: the author of the replaced state.
        by_id: the author of the change, or None.
        kept: the key of a person's decision, which stays; ``decision`` is the draft that an agent proposes instead.
    """

    project_id: int
    agent_id: int
    by_id: int | None
    before: DecisionState
    decision: Decision
    kept: str | None = None
