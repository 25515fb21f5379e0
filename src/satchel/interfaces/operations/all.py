"""Every operation, in the order in which agents see the tools."""

from __future__ import annotations

from satchel.interfaces.operations import constraints, decisions, entries, errors, search, strategies
from satchel.interfaces.operations.declaration import Operation

OPERATIONS: tuple[Operation, ...] = (
    *entries.OPERATIONS,
    *search.OPERATIONS,
    *decisions.OPERATIONS,
    *constraints.OPERATIONS,
    *errors.OPERATIONS,
    *strategies.OPERATIONS,
)
