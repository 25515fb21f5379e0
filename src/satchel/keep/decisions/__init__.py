"""Decisions: the project's word, keyed and versioned, with everything it was before."""

from satchel.keep.decisions.records import (
    KEEP,
    STATUSES,
    Decision,
    DecisionHistory,
    DecisionPage,
    DecisionState,
    Keep,
    NewDecision,
    Overtaken,
    Similar,
)
from satchel.keep.decisions.service import Decisions
from satchel.keep.decisions.tables import delete, load_documents, searchable_texts

__all__ = [
    "KEEP",
    "STATUSES",
    "Decision",
    "DecisionHistory",
    "DecisionPage",
    "DecisionState",
    "Decisions",
    "Keep",
    "NewDecision",
    "Overtaken",
    "Similar",
    "delete",
    "load_documents",
    "searchable_texts",
]
