"""The tools: :data:`ALL_TOOLS` has those of all operations for agents, in the order that agents see."""

from __future__ import annotations

from satchel.client import Satchel
from satchel.interfaces.mcp.registry import Tool
from satchel.interfaces.operations.all import OPERATIONS
from satchel.interfaces.operations.as_tool import tools_of

ALL_TOOLS: tuple[Tool[Satchel], ...] = tuple(tools_of(OPERATIONS))

DEFAULT_TOOLSETS: tuple[str, ...] = (
    "context",
    "search",
    "decisions",
    "constraints",
    "briefing",
    "errors",
    "messages",
    "files",
)
"""What is served unless ``--toolsets`` chooses."""
