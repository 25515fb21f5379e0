"""The tools, one module for each toolset; :data:`ALL_TOOLS` holds them in the order agents see them."""

from __future__ import annotations

from satchel.client import Satchel
from satchel.faces.mcp.registry import Tool
from satchel.faces.mcp.tools import (
    admin,
    constraints,
    consult,
    context,
    decisions,
    errors,
    files,
    find,
    messages,
    pack,
    packages,
)

ALL_TOOLS: tuple[Tool[Satchel], ...] = (
    *context.TOOLS,
    *find.TOOLS,
    *decisions.TOOLS,
    *constraints.TOOLS,
    *pack.TOOLS,
    *errors.TOOLS,
    *packages.TOOLS,
    *messages.TOOLS,
    *files.TOOLS,
    *consult.TOOLS,
    *admin.TOOLS,
)

DEFAULT_TOOLSETS: tuple[str, ...] = ("context", "find", "decisions", "constraints", "pack", "errors")
"""What is served unless ``--toolsets`` chooses."""
