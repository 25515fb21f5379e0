"""Declarations of all kinds of lines, used by export and import.

Functions here hold the rules that fields cannot express.
"""

from __future__ import annotations

import json
from typing import Any

from satchel.base.clock import DAY_MS
from satchel.base.errors import InvalidInput
from satchel.base.text import fold
from satchel.base.vocabulary import LAYERS, PRIORITIES
from satchel.find.kind import Kind
from satchel.keep import names, replacing, runs
from satchel.keep.corrections.log import CONFIRMED, SUPERSEDED
from satchel.keep.entries import sightings
from satchel.keep.entries import updates as entry_writing
from satchel.keep.entries.records import CODEBASE_ANALYSIS, ENTRY_TYPES, STRUCTURED_TYPES
from satchel.keep.moving import marks, solutions, windows
from satchel.keep.moving.fields import (
    AGENT,
    COUNT,
    FILE,
    FILL,
    FLAG,
    FOLDED,
    HEX,
    MAX,
    NAME,
    RUN,
    SOFT,
    TEXT,
    TIME,
    TOPIC,
    WHOLE,
    Codec,
    Field,
    Line,
    Part,
    link_field,
    name_field,
    one_of,
    read_uid,
    short,
)
from satchel.keep.moving.kind import AUTHOR, BEGAN, CREATED, LOOP, SESSION, TASK, LineKind
from satchel.keep.moving.ledger_kinds import CONSTRAINT_KIND, DECISION_KIND, FILE_CHANGE_KIND, MESSAGE_KIND
from satchel.keep.moving.reading import Reading
from satchel.keep.packages import contents
from satchel.keep.packages.records import MAX_SUMMARY_CHARS
from satchel.keep.packages.records import TYPES as PACKAGE_TYPES
from satchel.keep.patterns.signing import VERSION as SIGNED_BY
from satchel.keep.strategies import updates as strategy_writing
from satchel.keep.strategies.records import MAX_INSIGHT_CHARS


def _folded_name(_: Reading, row: dict[str, Any]) -> None:
    row["folded"] = fold(row["name"])


_AGENT_KIND = LineKind(
    "agent",
    "agents",
    "an agent, which writes or receives messages",
    (
        BEGAN,
        Field("name", NAME, required=True),
        Field("role", NAME, merge=SOFT),
        Field("has_acted", FLAG, default=0, merge=MAX),
    ),
    key=("folded", "name"),
    derive=_folded_name,
)


_LAYER_KIND = LineKind(
    "layer",
    "layers",
    "a layer of the architecture, besides the predefined ones",
    (Field("name", NAME, required=True), BEGAN),
    key=("folded", "name"),
    predefined=LAYERS,
    derive=_folded_name,
)


_RUN_KIND = LineKind(
    "run",
    "runs",
    "a piece of work",
    (
        BEGAN,
        Field("run", NAME, "run_id", required=True),
        Field("title", short(runs.MAX_TITLE_CHARS, one_line=True), merge=SOFT),
        Field("spec_path", FILE, merge=SOFT),
        Field("effort", NAME, merge=SOFT),
        Field("status", one_of(runs.STATUSES), required=True, merge=SOFT),
        Field("ended_at", TIME, merge=SOFT),
    ),
    key=("run_id", "run"),
    rank=("ended_at",),
)

