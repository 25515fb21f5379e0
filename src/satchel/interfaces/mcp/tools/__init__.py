"""The tools, one module for each toolset; :data:`ALL_TOOLS` holds them in the order agents see them."""

from __future__ import annotations

from satchel.client import Satchel
from satchel.interfaces.mcp.registry import Tool
from satchel.interfaces.mcp.tools import (
    context,
    decisions,
    errors,
    packages,
    search,
)
from satchel.interfaces.operations import admin, briefing, constraints, consulting, files, messages
from satchel.interfaces.operations import packages as package_operations
from satchel.interfaces.operations.as_tool import tools_of

ALL_TOOLS: tuple[Tool[Satchel], ...] = (
    *context.TOOLS,
    *search.TOOLS,
    *decisions.TOOLS,
    *tools_of(constraints.OPERATIONS),
    *tools_of(briefing.OPERATIONS),
    *errors.TOOLS,
    *tools_of(package_operations.OPERATIONS),
    *packages.TOOLS,
    *tools_of(messages.OPERATIONS),
    *tools_of(files.OPERATIONS),
    *tools_of(consulting.OPERATIONS),
    *tools_of(admin.OPERATIONS),
)

DEFAULT_TOOLSETS: tuple[str, ...] = ("context", "search", "decisions", "constraints", "briefing", "errors")
"""What is served unless ``--toolsets`` chooses."""
