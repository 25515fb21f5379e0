"""What became of lines."""

from __future__ import annotations

from enum import Enum

from satchel.base.records import dataclass


class Outcome(Enum):
    """What became of one line."""

    ADDED = "added"
    UPDATED = "updated"
    PRESENT = "present"
    KEPT = "kept"
    CONFLICT = "conflict"
    LEFT_OUT = "left_out"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one line.

    Attributes:
        kind: as the line says; so for ``uid``.
        ref: the short id that the item has here, or None.
        outcome: ``kept`` for a line that ours is newer than, ``conflict`` where both sides changed; both states of
            that are kept, and ``note`` says which one holds.
        note: what should be known of it, or why it was left out.
    """

    kind: str
    uid: str
    ref: str | None
    outcome: Outcome
    note: str | None = None