_SESSION_KIND = LineKind(
    "session",
    "sessions",
    "a conversation of a client, without machine-specific data; elsewhere it is ended",
    (
        CREATED,
        Field("client", NAME),
        Field("version", NAME, merge=SOFT),
        name_field("agent", AGENT, "agents", "agent_id", merge=SOFT),
        name_field("run", RUN, "runs", "run_id", "run_id", merge=SOFT),
        Field("task_id", NAME, merge=SOFT),
        link_field("predecessor", "sessions", "predecessor_id", merge=SOFT),
        Field("branch", NAME, merge=SOFT),
        Field("commit", NAME, "commit_id", merge=SOFT),
        Field("window", WHOLE, default=1, merge=MAX),
        Field("seen_at", TIME, required=True, merge=MAX),
        Field("ended_at", TIME, sql="COALESCE(i.ended_at, i.seen_at)", required=True, merge=MAX),
    ),
    rank=("seen_at",),
)


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
        "SELECT id, created_at, uid FROM context WHERE run_id = :run AND type = :type AND superseded_by IS NULL",
        {"run": row["run_id"], "type": CODEBASE_ANALYSIS},
    )
    if other is None:
        return
    if other[1:] > (row["created_at"], uid):
        row["superseded_by"] = other[0]
    else:
        replacing.retract(reading.transaction, reading.project, Kind.ENTRY, other[0])
    reading.changed = True


_ENTRY_KIND = LineKind(
    "entry",
    Kind.ENTRY.table,
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
        marks.pin_of(Kind.ENTRY),
    ),
    letter=Kind.ENTRY.letter,
    documents=Kind.ENTRY,
    finish=_parse_content,
    derive=_entry_derived,
    prepare=_one_analysis,
    rank=("superseded_by",),
)


def _package_path(value: Any, reading: Reading, name: str) -> str:
    root = reading.workplace.files_root
    path = names.check_file(value, root, name)
    reading.notes += contents.check_saved(path, root, reading.workplace.max_content_bytes)
    return path


def _package_derived(_: Reading, row: dict[str, Any]) -> None:
    if (row["content_path"] is None) == (row["content"] is None):
        raise InvalidInput("a package is either a file or a text", "Give path or content, one of them")


_PACKAGE_KIND = LineKind(
    "package",
    Kind.PACKAGE.table,
    "a file or text handed to other agents",
    (
        CREATED,
        Field("type", one_of(PACKAGE_TYPES), required=True),
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
        marks.pin_of(Kind.PACKAGE),
    ),
    letter=Kind.PACKAGE.letter,
    documents=Kind.PACKAGE,
    derive=_package_derived,
    rank=("superseded_by", "updated_at"),
)


def _pattern_derived(reading: Reading, row: dict[str, Any]) -> None:
    row["expires_at"] = reading.now + row["ttl_days"] * DAY_MS


def _live_on(reading: Reading, number: int) -> None:
    reading.transaction.run(
        f"UPDATE error_patterns SET expires_at = :now + ttl_days * {DAY_MS} "
        f"WHERE id = :id AND expires_at < :now + ttl_days * {DAY_MS}",
        {"now": reading.now, "id": number},
    )


_PATTERN_KIND = LineKind(
    "error_pattern",
    Kind.ERROR_PATTERN.table,
    "an error with its solutions and their confirmations",
    (
        BEGAN,
        Field("hash", NAME, "pattern_hash", required=True),
        Field("signed_by", WHOLE, default=SIGNED_BY, merge=SOFT),
        Field("error_type", NAME, required=True, merge=SOFT),
        Field("message", TEXT, required=True, merge=SOFT),
        Field("example", TEXT, required=True, merge=SOFT),
        Field("lang", FOLDED, merge=SOFT),
        Field("occurrences", COUNT, default=1, merge=MAX),
        Field("ttl_days", COUNT, required=True, merge=SOFT),
        Field("last_seen", TIME, required=True, merge=MAX),
    ),
    (
        solutions.SOLUTIONS,
        solutions.OCCURRENCES,
    ),
    letter=Kind.ERROR_PATTERN.letter,
    key=("pattern_hash", "hash"),
    documents=Kind.ERROR_PATTERN,
    expires=True,
    derive=_pattern_derived,
    renew=_live_on,
    rank=("last_seen",),
)

