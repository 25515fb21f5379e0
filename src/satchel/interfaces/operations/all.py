"""All operations, in the order in which agents see the tools."""

from __future__ import annotations

from satchel.interfaces.operations import (
    admin,
    briefing,
    constraints,
    consulting,
    corrections,
    decisions,
    entries,
    errors,
    files,
    messages,
    packages,
    room,
    runs,
    search,
    sharing,
    strategies,
)
from satchel.interfaces.operations.declaration import Operation

OPERATIONS: tuple[Operation, ...] = (
    *briefing.OPERATIONS,
    *files.OPERATIONS,
    *entries.OPERATIONS,
    *search.OPERATIONS,
    *messages.OPERATIONS,
    *decisions.OPERATIONS,
    *constraints.OPERATIONS,
    *errors.OPERATIONS,
    *corrections.OPERATIONS,
    *packages.OPERATIONS,
    *strategies.OPERATIONS,
    *sharing.OPERATIONS,
    *consulting.OPERATIONS,
    *runs.OPERATIONS,
    *room.OPERATIONS,
    *admin.OPERATIONS,
)
