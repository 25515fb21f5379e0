"""The tools, one module for each toolset; :data:`ALL_TOOLS` holds them in the order agents see them."""

from __future__ import annotations

from satchel.client import Satchel
from satchel.interfaces.mcp.registry import Tool
from satchel.interfaces.mcp.tools import (
    admin,
    briefing,
    consult,
    files,
    messages,
    packages,
)
from satchel.interfaces.operations import constraints, decisions, entries, errors, search, strategies
from satchel.interfaces.operations.as_tool import tools_of

ALL_TOOLS: tuple[Tool[Satchel], ...] = (
    *tools_of(entries.OPERATIONS),
    *tools_of(search.OPERATIONS),
    *tools_of(decisions.OPERATIONS),
    *tools_of(constraints.OPERATIONS),
    *briefing.TOOLS,
    *tools_of(errors.OPERATIONS),
    *packages.TOOLS,
    *tools_of(strategies.OPERATIONS),
    *messages.TOOLS,
    *files.TOOLS,
    *consult.TOOLS,
    *admin.TOOLS,
)

DEFAULT_TOOLSETS: tuple[str, ...] = ("context", "search", "decisions", "constraints", "briefing", "errors")
"""What is served unless ``--toolsets`` chooses."""
