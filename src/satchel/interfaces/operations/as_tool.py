"""Operations as tools for agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from satchel.base.errors import InvalidInput
from satchel.client import Satchel
from satchel.interfaces.hooks.state import tell_of_project
from satchel.interfaces.mcp.call import Call, answer
from satchel.interfaces.mcp.registry import Tool
from satchel.interfaces.operations.all import OPERATIONS
from satchel.interfaces.operations.declaration import Operation, fields_maker, schema_of, text_maker, with_whole_texts
from satchel.interfaces.operations.parameters import DETAIL, FORMAT
from satchel.interfaces.text.parts import fitting_fields, fitting_text
from satchel.keep.sessions.actors import touch_session


def _tool(operation: Operation, name: str) -> Tool[Satchel]:
    others = operation.chosen_by_agents()

    def handle(call: Call[Satchel], /, *, format: str = "text", **arguments: Any) -> str:  # noqa: A002 -- on the wire
        if touch_session(call.service.workplace):
            tell_of_project(call.service)
        if call.service.remote is not None and not operation.of_program:
            operation.refuse_remote()
        if operation.handler:
            return operation.handler(call, format=format, **arguments)
        target = _select(operation, others, arguments) if others else operation
        is_list = bool(target.items) or "limit" in _names(target)
        # before any write: a completed write must not end in an error
        detail = arguments.pop(DETAIL.name, None)
        make_text, make_json = text_maker(target, detail), fields_maker(target, detail)
        with call.on_cancel(call.service.interrupter()):
            agent = arguments.get("agent") if target.has_actor else None
            run = target.bound(call.service, {"agent": agent, "shown_by": "get_messages"})
            extra: dict[str, object] = {"progress": call.progress} if target.reports else {}
            extra |= {DETAIL.name: detail} if target.passes_detail else {}
            result = with_whole_texts(target, detail, run(**target.renamed(arguments), **extra))
        return answer(
            call,
            format,
            lambda: fitting_text(result, make_text) if is_list else make_text(result),
            lambda: fitting_fields(result, make_json) if is_list else make_json(result),
            agent=agent,
            files=target.files(result),
            taken=() if target.takes is None else target.takes(result),
        )

    more = [one for other in others.values() for one in other.parameters if one.name not in _names(operation)]
    parameters = (*operation.parameters, *more, FORMAT)
    read_only = not operation.writes if operation.read_only is None else operation.read_only
    return Tool(
        name,
        operation.toolset,
        operation.title or name.replace("_", " ").capitalize(),
        operation.about,
        schema_of(parameters, takes_less=bool(others)),
        handle,
        read_only=read_only,
        destructive=operation.destructive,
        idempotent=read_only if operation.idempotent is None else operation.idempotent,
        reaches_out=operation.reaches_out,
        found_by=operation.found_by,
        always_shown=operation.always_shown,
        unlisted=frozenset(one.name for one in parameters if one.unlisted),
        rare={one.name: one.rare for one in parameters if one.rare},
        # agents who read the listing give one item; a batch, which needs none of these, is accepted
        required=() if others else tuple(one.name for one in parameters if one.required and not one.unlisted),
    )


def _select(operation: Operation, others: Mapping[str, Operation], arguments: Mapping[str, Any]) -> Operation:
    choosing = next((name for name in others if name in arguments), None)
    target = operation if choosing is None else others[choosing]
    strangers = [name for name in arguments if name not in _names(target)]
    if strangers and choosing is not None:
        raise InvalidInput(f"{choosing} was given beside {', '.join(strangers)}", "Leave it out, or what is beside it")
    if strangers:
        needed = next(name for name, other in others.items() if strangers[0] in _names(other))
        raise InvalidInput(f"{strangers[0]} was given without {needed}", "Give both, or leave it out")
    missing = [one.name for one in target.parameters if one.required and one.name not in arguments]
    if missing:
        raise InvalidInput(f"{missing[0]} is missing", f"Give it, or {' or '.join(others)}")
    return target


def _names(operation: Operation) -> set[str]:
    return {one.name for one in operation.parameters if not one.for_people}


ALL_TOOLS: tuple[Tool[Satchel], ...] = tuple(_tool(one, one.tool) for one in OPERATIONS if one.tool is not None)

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
