"""Operations as tools for agents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from satchel.base.errors import InvalidInput
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


def schema_of(parameters: Iterable[Parameter], *, takes_less: bool = False) -> Schema:
    """Return what agents may give for some parameters.

    Args:
        takes_less: what is required depends on what else is given.
    """
    taken = [parameter for parameter in parameters if not parameter.for_people]
    schema: dict[str, Any] = {"type": "object", "properties": {one.name: one.schema() for one in taken}}
    # what may be given several at once need not be given as one
    takes_less = takes_less or any(one.type == list[Object] for one in taken)
    required = [] if takes_less else [one.name for one in taken if one.required]
    return schema | ({"required": required} if required else {}) | {"additionalProperties": False}


def _tool(operation: Operation, name: str) -> Tool[Satchel]:
    others = operation.chosen_by_agents()

    def handle(call: Call[Satchel], /, *, format: str = "text", **arguments: Any) -> str:  # noqa: A002 -- on the wire
        if operation.handler:
            return str(load(operation.handler)(call, format=format, **arguments))
        chosen = _chosen(operation, others, arguments) if others else operation
        with call.on_cancel(call.service.interrupter()):
            told = {"progress": call.progress} if chosen.reports else {}
            result = chosen.bound(call.service)(**chosen.renamed(arguments), **told)
        return answer(
            call,
            format,
            lambda: load(chosen.text)(result),
            lambda: chosen.as_json(result),
            agent=arguments.get("agent") if AGENT in chosen.parameters else None,
            files=chosen.files(result),
        )

    more = [one for other in others.values() for one in other.parameters if one.name not in _names(operation)]
    return Tool(
        name,
        operation.toolset,
        operation.about,
        schema_of((*operation.parameters, *more, FORMAT), takes_less=bool(others)),
        handle,
        read_only=not operation.writes if operation.read_only is None else operation.read_only,
        destructive=operation.destructive,
    )


def _chosen(operation: Operation, others: Mapping[str, Operation], arguments: Mapping[str, Any]) -> Operation:
    """Return the operation that the arguments choose; refuse what only another one takes, and what it misses."""
    choosing = next((name for name in others if name in arguments), None)
    chosen = operation if choosing is None else others[choosing]
    strangers = [name for name in arguments if name not in _names(chosen)]
    if strangers and choosing is not None:
        raise InvalidInput(f"{choosing} was given beside {', '.join(strangers)}", "Leave it out, or what is beside it")
    if strangers:
        needed = next(name for name, other in others.items() if strangers[0] in _names(other))
        raise InvalidInput(f"{strangers[0]} was given without {needed}", "Give both, or leave it out")
    missing = [one.name for one in chosen.parameters if one.required and one.name not in arguments]
    if missing:
        raise InvalidInput(f"{missing[0]} is missing", f"Give it, or {' or '.join(others)}")
    return chosen


def _names(operation: Operation) -> set[str]:
    return {one.name for one in operation.parameters if not one.for_people}
