"""Every operation, in the order in which agents see the tools."""

from __future__ import annotations

from satchel.interfaces.operations import admin, briefing, constraints, consulting, files, messages, packages, runs
from satchel.interfaces.operations.declaration import Operation

OPERATIONS: tuple[Operation, ...] = (
    *constraints.OPERATIONS,
    *briefing.OPERATIONS,
    *packages.OPERATIONS,
    *messages.OPERATIONS,
    *files.OPERATIONS,
    *consulting.OPERATIONS,
    *runs.OPERATIONS,
    *admin.OPERATIONS,
)
