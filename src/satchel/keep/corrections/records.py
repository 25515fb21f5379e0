"""Records of corrections."""

from __future__ import annotations

from satchel.base.records import dataclass
from satchel.base.vocabulary import HUMAN


@dataclass(frozen=True, slots=True)
class Retracted:
    """Result of retracting an item.

    Attributes:
        text: the start of its text.
        asked: the short id of the message that asks a person to retract it, or its author to change a decision.
        already: how it had been replaced or retracted before, or None.
        correction: the number of the correction, for undo, or None.
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
    """Result of confirming an item: all that confirmed it, and the number of the correction, for undo."""

    ref: str
    kind: str
    by: tuple[str, ...]
    text: str
    notes: tuple[str, ...] = ()
    correction: int | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """The replacement or retraction of an item; ``number`` is that of the correction, for undo."""

    number: int
    action: str
    heir: str | None
    by: str | None
    reason: str | None
    ended_at: int


@dataclass(frozen=True, slots=True)
class Undone:
    """Result of an undo; ``heir`` is the replacement, which is retracted now."""

    ref: str
    kind: str
    action: str
    heir: str | None
    text: str
