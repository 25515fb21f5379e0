"""Check of JSON texts against a part of JSON Schema, in bounded time.

Specification: https://json-schema.org/draft/2020-12/json-schema-validation
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from satchel.base.errors import InvalidInput

MAX_SCHEMA_BYTES = 32_768

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
_PART = {"$ref": "#/$defs/part"}
# The keywords that an answer is checked by, each with the schema of its value.
_KEYWORDS: Mapping[str, Mapping[str, Any]] = {
    "type": {"anyOf": [{"enum": [*_TYPES]}, {"type": "array", "items": {"enum": [*_TYPES]}, "minItems": 1}]},
    "enum": {"type": "array", "minItems": 1},
    "const": {},
    "anyOf": {"type": "array", "items": _PART, "minItems": 1},
    "properties": {"type": "object", "additionalProperties": _PART},
    "required": {"type": "array", "items": {"type": "string"}},
    "additionalProperties": {"anyOf": [{"type": "boolean"}, _PART]},
    "items": _PART,
    **{f"{bound}{of}": {"type": "number"} for bound in ("min", "max") for of in ("Items", "imum", "Length")},
}

_NOTES: Mapping[str, Any] = {note: {} for note in ("title", "description", "examples", "default", "$schema")}
_DEFINITIONS = "#/$defs/"
_MAX_DEPTH = 192
# Parts that are compared: definitions that name each other twice would double them with each level.
_MAX_STEPS = 1_000_000

_SHOWN_CHARS = 80


def check_schema(schema: object) -> str:
    """Return a schema as JSON text."""
    try:
        written = json.dumps(schema, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(f"it is not JSON ({error})") from None
    if len(written.encode("utf-8", "replace")) > MAX_SCHEMA_BYTES:
        raise _refused(f"it has more than {MAX_SCHEMA_BYTES:,} bytes")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise _refused('it has to be an object with "type": "object"')
    definitions = schema.get("$defs")
    names = definitions if isinstance(definitions, dict) else ()
    properties = {**_KEYWORDS, **_NOTES, "$ref": {"enum": [f"{_DEFINITIONS}{name}" for name in names]}}
    part = {"type": "object", "properties": properties, "additionalProperties": False}
    whole = {**part, "properties": {**properties, "$defs": {"type": "object", "additionalProperties": _PART}}}
    if (problem := _first_mismatch(schema, {**whole, "$defs": {"part": part}}, "it")) is not None:
        raise _refused(problem)
    return written


def unfenced(answer: str) -> str:
    """Return an answer without a code fence around all of it."""
    lines = answer.strip().split("\n")
    return "\n".join(lines[1:-1]) if len(lines) > 2 and lines[0][:3] == lines[-1].strip() == "```" else answer.strip()


def find_mismatch(answer: str, schema: Mapping[str, Any] | None) -> str | None:
    """Return where an answer differs from a schema, or None; without a schema any answer matches."""
    if schema is None:
        return None
    try:
        value = json.loads(answer, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        return f"it is not JSON: {error}"
    return _first_mismatch(value, schema, "the answer")


def _first_mismatch(value: object, schema: Mapping[str, Any], name: str) -> str | None:
    try:
        return next(_Check(schema.get("$defs", {})).mismatches(value, schema, name, 0), None)
    except (_TooLong, RecursionError):
        return "it takes too long to compare with the schema"


class _TooLong(Exception):
    pass


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _refused(problem: str) -> InvalidInput:
    return InvalidInput(
        f"the schema cannot be used: {problem}"[:400],
        f"Give a JSON Schema of an object with {', '.join(sorted(_KEYWORDS))}, $ref and $defs; "
        f"types are {', '.join(_TYPES)}",
    )


class _Check:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._steps = 0

    def mismatches(self, value: Any, schema: Mapping[str, Any], at: str, depth: int) -> Iterator[str]:
        self._steps += 1 + len(schema.get("enum", ()))
        if self._steps > _MAX_STEPS:
            raise _TooLong
        if depth > _MAX_DEPTH:
            yield f"{at[:_SHOWN_CHARS]} is nested too deeply"
            return
        if "$ref" in schema:
            target = self._definitions[schema["$ref"].removeprefix(_DEFINITIONS)]
            yield from self.mismatches(value, target, at, depth + 1)
        names = schema.get("type", ())
        if names and not any(_is_type(value, name) for name in ([names] if isinstance(names, str) else names)):
            yield f"{at} is not of type {names if isinstance(names, str) else ' or '.join(names)}"
            return
        if "enum" in schema and not any(_equals(value, one) for one in schema["enum"]):
            yield f"{at} is not one of {json.dumps(schema['enum'], ensure_ascii=False)[:_SHOWN_CHARS]}"
        if "const" in schema and not _equals(value, schema["const"]):
            yield f"{at} is not {json.dumps(schema['const'], ensure_ascii=False)[:_SHOWN_CHARS]}"
        if "anyOf" in schema and not any(
            next(self.mismatches(value, one, at, depth + 1), None) is None for one in schema["anyOf"]
        ):
            yield f"{at} matches no part of anyOf"
        if isinstance(value, dict):
            yield from (f"{at} has no {name!r}" for name in schema.get("required", ()) if name not in value)
            parts, others = schema.get("properties", {}), schema.get("additionalProperties", True)
            for name, one in value.items():
                part = parts.get(name, others)
                if part is False:
                    yield f"{at} has an unknown {name[:_SHOWN_CHARS]!r}"
                elif isinstance(part, dict):
                    yield from self.mismatches(one, part, f"{at}.{name[:_SHOWN_CHARS]}", depth + 1)
        elif isinstance(value, list):
            yield from _beyond(len(value), schema, "Items", f"the length of {at}")
            for number, one in enumerate(value if "items" in schema else ()):
                yield from self.mismatches(one, schema["items"], f"{at}[{number}]", depth + 1)
        elif isinstance(value, str):
            yield from _beyond(len(value), schema, "Length", f"the length of {at}")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield from _beyond(value, schema, "imum", at)


def _beyond(size: float, schema: Mapping[str, Any], ending: str, what: str) -> Iterator[str]:
    if size < schema.get(f"min{ending}", size):
        yield f"{what} is less than {schema[f'min{ending}']}"
    if size > schema.get(f"max{ending}", size):
        yield f"{what} is more than {schema[f'max{ending}']}"


def _is_type(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _TYPES[name]) or (name == "integer" and isinstance(value, float) and value.is_integer())


def _equals(one: object, other: object) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)
