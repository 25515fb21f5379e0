"""Declaration of entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.find.kind import Kind
from satchel.keep import fields
from satchel.keep.entries import updates as entry_writing
from satchel.keep.entries.records import CODEBASE_ANALYSIS, ENTRY_TYPES, STRUCTURED_TYPES, Entry
from satchel.keep.fields import Codec, Field
from satchel.keep.kind import ItemKind, Line, Part
from satchel.keep.names import is_persons

if TYPE_CHECKING:
    from satchel.keep.moving.reading import Reading


def _content(value: Any, reading: Reading, _: str) -> str:
    name = ENTRY_TYPES[reading.row["type"] - 1]
    text, notes = entry_writing.storable_content(name, value, reading.workplace.max_content_bytes)
    reading.notes += notes
    # an object is serialized again, so compare only plain texts
    reading.changed = reading.changed or (name not in STRUCTURED_TYPES and text != value)
    return text


_CONTENT = Codec("a text; an object for a structured type", None, _content, is_number=True)


def _parse_content(line: Line) -> None:
    import json  # imported here: only an export needs it

    if line["type"] in STRUCTURED_TYPES:
        line["content"] = json.loads(line["content"])


def _entry_derived(_: Reading, row: dict[str, Any]) -> None:
    from satchel.keep.entries import repeats  # imported here: only an import needs it

    if row["file"] is None:
        row["line"] = row["last_line"] = None
    row["said"] = repeats.key_of(row["type"], row["content"], row["file"], row["line"], row["loop_id"], row["agent_id"])


def _one_analysis(reading: Reading, row: dict[str, Any], uid: bytes) -> None:
    # a run has one live analysis: the later one wins
    if row["type"] != CODEBASE_ANALYSIS or row["superseded_by"] is not None:
        return
    other = reading.transaction.one(
        "SELECT c.id, c.created_at, c.uid, a.name FROM context c LEFT JOIN agents a ON a.id = c.agent_id "
        "WHERE c.run_id = :run AND c.type = :type AND c.superseded_by IS NULL",
        {"run": row["run_id"], "type": CODEBASE_ANALYSIS},
    )
    if other is None:
        return
    stays = reading.is_by_agent and is_persons(other[3])
    if stays or other[1:3] > (row["created_at"], uid):
        row["superseded_by"] = other[0]
    else:
        from satchel.keep import replacing

        replacing.retract(reading.transaction, reading.project, Kind.ENTRY, other[0])
    reading.changed = True


ENTRY = ItemKind(
    "a note",
    (
        fields.CREATED,
        Field("type", fields.one_of(ENTRY_TYPES), required=True),
        Field("content", _CONTENT, required=True),
        fields.name_field("run", fields.RUN, "runs", "run_id", "run_id", required=True, attribute="run_id"),
        fields.TASK,
        fields.LOOP,
        Field("file", fields.FILE),
        Field("line", fields.COUNT),
        Field("last_line", fields.COUNT),
        fields.AUTHOR,
        fields.SESSION,
        Field("seen", fields.COUNT, merge=fields.MAX),
        fields.link_field("superseded_by", "context", merge=fields.SOFT, is_own=True),
    ),
    (
        Part(
            "cited",
            "citations",
            "entry_id",
            (
                Field("digest", fields.HEX, required=True),
                Field("size", fields.WHOLE, required=True),
                Field("places", fields.WHOLE),
                Field("standing", fields.WHOLE),
                Field("blob", fields.HEX),
                Field("branch", fields.TEXT),
                Field("commit", fields.TEXT, "commit_id"),
            ),
            is_own=True,
            is_single=True,
            order="i.entry_id",
        ),
        Part(
            "sightings",
            "sightings",
            "entry_id",
            (
                fields.name_field("run", fields.RUN, "runs", "run_id", "run_id", required=True),
                fields.AUTHOR,
                fields.SESSION,
                fields.TASK,
                fields.LOOP,
                fields.CREATED,
            ),
            same=("agent_id", "run_id", "created_at"),
        ),
    ),
    documents=Kind.ENTRY,
    finish=_parse_content,
    derive=_entry_derived,
    prepare=_one_analysis,
    rank=("superseded_by",),
    record=Entry,
    types=ENTRY_TYPES,
    statuses=("live", "superseded"),
    source=entry_writing.DOCUMENTS,
    delete=entry_writing.delete,
    display_texts=entry_writing.DISPLAY.texts,
)
