"""Declaration of entries."""

from __future__ import annotations

import json
from typing import Any

from satchel.find.kind import Kind
from satchel.keep import replacing
from satchel.keep.entries import queries, sightings
from satchel.keep.entries import updates as entry_writing
from satchel.keep.entries.records import CODEBASE_ANALYSIS, ENTRY_TYPES, STRUCTURED_TYPES
from satchel.keep.kind import (
    AUTHOR,
    COUNT,
    CREATED,
    FILE,
    HEX,
    LOOP,
    MAX,
    RUN,
    SESSION,
    SOFT,
    TASK,
    TEXT,
    WHOLE,
    Codec,
    Field,
    ItemKind,
    Line,
    Part,
    link_field,
    name_field,
    one_of,
)
from satchel.keep.moving.reading import Reading
from satchel.keep.names import is_persons


def _content(value: Any, reading: Reading, _: str) -> str:
    name = ENTRY_TYPES[reading.row["type"] - 1]
    text, notes = entry_writing.storable_content(name, value, reading.workplace.max_content_bytes)
    reading.notes += notes
    # an object is serialized again, so compare only plain texts
    reading.changed = reading.changed or (name not in STRUCTURED_TYPES and text != value)
    return text


_CONTENT = Codec("a text; an object for a structured type", None, _content, is_number=True)


def _parse_content(line: Line) -> None:
    if line["type"] in STRUCTURED_TYPES:
        line["content"] = json.loads(line["content"])


def _entry_derived(_: Reading, row: dict[str, Any]) -> None:
    if row["file"] is None:
        row["line"] = row["last_line"] = None
    row["said"] = sightings.key_of(
        row["type"], row["content"], row["file"], row["line"], row["loop_id"], row["agent_id"]
    )


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
        replacing.retract(reading.transaction, reading.project, Kind.ENTRY, other[0])
    reading.changed = True


ENTRY: ItemKind[Any] = ItemKind(
    "a note",
    (
        CREATED,
        Field("type", one_of(ENTRY_TYPES), required=True),
        Field("content", _CONTENT, required=True),
        name_field("run", RUN, "runs", "run_id", "run_id", required=True),
        TASK,
        LOOP,
        Field("file", FILE),
        Field("line", COUNT),
        Field("last_line", COUNT),
        AUTHOR,
        SESSION,
        Field("seen", COUNT, merge=MAX),
        link_field("superseded_by", "context", merge=SOFT, is_own=True),
    ),
    (
        Part(
            "cited",
            "citations",
            "entry_id",
            (
                Field("digest", HEX, required=True),
                Field("size", WHOLE, required=True),
                Field("places", WHOLE),
                Field("standing", WHOLE),
                Field("blob", HEX),
                Field("branch", TEXT),
                Field("commit", TEXT, "commit_id"),
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
                name_field("run", RUN, "runs", "run_id", "run_id", required=True),
                AUTHOR,
                SESSION,
                TASK,
                LOOP,
                CREATED,
            ),
            same=("agent_id", "run_id", "created_at"),
        ),
    ),
    documents=Kind.ENTRY,
    finish=_parse_content,
    derive=_entry_derived,
    prepare=_one_analysis,
    rank=("superseded_by",),
    types=ENTRY_TYPES,
    statuses=("live", "superseded"),
    texts=entry_writing.DOCUMENTS.texts,
    load_documents=entry_writing.DOCUMENTS.load,
    delete=entry_writing.delete,
    shown=entry_writing.SHOWN.texts,
    open=lambda transaction, reader, number: queries.load(transaction, reader.project_id, number),
)
