"""The tools, one module for each toolset; :data:`ALL_TOOLS` holds them in the order agents see them."""

from __future__ import annotations

from satchel.client import Satchel
from satchel.interfaces.mcp.registry import Tool
from satchel.interfaces.operations import (
    admin,
    briefing,
    constraints,
    consulting,
    decisions,
    entries,
    errors,
    files,
    messages,
    packages,
    search,
    strategies,
)
from satchel.interfaces.operations.as_tool import tools_of

ALL_TOOLS: tuple[Tool[Satchel], ...] = (
    *tools_of(entries.OPERATIONS),
    *tools_of(search.OPERATIONS),
    *tools_of(decisions.OPERATIONS),
    *tools_of(constraints.OPERATIONS),
    *tools_of(briefing.OPERATIONS),
    *tools_of(errors.OPERATIONS),
    *tools_of(packages.OPERATIONS),
    *tools_of(strategies.OPERATIONS),
    *tools_of(messages.OPERATIONS),
    *tools_of(files.OPERATIONS),
    *tools_of(consulting.OPERATIONS),
    *tools_of(admin.OPERATIONS),
)

DEFAULT_TOOLSETS: tuple[str, ...] = ("context", "search", "decisions", "constraints", "briefing", "errors")
"""What is served unless ``--toolsets`` chooses."""
