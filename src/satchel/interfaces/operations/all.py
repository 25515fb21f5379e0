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

_MODULES = (
    *(briefing, files, entries, search, messages, decisions, constraints, errors, corrections),
    *(packages, strategies, sharing, consulting, runs, room, admin),
)
OPERATIONS: tuple[Operation, ...] = tuple(one for module in _MODULES for one in module.OPERATIONS)
