"""Validation of arguments against a tool's JSON schema.

A schema is an object with ``properties`` and ``required``, closed to others; a property has ``type`` (one name or a
list), ``enum`` and ``items``, with ``description`` and ``default`` as notes to the reader. Parameters are declared in
this subset alone, so that everything declared to agents is also enforced.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from typing import Any

from satchel.base.errors import InvalidInput, nearest, unknown_name

# Names that mean one thing to the tools of this field; an unknown one is answered with the one that is taken here.
_NAMES = (
    {"content", "text", "message", "note", "body", "insight", "instructions", "question", "prompt"},
    {"query", "q", "search", "words", "terms", "keywords"},
    {"author", "agent", "by", "from", "sender"},
    {"agent", "agent_id", "agent_name", "name", "me"},
    {"to", "to_agent", "recipient", "recipients"},
    {"paths", "path", "file", "files", "file_path", "file_paths", "filename", "filenames"},
    {"ids", "id", "ref", "refs", "item", "items", "item_id", "item_ids", "message_ids"},
    {"limit", "n", "k", "top_k", "count", "max", "max_results", "page_size"},
    {"offset", "skip", "start"},
    {"types", "type", "kind", "kinds", "category", "entry_type"},
    {"tags", "tag", "labels"},
    {"reason", "why", "rationale", "comment"},
    {"description", "summary", "details"},
    {"solution", "fix", "resolution"},
    {"error_type", "exception", "error", "type"},
    {"stack", "stack_trace", "stacktrace", "traceback", "trace"},
    {"minutes", "ttl", "duration", "timeout"},
    {"wait_seconds", "wait", "timeout"},
    {"role", "persona"},
    {"task_id", "task"},
    {"loop_id", "loop"},
    {"run_id", "run"},
    {"budget", "max_tokens", "tokens", "token_budget"},
    {"key", "name", "title", "id", "decision"},
    {"assistant", "model"},
    {"context", "files"},
    {"reply_to", "in_reply_to", "parent"},
    {"priority", "severity", "importance"},
)

# What agents say for a choice that is called otherwise here.
_CHOICES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("note", "learning", "insight", "fact", "finding", "memory"), ("discovery", "entry")),
    **dict.fromkeys(("progress", "status", "checkpoint"), ("scratchpad",)),
    **dict.fromkeys(("urgent", "blocker", "highest"), ("critical",)),
    **dict.fromkeys(("normal", "default"), ("medium",)),
    **dict.fromkeys(("notes", "context"), ("entry",)),
    **dict.fromkeys(("rule", "rules"), ("constraint",)),
    **dict.fromkeys(("file", "files", "change", "changes"), ("file_change",)),
    **dict.fromkeys(("error", "errors"), ("error_pattern",)),
    **dict.fromkeys(("question", "task"), ("request",)),
    **dict.fromkeys(("edited", "updated", "changed"), ("modified",)),
}


def meant_name(name: str, parameters: Collection[str]) -> str | None:
    """Return the parameter for a synonym; None if none or several match."""
    folded = name.lower().replace("-", "_")
    matches = {one for names in _NAMES if folded in names for one in names if one in parameters}
    return matches.pop() if len(matches) == 1 else None


def meant_choice(value: str, choices: Collection[str]) -> str | None:
    return next((one for one in _CHOICES.get(value.strip().lower(), ()) if one in choices), None)


Schema = Mapping[str, Any]

MAX_SHOWN_CHARS = 80

_WANTED = {
    "string": ("text", '"..."'),
    "integer": ("a whole number", "3"),
    "number": ("a number", "0.5"),
    "boolean": ("true or false", "true"),
    "array": ("a list", "[...]"),
    "object": ("an object", "{...}"),
    "null": ("null", "null"),
}
_SINGLE_WORD = r"(?!null\Z)[^\s,;|\[\]{}\"']+"
_PLAIN_INTEGER = r"-?[0-9]{1,18}"
_PLAIN_NUMBER = r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?"
_MISSING = object()


def excerpt(value: object) -> str:
    """Return the repr of a value for an error, cut to :data:`MAX_SHOWN_CHARS`."""
    if isinstance(value, str) and len(value) > MAX_SHOWN_CHARS:
        return repr(value[:MAX_SHOWN_CHARS]) + "..."
    text = repr(value)
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "..."


def check_arguments(
    schema: Schema, arguments: Mapping[str, object], what: str, prefix: str = "", unlisted: Collection[str] = ()
) -> dict[str, Any]:
    """Return the arguments converted to the types of the schema.

    Lenient if the meaning is clear: a list or object may be its JSON text, a list of one just its item (a text only if
    it is a single word), a single value a list of one, a number or boolean its text, an integer ``3.0``, a text a
    number, a choice in upper case; null means missing unless the schema allows null. Text for a text parameter is never
    converted.
    """
    what = f"{what} argument"
    properties: Mapping[str, Schema] = schema["properties"]
    checked: dict[str, Any] = {}
    for name, value in arguments.items():
        inner = properties.get(name)
        if inner is None:
            if not properties:
                raise InvalidInput(f"unknown {what} {excerpt(name)}", "It takes none")
            label = f"{prefix}{name}"[:MAX_SHOWN_CHARS]
            if "content" in properties and not prefix and (example := _inside_content(name, value)):
                raise InvalidInput(f"unknown {what} {label!r}", f"{label} belongs inside content: {example}")
            near = meant_name(name, properties.keys() - arguments.keys()) or nearest(name[:MAX_SHOWN_CHARS], properties)
            raise unknown_name(what, label, [one for one in properties if one not in unlisted], suggestion=near)
        if value is not None or "null" in _types(inner):
            checked[name] = _check_value(inner, value, prefix + name)
    for name in schema.get("required", ()):
        if name not in checked:
            raise InvalidInput(f"{what} {prefix + name!r} is missing", f"Give {_example(name, properties[name])}")
    return checked


def _inside_content(name: str, value: object) -> str | None:
    from satchel.keep.entries.structured import is_field  # imported here: only a mistake needs it

    return f"content={json.dumps({name: value})[:-1]}, ...}}" if is_field(name) else None


def _check_value(schema: Schema, value: object, label: str) -> object:
    types = _types(schema)
    converted = _as_declared(schema, types, value)
    if converted is _MISSING:
        wanted = " or ".join(_WANTED[name][0] for name in types)
        raise InvalidInput(f"{label} must be {wanted}, not {excerpt(value)}", f"Give {_example(label, schema, value)}")
    value = converted
    if "enum" in schema and value not in schema["enum"]:
        if isinstance(value, str) and value.strip().lower() in schema["enum"]:
            return value.strip().lower()
        shortened = value[:MAX_SHOWN_CHARS] if isinstance(value, str) else value
        choices = [str(choice) for choice in schema["enum"]]
        raise unknown_name(label, shortened, choices, suggestion=meant_choice(str(value), choices))
    if isinstance(value, list) and "items" in schema:
        return [_check_value(schema["items"], item, f"{label}[{n}]") for n, item in enumerate(value)]
    return value


def _types(schema: Schema) -> tuple[str, ...]:
    declared = schema.get("type", ())
    return (declared,) if isinstance(declared, str) else tuple(declared)


def _as_declared(schema: Schema, types: tuple[str, ...], value: object) -> object:
    match value:
        case None:
            return None if "null" in types else _MISSING
        case bool():
            return value if "boolean" in types else _MISSING
        case float() if not math.isfinite(value):
            return _MISSING
        case int() | float():
            return _from_number(schema, types, value)
        case str():
            return value if "string" in types else _from_text(schema, types, value)
        case list():
            if "array" in types:
                return value
            return _as_declared(schema, types, value[0]) if len(value) == 1 else _MISSING
        case dict():
            if "object" in types:
                return value
            return [value] if "array" in types and "object" in _types(schema.get("items", {})) else _MISSING
        case _:
            return _MISSING


def _from_number(schema: Schema, types: tuple[str, ...], value: float) -> object:
    whole = int(value) if isinstance(value, int) or value.is_integer() else None
    if "integer" in types and whole is not None:
        return whole
    if "number" in types:
        return value
    if "string" in types:
        return str(value)
    return [str(value)] if "array" in types and "string" in _types(schema.get("items", {})) else _MISSING


def _from_text(schema: Schema, types: tuple[str, ...], text: str) -> object:
    stripped = text.strip()
    if "integer" in types and re.fullmatch(_PLAIN_INTEGER, stripped):
        return int(stripped)
    if "number" in types and re.fullmatch(_PLAIN_NUMBER, stripped):
        return float(stripped)
    if "boolean" in types and stripped.lower() in {"true", "false"}:
        return stripped.lower() == "true"
    if stripped[:1] not in {"[", "{"}:
        # a text with a comma or space could be several items
        is_one = "string" in _types(schema.get("items", {})) and re.fullmatch(_SINGLE_WORD, stripped)
        return [stripped] if "array" in types and is_one else _MISSING
    try:
        parsed = json.loads(stripped)
    except (ValueError, RecursionError):
        return _MISSING
    wanted = "array" if isinstance(parsed, list) else "object"
    return parsed if wanted in types else _MISSING


def _example(label: str, schema: Schema, value: object = None) -> str:
    name = label.rpartition(".")[2]
    if "array" in _types(schema) and isinstance(value, str) and value.strip()[:1] not in {"[", "{"}:
        parts = [part.strip() for part in value[:MAX_SHOWN_CHARS].split(",")]
        return f'"{name}": {json.dumps(parts, ensure_ascii=False)}'
    if "enum" in schema:
        return f'"{name}" as one of: {", ".join(str(choice) for choice in schema["enum"])}'
    examples = [_WANTED[kind][1] for kind in _types(schema) if kind != "null"] or ["..."]
    return f'"{name}": {examples[0]}'
