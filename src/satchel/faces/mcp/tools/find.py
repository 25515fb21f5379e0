"""Toolset ``find``: one search over everything the project keeps."""

from __future__ import annotations

import json
from collections.abc import Sequence

from satchel.client import Satchel
from satchel.faces.mcp.call import Call
from satchel.faces.mcp.registry import Tool


def search(
    call: Call[Satchel],
    /,
    *,
    query: str | None = None,
    like: str | None = None,
    syntax: str = "natural",
    run_id: str | None = None,
    kinds: Sequence[str] | None = None,
    types: Sequence[str] | None = None,
    agent: str | None = None,
    task_id: str | None = None,
    loop_id: str | None = None,
    file: str | None = None,
    since: str | None = None,
    status: str = "all",
    limit: int = 10,
    offset: int = 0,
    explain: bool = False,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Search everything the project keeps."""
    # an agent that never searches does not pay for it at start
    from satchel.faces.found_text import found_fields, found_text

    with call.on_cancel(call.service.interrupter()):
        page = call.service.finding.search(
            query,
            like=like,
            syntax=syntax,
            run_id=run_id,
            kinds=kinds,
            types=types,
            agent=agent,
            task_id=task_id,
            loop_id=loop_id,
            file=file,
            since=since,
            status=status,
            limit=limit,
            offset=offset,
            explain=explain,
        )
    if format == "json":
        return json.dumps(found_fields(page), ensure_ascii=False, separators=(",", ":"))
    return found_text(page)


TOOLS: tuple[Tool[Satchel], ...] = (
    Tool(
        name="search",
        toolset="find",
        description="What do we know about X? Searches all runs of the project; any words, best first.",
        parameters={
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": 'Any words; a "quoted phrase" counts more'},
                "like": {"type": "string", "description": "Instead: an id such as e812, to find more like it"},
                "syntax": {
                    "type": "string",
                    "enum": ["natural", "operators"],
                    "description": "operators: AND OR NOT prefix* ( )",
                },
                "run_id": {"type": "string"},
                "kinds": {"type": "array", "items": {"type": "string"}},
                "types": {"type": "array", "items": {"type": "string"}},
                "agent": {"type": "string", "description": "Only this author's"},
                "task_id": {"type": "string"},
                "loop_id": {"type": "string"},
                "file": {"type": "string"},
                "since": {"type": "string", "description": "ISO 8601, or an age: 90m, 2d"},
                "status": {"type": "string", "enum": ["all", "live", "superseded"]},
                "limit": {"type": "integer", "minimum": 0, "maximum": 500, "description": "Default 10"},
                "offset": {"type": "integer", "minimum": 0},
                "explain": {"type": "boolean"},
                "format": {"type": "string", "enum": ["text", "json"]},
            },
            "additionalProperties": False,
        },
        handler=search,
        read_only=True,
    ),
)
