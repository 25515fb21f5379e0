"""Constraints: rules that the project must respect."""

from satchel.keep.constraints.records import STATUSES, Constraint, ConstraintPage
from satchel.keep.constraints.service import Constraints
from satchel.keep.constraints.updates import delete, load_documents, searchable_texts

__all__ = [
    "STATUSES",
    "Constraint",
    "ConstraintPage",
    "Constraints",
    "delete",
    "load_documents",
    "searchable_texts",
]
