"""Toolset ``context``: write and read the notes of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from satchel.base.errors import InvalidInput
from satchel.client import Satchel
from satchel.faces.compact import page_text, written_text
from satchel.faces.mcp.call import Call
from satchel.faces.mcp.registry import Tool
from satchel.faces.mcp.schema import check_arguments
from satchel.faces.plain import entry_fields, page_fields
from satchel.keep.entries import ENTRY_TYPES, NewEntry

_FORMAT = {"enum": ["text", "json"], "type": "string"}
_RUN = {"type": "string", "description": "Default: the active run"}
_TYPE = {"type": "string", "enum": list(ENTRY_TYPES)}
_NOTE = {
    "type": _TYPE,
    "content": {
        "type": ["string", "object"],
        "description": "Text. review_issue {description, issue_type, suggestion}; review_verdict {passed, summary, "
        "intent_satisfied}; scratchpad {iteration, done, test_status, next_step, blockers, attempted}; "
        "codebase_analysis {summary, project_type, tech_stack, directory_structure, existing_features, entry_points, "
        "patterns}",
    },
    "task_id": {"type": "string"},
    "loop_id": {"type": "string"},
    "file": {"type": "string"},
    "line": {"type": "integer", "minimum": 1},
}
_NOTE_SCHEMA = {"properties": _NOTE, "required": ["type", "content"], "additionalProperties": False}


def write_context(
    call: Call[Satchel],
    *,
    type: str | None = None,  # noqa: A002 -- the field's own name
    content: str | Mapping[str, object] | None = None,
    task_id: str | None = None,
    loop_id: str | None = None,
    file: str | None = None,
    line: int | None = None,
    entries: Sequence[Mapping[str, object]] | None = None,
    run_id: str | None = None,
    agent: str | None = None,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Keep one note, or several in one transaction."""
    alone = {
        "type": type,
        "content": content,
        "task_id": task_id,
        "loop_id": loop_id,
        "file": file,
        "line": line,
    }
    given = {name: value for name, value in alone.items() if value is not None}
    if entries is not None and given:
        raise InvalidInput(f"entries was given beside {', '.join(given)}", "Put every note into entries, or give one")
    if entries is None:
        new = [_new_entry(given, "write_context")]
    else:
        new = [_new_entry(note, f"entries[{place}]") for place, note in enumerate(entries)]
    with call.on_cancel(call.service.interrupter()):
        kept = call.service.entries.write_many(new, run_id=run_id, agent=agent)
    if format == "json":
        return _json({"entries": [entry_fields(entry) for entry in kept]})
    return written_text(kept)


def read_context(
    call: Call[Satchel],
    *,
    search: str | None = None,
    types: Sequence[str] | None = None,
    agent: str | None = None,
    task_id: str | None = None,
    loop_id: str | None = None,
    file: str | None = None,
    since: str | None = None,
    after_seq: int | None = None,
    status: str = "live",
    order: str | None = None,
    limit: int = 20,
    offset: int = 0,
    run_id: str | None = None,
    format: str = "text",  # noqa: A002 -- the field's own name
) -> str:
    """Read the notes of a run."""
    with call.on_cancel(call.service.interrupter()):
        page = call.service.entries.read(
            types=types,
            agent=agent,
            task_id=task_id,
            loop_id=loop_id,
            file=file,
            search=search,
            since=since,
            after_seq=after_seq,
            status=status,
            order=order,
            limit=limit,
            offset=offset,
            run_id=run_id,
        )
    return _json(page_fields(page)) if format == "json" else page_text(page)


def _new_entry(note: Mapping[str, object], where: str) -> NewEntry:
    return NewEntry(**check_arguments(_NOTE_SCHEMA, note, where))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


TOOLS: tuple[Tool[Satchel], ...] = (
    Tool(
        name="write_context",
        toolset="context",
        description="Keep a note for the other agents of the run (type, content), or several at once (entries).",
        parameters={
            "type": "object",
            "properties": {
                **_NOTE,
                "entries": {
                    "type": "array",
                    "description": "Several notes, each with the fields above",
                    "items": {"type": "object"},
                },
                "run_id": _RUN,
                "agent": {"type": "string", "description": "Your name"},
                "format": _FORMAT,
            },
            "additionalProperties": False,
        },
        handler=write_context,
        read_only=False,
    ),
    Tool(
        name="read_context",
        toolset="context",
        description="Read the run's notes, newest first, or the best matches for a search.",
        parameters={
            "type": "object",
            "properties": {
                "search": {"type": "string", "description": "Any words"},
                "types": {"type": "array", "items": _TYPE},
                "agent": {"type": "string", "description": "Only this author's"},
                "task_id": {"type": "string"},
                "loop_id": {"type": "string"},
                "file": {"type": "string"},
                "since": {"type": "string", "description": "ISO 8601, or an age: 90m, 2d"},
                "after_seq": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "Only what changed after this seq",
                },
                "status": {"type": "string", "enum": ["live", "superseded", "all"]},
                "order": {"type": "string", "enum": ["desc", "asc"]},
                "limit": {"type": "integer", "minimum": 0, "maximum": 500, "description": "Default 20"},
                "offset": {"type": "integer", "minimum": 0},
                "run_id": _RUN,
                "format": _FORMAT,
            },
            "additionalProperties": False,
        },
        handler=read_context,
        read_only=True,
    ),
)
