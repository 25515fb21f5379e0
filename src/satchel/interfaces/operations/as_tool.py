"""Operations as tools for agents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from satchel.client import Satchel
from satchel.interfaces.mcp.answer import answer
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.registry import Tool
from satchel.interfaces.operations.declaration import Operation, load, schema_of
from satchel.interfaces.operations.parameters import AGENT, FORMAT


def tools_of(operations: Iterable[Operation]) -> tuple[Tool[Satchel], ...]:
    """Return the tools that operations are, of those that agents have."""
    return tuple(_tool(operation, operation.tool) for operation in operations if operation.tool is not None)


def _tool(operation: Operation, name: str) -> Tool[Satchel]:
    acts = AGENT in operation.parameters

    def handle(call: Call[Satchel], /, *, format: str = "text", **arguments: Any) -> str:  # noqa: A002 -- on the wire
        with call.on_cancel(call.service.interrupter()):
            told = {"progress": call.progress} if operation.reports else {}
            result = operation.bound(call.service)(**operation.renamed(arguments), **told)
        return answer(
            call,
            format,
            lambda: load(operation.text)(result),
            lambda: operation.as_json(result),
            agent=arguments.get("agent") if acts else None,
            files=operation.files(result),
        )

    return Tool(
        name,
        operation.toolset,
        operation.about,
        schema_of((*operation.parameters, FORMAT)),
        handle,
        read_only=not operation.writes if operation.read_only is None else operation.read_only,
        destructive=operation.destructive,
    )
