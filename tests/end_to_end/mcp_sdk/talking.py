"""Talking with the real server through the official SDK's client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mcp_types
from mcp import Client

READING_TOOLS = [
    "get_briefing",
    "search",
    "get_items",
    "get_team",
]

Conversation = Callable[[Client], Awaitable[None]]


async def call(client: Client, tool: str, arguments: Mapping[str, Any]) -> str:
    """Call a tool that is to succeed; return its text."""
    result = await client.call_tool(tool, dict(arguments))
    assert not result.is_error, result.content
    return text(result)


async def refused(client: Client, tool: str, arguments: Mapping[str, Any]) -> str:
    """Call a tool that is to fail; return the error's text."""
    result = await client.call_tool(tool, dict(arguments))
    assert result.is_error, result.content
    return text(result)


def text(result: mcp_types.CallToolResult) -> str:
    """Return the text of a result that is one text."""
    (block,) = result.content
    assert isinstance(block, mcp_types.TextContent)
    return block.text


def resource_text(result: mcp_types.ReadResourceResult) -> str:
    """Return the text of a resource that is one text."""
    (content,) = result.contents
    assert isinstance(content, mcp_types.TextResourceContents)
    return content.text
