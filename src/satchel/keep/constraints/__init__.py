"""Constraints: rules of the project."""

from __future__ import annotations

from satchel.base.lazy import exported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from satchel.keep.constraints.records import STATUSES, Constraint, ConstraintPage
    from satchel.keep.constraints.service import Constraints

__all__ = [
    "STATUSES",
    "Constraint",
    "ConstraintPage",
    "Constraints",
]

__getattr__ = exported(__name__, "records", "service")
