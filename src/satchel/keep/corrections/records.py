"""Records of corrections."""

from __future__ import annotations

from satchel.base.records import dataclass
from satchel.base.vocabulary import HUMAN


@dataclass(frozen=True, slots=True)
class Retracted:
    """Result of retracting an item.

    Attributes:
        ref: its short id.
        kind: its kind.
        record: the item.
        text: the start of its text.
        done: whether it is retracted now; False if someone was asked instead.
        asked: the short id of the message that asks a person to retract it, or its author to change a decision.
        already: how it had been replaced or retracted before, or None.
        notes: remarks for the caller.
        correction: the number of the correction, for undo, or None.
        asked_of: the receiver of that message.
    """

    ref: str
    kind: str
    record: object
    text: str
    done: bool = True
    asked: str | None = None
    already: str | None = None
    notes: tuple[str, ...] = ()
    correction: int | None = None
    asked_of: str = HUMAN


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Result of confirming an item.

    Attributes:
        ref: its short id.
        kind: its kind.
        by: the names of all that confirmed it, in order.
        text: the start of its text.
        notes: remarks for the caller.
        correction: the number of the correction, for undo, or None.
    """

    ref: str
    kind: str
    by: tuple[str, ...]
    text: str
    notes: tuple[str, ...] = ()
    correction: int | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """The replacement or retraction of an item.

    Attributes:
        number: the number of the correction, for undo.
        action: replaced or retracted.
        heir: the short id of the replacement.
        by: its author, or None.
    """

    number: int
    action: str
    heir: str | None
    by: str | None
    reason: str | None
    ended_at: int


@dataclass(frozen=True, slots=True)
class Undone:
    """Result of an undo.

    Attributes:
        ref: the item's short id.
        kind: its kind.
        action: the undone action: replaced, retracted, confirmed, written, set or pinned.
        heir: the short id of its replacement, which is retracted now.
        text: the start of the item's text.
    """

    ref: str
    kind: str
    action: str
    heir: str | None
    text: str
