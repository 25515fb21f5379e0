"""Constraints: rules that the project must respect."""

from satchel.keep.constraints.records import STATUSES, Constraint, ConstraintPage
from satchel.keep.constraints.service import Constraints

__all__ = [
    "STATUSES",
    "Constraint",
    "ConstraintPage",
    "Constraints",
]
