"""Toolset ``context``: write and read the notes of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from satchel.base.errors import InvalidInput
from satchel.client import Satchel
from satchel.interfaces.compact import page_text, written_text
from satchel.interfaces.mcp.answer import answer
from satchel.interfaces.mcp.call import Call
from satchel.interfaces.mcp.parameters import (
    ACTOR,
    AUTHOR,
    CHANGES,
    FORMAT,
    LIVENESS,
    SEVERAL,
    TEXT,
    TEXTS,
    WHOLE,
    choice,
    takes,
)
from satchel.interfaces.mcp.registry import Tool
from satchel.interfaces.mcp.schema import Schema, check_arguments
from satchel.interfaces.to_json import fields_of
from satchel.keep.entries import ENTRY_TYPES, NewEntry

_NOTE: Mapping[str, Schema] = {
    "type": choice(*ENTRY_TYPES),
    "content": {
        "type": ["string", "object"],
        "description": "Text; of a review_issue {description, issue_type, suggestion}, review_verdict {passed, "
        "summary, intent_satisfied}, scratchpad {iteration, done, next_step, ...}, codebase_analysis {summary, ...}",
    },
    "task_id": TEXT,
    "loop_id": TEXT,
    "file": TEXT,
    "line": WHOLE,
}
_NOTE_SCHEMA = takes(_NOTE, "type", "content")
_ONLY_A_NOTE = "a decision here is a note of this run; set_decision sets what binds the project"


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
    notes = [_ONLY_A_NOTE] if any(entry.type == "decision" for entry in kept) else []

    def fields() -> dict[str, object]:
        return {"entries": [fields_of(entry) for entry in kept], **({"notes": notes} if notes else {})}

    return answer(
        call,
        format,
        lambda: "\n".join([written_text(kept), *notes]),
        fields,
        agent=agent,
        files=[entry.file for entry in kept],
    )


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
            author=agent,
            task_id=task_id,
            loop_id=loop_id,
            file=file,
            query=search,
            since=since,
            after_seq=after_seq,
            status=status,
            order=order,
            limit=limit,
            offset=offset,
            run_id=run_id,
        )
    return answer(
        call,
        format,
        lambda: page_text(page),
        lambda: fields_of(page, "entries"),
        files=[entry.file for entry in page.entries],
    )


def _new_entry(note: Mapping[str, object], where: str) -> NewEntry:
    return NewEntry(**check_arguments(_NOTE_SCHEMA, note, where))


TOOLS: tuple[Tool[Satchel], ...] = (
    Tool(
        name="write_context",
        toolset="context",
        description="Keep a note (type, content, ...) or several (entries) for the run's agents.",
        parameters=takes({**_NOTE, "entries": SEVERAL, "run_id": TEXT, "agent": ACTOR, "format": FORMAT}),
        handler=write_context,
        read_only=False,
    ),
    Tool(
        name="read_context",
        toolset="context",
        description="The run's notes, newest first or by search.",
        parameters=takes(
            {
                "search": TEXT,
                "types": TEXTS,
                "agent": AUTHOR,
                "task_id": TEXT,
                "loop_id": TEXT,
                "file": TEXT,
                "status": LIVENESS,
                "run_id": TEXT,
                **CHANGES,
            }
        ),
        handler=read_context,
        read_only=True,
    ),
)
