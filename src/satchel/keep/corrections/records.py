"""The records of corrections."""

from __future__ import annotations

from satchel.base.records import dataclass
from satchel.base.vocabulary import HUMAN


@dataclass(frozen=True, slots=True)
class Retracted:
    """What retracting an item did.

    Attributes:
        ref: its short id, and ``kind`` what it is.
        record: the item as it stands.
        text: the beginning of what it says.
        done: whether it holds no more; False where somebody was asked instead.
        asked: the short id of the message that asks, and ``asked_of`` whom: a person to retract it, or who set a
            decision to change it.
        already: how it had ended before; None where this ended it.
        notes: what the caller should know.
        correction: the number of the correction, for what takes it back; None where nothing was corrected.
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
    """Who confirmed an item, in order.

    Attributes:
        ref: its short id, and ``kind`` what it is.
        by: their names.
        text: the beginning of what it says.
        notes: what the caller should know.
        correction: the number of the correction, for what takes it back; None where nothing was corrected.
    """

    ref: str
    kind: str
    by: tuple[str, ...]
    text: str
    notes: tuple[str, ...] = ()
    correction: int | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How an item was replaced or retracted.

    Attributes:
        number: of the correction, for what takes it back.
        action: replaced or retracted.
        heir: the short id of what replaced it.
        by: who did, or None.
    """

    number: int
    action: str
    heir: str | None
    by: str | None
    reason: str | None
    ended_at: int


@dataclass(frozen=True, slots=True)
class Undone:
    """What was taken back.

    Attributes:
        ref: the short id of the item that was corrected, and ``kind`` what it is.
        action: what had been done: replaced, retracted, confirmed, written, set or pinned.
        heir: the short id of what had replaced it, which is retracted now.
        text: the beginning of what the item says.
    """

    ref: str
    kind: str
    action: str
    heir: str | None
    text: str
