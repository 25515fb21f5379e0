"""Operations as tools for agents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from satchel.client import Satchel
from satchel.interfaces.mcp.answer import answer
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.registry import Tool
from satchel.interfaces.mcp.schema import Schema
from satchel.interfaces.operations.declaration import Object, Operation, Parameter, load
from satchel.interfaces.operations.parameters import AGENT, FORMAT


def tools_of(operations: Iterable[Operation]) -> tuple[Tool[Satchel], ...]:
    """Return the tools that operations are, of those that agents have."""
    return tuple(_tool(operation, operation.tool) for operation in operations if operation.tool is not None)


def schema_of(parameters: Iterable[Parameter]) -> Schema:
    """Return what agents may give for some parameters."""
    taken = [parameter for parameter in parameters if not parameter.for_people]
    schema: dict[str, Any] = {"type": "object", "properties": {one.name: one.schema() for one in taken}}
    # what may be given several at once need not be given as one
    required = [] if any(one.type == list[Object] for one in taken) else [one.name for one in taken if one.required]
    return schema | ({"required": required} if required else {}) | {"additionalProperties": False}


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
