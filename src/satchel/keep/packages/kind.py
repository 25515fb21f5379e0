"""Declaration of packages."""

from __future__ import annotations

from typing import Any

from satchel.base.errors import InvalidInput
from satchel.base.vocabulary import PRIORITIES
from satchel.find.kind import Kind
from satchel.keep import names
from satchel.keep.kind import (
    AGENT,
    CREATED,
    FILL,
    FOLDED,
    RUN,
    SOFT,
    TASK,
    TEXT,
    TIME,
    Codec,
    Field,
    ItemKind,
    Part,
    link_field,
    name_field,
    one_of,
    short,
)
from satchel.keep.moving.reading import Reading
from satchel.keep.packages import contents, updates
from satchel.keep.packages.records import MAX_SUMMARY_CHARS, STATUSES, TYPES


def _package_path(value: Any, reading: Reading, name: str) -> str:
    root = reading.workplace.files_root
    path = names.check_file(value, root, name)
    reading.notes += contents.check_saved(path, root, reading.workplace.max_content_bytes)
    return path


def _package_derived(_: Reading, row: dict[str, Any]) -> None:
    if (row["content_path"] is None) == (row["content"] is None):
        raise InvalidInput("a package is either a file or a text", "Give path or content, one of them")


PACKAGE: ItemKind[Any] = ItemKind(
    "a file or text handed to other agents",
    (
        CREATED,
        Field("type", one_of(TYPES), required=True),
        Field("priority", one_of(PRIORITIES), required=True),
        Field("summary", short(MAX_SUMMARY_CHARS, one_line=True), required=True),
        Field("path", Codec("a path inside the project", None, _package_path), "content_path"),
        Field("content", TEXT),
        name_field("run", RUN, "runs", "run_id", "run_id", required=True),
        TASK,
        name_field("agent", AGENT, "agents", "producer_id", merge=FILL),
        link_field("superseded_by", "context_packages", merge=SOFT, is_own=True),
        Field("updated_at", TIME, required=True, merge=SOFT),
    ),
    (
        Part(
            "consumers",
            "package_consumers",
            "package_id",
            (Field("role", FOLDED, required=True),),
            is_own=True,
            order="i.role",
        ),
    ),
    documents=Kind.PACKAGE,
    derive=_package_derived,
    rank=("superseded_by", "updated_at"),
    types=TYPES,
    statuses=STATUSES,
    texts=updates.DOCUMENTS.texts,
    load_documents=updates.DOCUMENTS.load,
    delete=updates.delete,
)
