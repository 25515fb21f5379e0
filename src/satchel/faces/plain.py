"""Records as plain JSON, for ``format="json"`` and ``--json``: times in ISO 8601, items with their short ids."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from satchel.base.clock import iso
from satchel.keep.entries import Entry, EntryPage
from satchel.keep.entries.records import STRUCTURED_TYPES, entry_ref

_TIMES = frozenset({"created_at", "ended_at"})


def entry_fields(entry: Entry) -> dict[str, object]:
    """Return an entry as JSON fields; what is not set is left out, structured content is an object."""
    content: object = entry.content
    if entry.type in STRUCTURED_TYPES:
        import json

        try:
            content = json.loads(entry.content)
        except ValueError:
            content = entry.content
    fields: dict[str, object] = {
        "id": entry.ref,
        "uid": entry.uid,
        "seq": entry.seq,
        "run_id": entry.run_id,
        "type": entry.type,
        "content": content,
        "task_id": entry.task_id,
        "loop_id": entry.loop_id,
        "file": entry.file,
        "line": entry.line,
        "agent": entry.agent,
        "superseded_by": None if entry.superseded_by is None else entry_ref(entry.superseded_by),
        "created_at": iso(entry.created_at),
        "score": entry.score,
        "notes": list(entry.notes),
    }
    return {name: value for name, value in fields.items() if value is not None and value != []}


def page_fields(page: EntryPage) -> dict[str, object]:
    """Return a page of entries as JSON fields."""
    return {
        "run_id": page.run_id,
        "entries": [entry_fields(entry) for entry in page.entries],
        "total": page.total,
        "next_offset": page.next_offset,
        "seq": page.cursor,
        "notes": list(page.notes),
    }


def fields_of(value: object) -> object:
    """Return any record as JSON: dataclasses as objects, pairs of a name and a count as members, times as ISO 8601."""
    if isinstance(value, Entry):
        return entry_fields(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _field(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): fields_of(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        if value and all(_is_count(item) for item in value):
            return dict(value)
        return [fields_of(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _field(name: str, value: object) -> object:
    if name in _TIMES and isinstance(value, int):
        return iso(value)
    return fields_of(value)


def _is_count(item: object) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], int)
