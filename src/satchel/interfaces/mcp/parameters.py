"""What the parameters of tools are made of: the parts of a lean JSON schema, each written once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from satchel.base import vocabulary
from satchel.base.paging import MATCHES, ORDERS
from satchel.interfaces.mcp.schema import Schema


def takes(properties: Mapping[str, Schema], *required: str) -> Schema:
    """Return the schema of a tool's parameters, or of an item that has fields of its own."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return schema | {"additionalProperties": False}


def said(schema: Schema, description: str) -> Schema:
    """Return a schema with what a model needs to know beyond name and type."""
    return {**schema, "description": description}


def choice(*names: str) -> Schema:
    """Return the schema of a text that is one of a few names."""
    return {"type": "string", "enum": list(names)}


def clearable(schema: Schema) -> Schema:
    """Return a schema that null is a value of, which clears the field; leaving the field out is something else."""
    return {**schema, "type": [schema["type"], "null"]}


def texts(item: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": item}


TEXT: Schema = {"type": "string"}
TEXTS = texts(TEXT)
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}

SEVERAL = texts({"type": "object"})
"""A batch of items, each checked against the fields of one."""

FORMAT = said(choice("text", "json"), "Every tool takes it")
ACTOR = said(TEXT, "Your name")
AUTHOR = said(TEXT, "Author")
"""A filter, not who acts."""
PRIORITY = choice(*vocabulary.PRIORITIES)
LEAST_PRIORITY = said(PRIORITY, "Or higher")
LIVENESS = choice(*vocabulary.LIVENESS)
MATCH = choice(*MATCHES)

PAGE: Mapping[str, Schema] = {"limit": WHOLE, "offset": WHOLE, "format": FORMAT}
"""What every list takes."""

CHANGES: Mapping[str, Schema] = {
    "since": said(TEXT, "2d or ISO 8601"),
    "after_seq": said(WHOLE, "Every list takes since, after_seq, order"),
    "order": choice(*ORDERS),
    **PAGE,
}
"""What a list of things that change takes."""
