"""Decisions: the project's word, keyed and versioned, with everything it was before."""

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
