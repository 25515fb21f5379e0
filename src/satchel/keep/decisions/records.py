"""The records of decisions."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from satchel.base.paging import KeptPage, Page
from satchel.base.records import dataclass
from satchel.find.kind import Kind

STATUSES = ("active", "deprecated", "draft")
"""The states of a decision; its number in the table is its place here, from 1."""

DEFAULT_VERSION = "1.0.0"

Value = str | int | float
"""What was decided: text, or a number."""


class Keep(Enum):
    """The mark of a field that was not given, so that what is kept stays."""

    KEEP = "keep"


KEEP: Final = Keep.KEEP


@dataclass(frozen=True, slots=True)
class NewDecision:
    """A decision to be set. A field left out keeps what there is; None or an empty list clears it.

    Attributes:
        key: the decision's name, at most 200 characters; compared exactly.
        value: text, or a number; needed for a new key.
        tags: names, compared without regard to case.
        scopes: modules or components, compared the same way.
        layer: one of the project's layers, or None.
        version: a free label; None is 1.0.0.
        status: one of :data:`STATUSES`.
        rationale: why.
        expected_revision: set it only if this is its revision; 0 demands that the key is new.
    """

    key: str
    value: Value | Keep = KEEP
    tags: Sequence[str] | Keep | None = KEEP
    scopes: Sequence[str] | Keep | None = KEEP
    layer: str | Keep | None = KEEP
    version: str | Keep | None = KEEP
    status: str | Keep = KEEP
    rationale: str | Keep | None = KEEP
    expected_revision: int | None = None


@dataclass(frozen=True, slots=True)
class DecisionState:
    """What a decision was until it was changed.

    Attributes:
        agent: who had set it so, or None.
        set_at: when, in milliseconds UTC.
        replaced_at: until when.
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


@dataclass(frozen=True, slots=True)
class Similar:
    """Another decision that a new one looks like.

    Attributes:
        by: key or value: what is alike.
        likeness: how alike, in percent.
    """

    ref: str
    key: str
    value: Value
    by: str
    likeness: int


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision as it stands.

    Attributes:
        id: the store's number; ``ref`` is its short id.
        uid: 32 hexadecimal digits, stable across export and import.
        seq: the number of its last change.
        value: text, or a number; numbers come back as numbers.
        revision: 1 when it was made, one more with every change.
        agent: who set it last, or None.
        created_at: when it was made, in milliseconds UTC.
        updated_at: when it was changed last.
        score: how well it matched a search, higher is better; None without one.
        notes: what the writer should know; empty when read.
        replaced: what this call replaced, when it was written.
        similar: other decisions it looks like, when it was written.
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
    score: float | None = None
    notes: tuple[str, ...] = ()
    replaced: DecisionState | None = None
    similar: tuple[Similar, ...] = ()

    @property
    def ref(self) -> str:
        """The short id, as in ``d12``."""
        return Kind.DECISION.ref(self.id)


@dataclass(frozen=True, slots=True)
class DecisionPage(KeptPage[Decision]):
    """Part of the decisions, counted and read in one snapshot."""

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The part."""
        return self.items


@dataclass(frozen=True, slots=True)
class DecisionHistory:
    """A decision with what it was before.

    Attributes:
        history: the states before, the newest first; a page of them.
    """

    decision: Decision
    history: Page[DecisionState]


@dataclass(frozen=True, slots=True)
class ChangedDecision:
    """That somebody changed what somebody else had set; see ``satchel.brief.decision_change_notice``.

    Attributes:
        agent_id: who had set the state that was replaced.
        by_id: who replaced it, or None.
    """

    project_id: int
    agent_id: int
    by_id: int | None
    before: DecisionState
    decision: Decision
