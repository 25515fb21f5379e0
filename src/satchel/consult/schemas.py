"""JSON Schemas of answers: the keywords that are checked, and the check of an answer.

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
_NOTES = {"title", "description", "examples", "default", "$schema"}
_CHECKED = {
    *("type", "enum", "const", "anyOf", "$ref", "properties", "required", "additionalProperties", "items"),
    *("minItems", "maxItems", "minimum", "maximum", "minLength", "maxLength"),
}
_DEFINITIONS = "#/$defs/"
_MAX_DEPTH = 64
_MAX_STEPS = 1_000_000
"""Parts that are compared: definitions that name each other twice would double them with each level."""

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
    definitions = schema.get("$defs", {})
    if not isinstance(definitions, dict):
        raise _refused("$defs is not an object")
    rest = {name: value for name, value in schema.items() if name != "$defs"}
    for problem in (one for part in (rest, *definitions.values()) for one in _faults(part, definitions, 0)):
        raise _refused(problem)
    return written


def unfenced(answer: str) -> str:
    """Return an answer without a code fence around all of it."""
    lines = answer.strip().split("\n")
    return "\n".join(lines[1:-1]) if len(lines) > 2 and lines[0][:3] == lines[-1].strip() == "```" else answer.strip()


def find_mismatch(answer: str, schema: Mapping[str, Any]) -> str | None:
    """Return where an answer differs from a schema, or None."""
    try:
        value = json.loads(answer, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        return f"it is not JSON: {error}"
    try:
        return next(_Check(schema.get("$defs", {})).mismatches(value, schema, "the answer", 0), None)
    except (_TooLong, RecursionError):
        return "it takes too long to compare with the schema"


class _TooLong(Exception):
    pass


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _refused(problem: str) -> InvalidInput:
    return InvalidInput(
        f"the schema cannot be used: {problem}"[:400],
        f"Give a JSON Schema of an object with {', '.join(sorted(_CHECKED))} and $defs",
    )


def _faults(schema: object, definitions: Mapping[str, object], depth: int) -> Iterator[str]:
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        yield "a part of it is not an object" if depth <= _MAX_DEPTH else "it is nested too deeply"
        return
    for name, value in schema.items():
        if name not in _CHECKED | _NOTES:
            yield f"{name[:_SHOWN_CHARS]!r} is not checked"
        elif name == "type":
            names = value if isinstance(value, list) else [value]
            if not names or not all(isinstance(one, str) and one in _TYPES for one in names):
                yield f"type {value!r} is unknown"
        elif name == "$ref":
            if not (
                isinstance(value, str)
                and value.startswith(_DEFINITIONS)
                and value.removeprefix(_DEFINITIONS) in definitions
            ):
                yield f"{value!r} refers to nothing in $defs"
        elif name in {"enum", "anyOf", "required"}:
            if not isinstance(value, list) or not value:
                yield f"{name} is not a list of at least one"
            elif name == "required" and not all(isinstance(one, str) for one in value):
                yield "required holds what is not a name"
            elif name == "anyOf":
                for one in value:
                    yield from _faults(one, definitions, depth + 1)
        elif name == "properties":
            if not isinstance(value, dict):
                yield "properties is not an object"
            else:
                for one in value.values():
                    yield from _faults(one, definitions, depth + 1)
        elif name == "items" or (name == "additionalProperties" and not isinstance(value, bool)):
            yield from _faults(value, definitions, depth + 1)
        elif name.startswith(("min", "max")) and (isinstance(value, bool) or not isinstance(value, int | float)):
            yield f"{name} is not a number"


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
            known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
            for name, one in value.items():
                part = known.get(name, others)
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
