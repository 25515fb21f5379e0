"""The description of the JSON API, made from the operations: OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.1)."""

from __future__ import annotations

from functools import cache
from typing import Any

from satchel import __version__
from satchel.base.errors import ERROR_KINDS
from satchel.interfaces.http.public import schema
from satchel.interfaces.http.served import operations
from satchel.interfaces.operations.declaration import Operation

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
def description() -> dict[str, Any]:
    """Return the description of the API."""
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
    taken = schema(operation)
    post = {
        "operationId": operation.name,
        "summary": operation.title or operation.help.partition(".")[0],
        "description": operation.about or operation.help,
        "requestBody": {"required": bool(taken.get("required")), "content": {"application/json": {"schema": taken}}},
        "responses": _responses(),
    }
    if operation.writes:
        return {"post": post}
    required = taken.get("required", ())
    parameters = [
        {"name": name, "in": "query", "required": name in required, "schema": inner}
        for name, inner in taken["properties"].items()
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
