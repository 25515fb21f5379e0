"""Decisions: the project's keyed and versioned choices, with their history."""

from __future__ import annotations

from satchel.base.lazy import exported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from satchel.keep.decisions.records import (
        KEEP,
        STATUSES,
        ChangedDecision,
        Decision,
        DecisionHistory,
        DecisionPage,
        DecisionState,
        Keep,
        NewDecision,
        Similar,
    )
    from satchel.keep.decisions.service import Decisions

__all__ = [
    "KEEP",
    "STATUSES",
    "ChangedDecision",
    "Decision",
    "DecisionHistory",
    "DecisionPage",
    "DecisionState",
    "Decisions",
    "Keep",
    "NewDecision",
    "Similar",
]

__getattr__ = exported(__name__, "records", "service")
