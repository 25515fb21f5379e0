"""Outcomes of imported lines."""

from __future__ import annotations

from enum import Enum

from satchel.base.records import dataclass


class Outcome(Enum):
    """Outcome of one line."""

    ADDED = "added"
    UPDATED = "updated"
    PRESENT = "present"
    KEPT = "kept"
    CONFLICT = "conflict"
    LEFT_OUT = "left_out"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict on one line.

    Attributes:
        kind: as in the line, like ``uid``.
        ref: the item's local short id, or None.
        outcome: ``kept`` if the local state is newer, ``conflict`` if both sides changed; both states are then kept
            and ``note`` names the winner.
        note: a remark, or the reason it was left out.
    """

    kind: str
    uid: str
    ref: str | None
    outcome: Outcome
    note: str | None = None