_STRATEGY_KIND = LineKind(
    "strategy",
    Kind.STRATEGY.table,
    "an approach that worked",
    (
        CREATED,
        Field("topic", TOPIC, required=True),
        Field("insight", short(MAX_INSIGHT_CHARS), required=True),
        Field("lang", FOLDED),
        Field("framework", FOLDED),
        Field("helped", WHOLE, default=0, merge=MAX),
        Field("not_helped", WHOLE, default=0, merge=MAX),
        AUTHOR,
        link_field("superseded_by", "strategies", merge=SOFT, is_own=True),
        Field("last_seen", TIME, required=True, merge=MAX),
    ),
    (marks.pin_of(Kind.STRATEGY),),
    letter=Kind.STRATEGY.letter,
    documents=Kind.STRATEGY,
    enter=strategy_writing.enter,
    withdraw=strategy_writing.withdraw,
    rank=("superseded_by", "last_seen"),
)

_CORRECTED = {"entry": Kind.ENTRY, "constraint": Kind.CONSTRAINT, "strategy": Kind.STRATEGY}
_BY_NUMBER = {kind.number: name for name, kind in _CORRECTED.items()}


def _item_kind(value: Any, _: Reading, name: str) -> int:
    if value not in _CORRECTED:
        raise InvalidInput(f"its {name} is {repr(value)[:60]}", f"Valid: {', '.join(_CORRECTED)}")
    return _CORRECTED[value].number


def _corrected(column: str) -> str:
    choices = " ".join(
        f"WHEN {kind.number} THEN (SELECT n.uid FROM {kind.table} n WHERE n.id = i.{column})"
        for kind in _CORRECTED.values()
    )
    return f"CASE i.item_kind {choices} END"


def _corrected_item(value: Any, reading: Reading, name: str) -> int:
    read_uid(value, name)
    kind = _CORRECTED[_BY_NUMBER[reading.row["item_kind"]]]
    number = reading.number_of(kind.table, value)
    if number is None:
        raise InvalidInput(f"its {name} {value}is missing", "Export the corrected item with the correction")
    return number


_ITEM = Codec("the uid of another item", bytes.hex, _corrected_item, is_number=True)


def _correction_derived(_: Reading, row: dict[str, Any]) -> None:
    if (row["action"] == SUPERSEDED) != (row["heir_id"] is not None):
        raise InvalidInput("it does not name the replacement", "Give heir where action is superseded")


_CORRECTION_KIND = LineKind(
    "correction",
    "corrections",
    "the replacement, retraction or confirmation of an item",
    (
        CREATED,
        Field("action", one_of(("superseded", "retracted", "confirmed")[:CONFIRMED]), required=True),
        Field("item_kind", Codec(f"one of {', '.join(_CORRECTED)}", _BY_NUMBER.get, _item_kind), required=True),
        Field("item", _ITEM, "item_id", _corrected("item_id"), required=True),
        Field("heir", _ITEM, "heir_id", _corrected("heir_id")),
        AUTHOR,
        SESSION,
        Field("reason", TEXT),
        Field("undone_at", TIME, merge=SOFT),
    ),
    derive=_correction_derived,
    rank=("undone_at",),
)

_DELIVERY_KIND = LineKind(
    windows.NAME_OF_KIND,
    "windows",
    "items delivered to an agent in one context window; its uid is derived from the window's fields",
    windows.FIELDS,
    (Part("items", "deliveries", "window_id", windows.ITEM_FIELDS),),
    take=windows.take,
)

LINE_KINDS: dict[str, LineKind] = {
    kind.name: kind
    for kind in (
        _AGENT_KIND,
        _LAYER_KIND,
        _RUN_KIND,
        _SESSION_KIND,
        DECISION_KIND,
        CONSTRAINT_KIND,
        _ENTRY_KIND,
        MESSAGE_KIND,
        FILE_CHANGE_KIND,
        _PACKAGE_KIND,
        _PATTERN_KIND,
        _STRATEGY_KIND,
        _CORRECTION_KIND,
        _DELIVERY_KIND,
        marks.SEEN_KIND,
        marks.TEXT_KIND,
    )
}
"""All kinds in export order: an item comes after the items it refers to."""
