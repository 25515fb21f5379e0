"""The tools, one module for each toolset; :data:`ALL_TOOLS` holds them in the order agents see them."""

from __future__ import annotations

from satchel.client import Satchel
from satchel.faces.mcp.registry import Tool
from satchel.faces.mcp.tools import context, find

ALL_TOOLS: tuple[Tool[Satchel], ...] = (*context.TOOLS, *find.TOOLS)

DEFAULT_TOOLSETS: tuple[str, ...] = ("context", "find")
"""What is served unless ``--toolsets`` chooses."""
