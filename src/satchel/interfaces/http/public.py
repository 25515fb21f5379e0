"""The operations of the JSON API: looked up by name, run with plain JSON, described as OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from satchel import __version__
from satchel.base.errors import ERROR_KINDS, InvalidInput, NotFound, Refused, SatchelError, nearest
from satchel.client import Satchel
from satchel.interfaces.http.access import Access, Callers, agent_of, checked_session
from satchel.interfaces.http.stores import Stores
from satchel.interfaces.mcp.schema import check_arguments
from satchel.interfaces.operations.declaration import Operation, Parameter, fields_maker, schema_of, with_whole_texts
from satchel.interfaces.operations.parameters import DETAIL

DRY_RUN = Parameter("dry_run", bool, default=True, about="false removes; otherwise the answer says what would be")

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "problem", "remedy"],
            "properties": {
                "code": {"type": "string", "enum": list(ERROR_KINDS)},
                "problem": {"type": "string"},
                "remedy": {"type": ["string", "null"]},
            },
        }
    },
}


@cache
def operations() -> dict[str, Operation]:
    """Return all operations by name, including those that a parameter of another one selects."""
    from satchel.interfaces.operations.all import OPERATIONS

    by_name: dict[str, Operation] = {}
    for one in OPERATIONS:
        for operation in (one, *one.instead.values()):
            by_name.setdefault(operation.name, operation)
    return by_name


def operation_named(name: str) -> Operation:
    operation = operations().get(name)
    if operation is None:
        close = nearest(name, operations())
        raise NotFound(
            f"there is no operation {name[:80]!r}",
            f"Did you mean {close}?" if close else "GET /api/openapi.json lists them all",
        )
    return operation


def run_public(
    stores: Stores,
    access: Access,
    name: str,
    values: Mapping[str, Any],
    started: Callable[[Satchel], object],
    *,
    reads_only: bool,
    callers: Callers,
    header: str | None = None,
) -> Mapping[str, Any]:
    """Run an operation and return its answer as JSON fields, with the notice."""
    operation = operation_named(name)
    refuse_unserved(operation)
    if reads_only and operation.writes:
        raise InvalidInput(f"{name} writes, so it is no GET", "Send its arguments as a JSON object with POST")
    arguments = check_arguments(schema(operation), values, name)
    detail = arguments.pop(DETAIL.name, None)
    if operation.asks:
        arguments.setdefault(DRY_RUN.name, True)
    session = None if access.read_only else checked_session(header)
    make = fields_maker(operation, detail)
    satchel = stores.satchel(access, caller=callers.caller(access, session), agent=agent_of(access, session))
    started(satchel)
    passed = {DETAIL.name: detail} if operation.passes_detail else {}
    answer = with_whole_texts(operation, detail, operation.bound(satchel)(**operation.renamed(arguments), **passed))
    made: Any = make(answer)
    fields = dict(made) if isinstance(made, Mapping) else {"result": made}
    agent = arguments.get("agent") if operation.has_actor else None
    notice = notice_beside(satchel, operation, answer, agent, None if operation.lists_messages else "get_messages")
    return fields if notice is None else {**fields, "notice": notice}


def notice_beside(
    satchel: Satchel, operation: Operation, answer: Any, agent: str | None, shown_by: str | None
) -> str | None:
    """Return the notice for an answer, or one that reports why it could not be looked up."""
    try:
        return satchel.notices.line(
            agent=agent,
            files=operation.files(answer),
            shown_by=shown_by,
            taken=() if operation.takes is None else operation.takes(answer),
        )
    except SatchelError as error:
        return f"notice: claims and messages of others could not be looked up ({error.code})"


def refuse_unserved(operation: Operation) -> None:
    """Refuse an operation that needs the caller's disk or keys."""
    if operation.only_here:
        raise Refused(f"{operation.name} does not work over a server", operation.only_here)


@cache
def schema(operation: Operation) -> dict[str, Any]:
    """Return the parameters of an operation as a JSON schema of an object."""
    # agents' operations use the parameters for agents: those for people are aliases that no service takes
    of_agents = operation.tool is not None
    declared = [
        one.but(for_people=False, about=one.about or one.help or "")
        for one in operation.parameters
        if not (one.for_people and of_agents)
    ]
    declared += [DRY_RUN] if operation.asks and all(one.name != DRY_RUN.name for one in declared) else []
    names = {*operation.instead}
    return schema_of(one for one in declared if one.name not in names)


@cache
def description() -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Satchel",
            "version": __version__,
            "description": "The context that a team of coding agents shares. A token leads to one project.",
        },
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": _ERROR},
        },
        "paths": {f"/api/{name}": _path(one) for name, one in operations().items() if not one.only_here},
    }


def _path(operation: Operation) -> dict[str, Any]:
    declared = schema(operation)
    post = {
        "operationId": operation.name,
        "summary": operation.title or operation.help.partition(".")[0],
        "description": operation.about or operation.help,
        "requestBody": {
            "required": bool(declared.get("required")),
            "content": {"application/json": {"schema": declared}},
        },
        "responses": _responses(),
    }
    if operation.writes:
        return {"post": post}
    required = declared.get("required", ())
    parameters = [
        {"name": name, "in": "query", "required": name in required, "schema": inner}
        for name, inner in declared["properties"].items()
    ]
    get = {key: value for key, value in post.items() if key != "requestBody"}
    return {"get": {**get, "operationId": f"{operation.name}_get", "parameters": parameters}, "post": post}


def _responses() -> dict[str, Any]:
    answer = {"schema": {"type": "object"}}
    error = {"schema": {"$ref": "#/components/schemas/Error"}}
    return {
        "200": {"description": "The answer.", "content": {"application/json": answer}},
        "default": {"description": "What went wrong.", "content": {"application/json": error}},
    }
