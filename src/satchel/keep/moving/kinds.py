"""Every kind of lines: its fields, declared once, of which export and import are made.

A kind that has a rule of its own says so by a function here; everything else follows from its fields.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from satchel.base.clock import DAY_MS
from satchel.base.errors import InvalidInput
from satchel.base.records import dataclass
from satchel.base.text import fold
from satchel.base.vocabulary import LAYERS, PRIORITIES
from satchel.find.kind import Kind
from satchel.keep import names, runs
from satchel.keep.constraints.records import STATUSES as RULE_STATUSES
from satchel.keep.corrections.log import CONFIRMED, SUPERSEDED
from satchel.keep.decisions import tables as decision_tables
from satchel.keep.decisions.records import DEFAULT_VERSION
from satchel.keep.decisions.records import STATUSES as DECISION_STATUSES
from satchel.keep.entries import sightings
from satchel.keep.entries import updates as entry_writing
from satchel.keep.entries.records import CODEBASE_ANALYSIS, ENTRY_TYPES, STRUCTURED_TYPES
from satchel.keep.files.records import CHANGES
from satchel.keep.messages import updates as message_writing
from satchel.keep.messages.records import MESSAGE_TYPES
from satchel.keep.moving import histories, solutions, windows
from satchel.keep.moving.fields import (
    ADDRESSEE,
    AGENT,
    BORN,
    CATEGORY,
    FILE,
    FILE_NUMBER,
    FILL,
    FLAG,
    FOLDED,
    HEX,
    JSON,
    LAYER,
    MAX,
    MIN,
    NAME,
    RUN,
    SCOPE,
    SOFT,
    TAG,
    TEXT,
    TIME,
    TOPIC,
    WHOLE,
    Codec,
    Field,
    Line,
    Part,
    Rows,
    linked,
    named,
    one_of,
    read_uid,
    short,
)
from satchel.keep.moving.reading import Reading
from satchel.keep.packages import contents
from satchel.keep.packages.records import MAX_SUMMARY_CHARS
from satchel.keep.packages.records import TYPES as PACKAGE_TYPES
from satchel.keep.patterns.signing import VERSION as SIGNED_BY
from satchel.keep.strategies import updates as strategy_writing
from satchel.keep.strategies.records import MAX_INSIGHT_CHARS
from satchel.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class LineKind:
    """One kind of lines.

    Attributes:
        name: what lines call it.
        table: where its items are.
        about: what a reader of the schema is told.
        fields, parts: what its lines hold.
        letter: of its short ids; empty for none.
        key: the column of what makes two items one whatever their uids are, and what it is called in lines.
        documents: its kind among what can be found; None for what is not.
        given: names that every project begins with, which no line need say.
        expires: whether its items have an ``expires_at``, after which they are gone.
        shown: brings a line that was made of its fields into shape.
        derive: gives a row the columns that follow from others; gets what was read of the line, and that.
        prepare: makes room for a new item.
        enter: does what follows from new or changed items in other tables; gets their numbers.
        withdraw: takes that back before they change.
        keep_old: keeps the state before a change; None keeps it beside the item. Gets the item's number, that state
            and the new one.
        renew: does what follows where it was met again on the other side; gets its number.
        rank: what tells which of two states is the later one.
        take: takes a line of a kind that is of no table with uids; returns whether it brought anything.
    """

    name: str
    table: str
    about: str
    fields: tuple[Field, ...]
    parts: tuple[Part, ...] = ()
    letter: str = ""
    key: tuple[str, str] | None = None
    documents: Kind | None = None
    given: tuple[str, ...] = ()
    expires: bool = False
    shown: Callable[[Line], None] | None = None
    derive: Callable[[Reading, dict[str, Any]], None] | None = None
    prepare: Callable[[Reading, dict[str, Any], bytes], None] | None = None
    enter: Callable[[Transaction, int, Sequence[int]], None] | None = None
    withdraw: Callable[[Transaction, int, Sequence[int]], object] | None = None
    keep_old: Callable[[Reading, int, Line, Line], None] | None = None
    renew: Callable[[Reading, int], None] | None = None
    rank: tuple[str, ...] = ()
    take: Callable[[Reading, Line], bool] | None = None


_CREATED = Field("created_at", BORN, required=True)
_BEGAN = Field("created_at", BORN, required=True, merge=MIN)
_SESSION = linked("session", "sessions", "session_id")
_TASK, _LOOP = Field("task_id", NAME), Field("loop_id", NAME)
_AUTHOR = named("agent", AGENT, "agents", "agent_id", merge=FILL)


def _folded_name(_: Reading, row: dict[str, Any]) -> None:
    row["folded"] = fold(row["name"])


_AGENT_KIND = LineKind(
    "agent",
    "agents",
    "who acts, or gets messages",
    (
        _BEGAN,
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
    "a layer of the architecture, beside those that every project has",
    (Field("name", NAME, required=True), _BEGAN),
    key=("folded", "name"),
    given=LAYERS,
    derive=_folded_name,
)


_RUN_KIND = LineKind(
    "run",
    "runs",
    "a piece of work",
    (
        _BEGAN,
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
    "a conversation of a client, without what only its machine knows; elsewhere it is over",
    (
        _CREATED,
        Field("client", NAME),
        Field("version", NAME, merge=SOFT),
        named("agent", AGENT, "agents", "agent_id", merge=SOFT),
        named("run", RUN, "runs", "run_id", "run_id", merge=SOFT),
        Field("task_id", NAME, merge=SOFT),
        linked("predecessor", "sessions", "predecessor_id", merge=SOFT),
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
    # an object is written anew, so that only what was done to its texts tells
    reading.changed = reading.changed or (name not in STRUCTURED_TYPES and text != value)
    return text


_CONTENT = Codec("a text; an object for a structured type", None, _content, is_number=True)


def _entry_shown(line: Line) -> None:
    if line["type"] in STRUCTURED_TYPES:
        line["content"] = json.loads(line["content"])


def _entry_derived(_: Reading, row: dict[str, Any]) -> None:
    if row["file"] is None:
        row["line"] = row["last_line"] = None
    row["said"] = sightings.key_of(
        row["type"], row["content"], row["file"], row["line"], row["loop_id"], row["agent_id"]
    )


def _one_analysis(reading: Reading, row: dict[str, Any], uid: bytes) -> None:
    """Let the later of two analyses of a run hold."""
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
        entry_writing.retract(reading.transaction, reading.project, other[0])
        reading.links.append(("superseded_by of", other[2]))
    reading.changed = True


_ENTRY_KIND = LineKind(
    "entry",
    Kind.ENTRY.table,
    "a note",
    (
        _CREATED,
        Field("type", one_of(ENTRY_TYPES), required=True),
        Field("content", _CONTENT, required=True),
        named("run", RUN, "runs", "run_id", "run_id", required=True),
        _TASK,
        _LOOP,
        Field("file", FILE),
        Field("line", WHOLE),
        Field("last_line", WHOLE),
        _AUTHOR,
        _SESSION,
        Field("seen", WHOLE, merge=MAX),
        linked("superseded_by", "context", merge=SOFT, is_own=True),
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
                named("run", RUN, "runs", "run_id", "run_id", required=True),
                _AUTHOR,
                _SESSION,
                _TASK,
                _LOOP,
                _CREATED,
            ),
            same=("agent_id", "run_id", "created_at"),
        ),
    ),
    letter=Kind.ENTRY.letter,
    documents=Kind.ENTRY,
    shown=_entry_shown,
    derive=_entry_derived,
    prepare=_one_analysis,
    rank=("superseded_by",),
)


def _decision_derived(_: Reading, row: dict[str, Any]) -> None:
    histories.split_value(row)


def _linked_names(table: str, column: str) -> Callable[[Reading, int, dict[str, Any], Rows], None]:
    """Return what links the names of a decision, whose state and age stand beside each."""

    def add(reading: Reading, number: int, row: dict[str, Any], given: Rows) -> None:
        reading.transaction.many(
            f"INSERT OR IGNORE INTO {table} ({column}, status, created_at, decision_id) "
            "VALUES (:name, :status, :created, :decision)",
            [
                {"name": one[column], "status": row["status"], "created": row["created_at"], "decision": number}
                for one in given
            ],
        )

    return add


_DECISION_KIND = LineKind(
    "decision",
    Kind.DECISION.table,
    "what the project decided under a key, with all that it was before",
    (
        _BEGAN,
        Field("key", NAME, required=True),
        Field("value", histories.VALUE, sql="COALESCE(i.value_text, i.value_number)", required=True),
        Field("status", one_of(DECISION_STATUSES), required=True),
        Field("version", NAME, default=DEFAULT_VERSION),
        named("layer", LAYER, "layers", "layer_id"),
        Field("rationale", TEXT),
        named("agent", AGENT, "agents", "agent_id", merge=FILL),
        Field("revision", WHOLE, default=1, merge=MAX),
        Field("updated_at", TIME, required=True, merge=SOFT),
    ),
    (
        Part(
            "tags",
            "decision_tags",
            "decision_id",
            (named("tag", TAG, "tags", "tag_id", required=True),),
            is_own=True,
            order="1",
            add=_linked_names("decision_tags", "tag_id"),
        ),
        Part(
            "scopes",
            "decision_scopes",
            "decision_id",
            (named("scope", SCOPE, "scopes", "scope_id", required=True),),
            is_own=True,
            order="1",
            add=_linked_names("decision_scopes", "scope_id"),
        ),
        histories.HISTORY,
    ),
    letter=Kind.DECISION.letter,
    key=("key", "key"),
    documents=Kind.DECISION,
    derive=_decision_derived,
    enter=decision_tables.enter,
    withdraw=decision_tables.withdraw,
    keep_old=histories.keep_old,
    rank=("updated_at",),
)


def _rule_status(value: Any, _: Reading, name: str) -> int:
    if value not in RULE_STATUSES:
        raise InvalidInput(f"its {name} is {repr(value)[:60]}", f"Valid: {', '.join(RULE_STATUSES)}")
    return int(value == RULE_STATUSES[0])


_CONSTRAINT_KIND = LineKind(
    "constraint",
    Kind.CONSTRAINT.table,
    "a rule",
    (
        _CREATED,
        Field("text", TEXT, required=True),
        named("category", CATEGORY, "categories", "category_id", required=True),
        Field("priority", one_of(PRIORITIES), required=True),
        named("layer", LAYER, "layers", "layer_id"),
        named("agent", AGENT, "agents", "created_by", merge=FILL),
        Field(
            "status",
            Codec(f"one of {', '.join(RULE_STATUSES)}", lambda active: RULE_STATUSES[1 - active], _rule_status),
            "active",
            default=1,
            merge=SOFT,
        ),
        Field("reason", TEXT, merge=SOFT),
        named("deactivated_by", AGENT, "agents", "deactivated_by", merge=SOFT),
        Field("deactivated_at", TIME, merge=SOFT),
    ),
    (
        Part(
            "tags",
            "constraint_tags",
            "constraint_id",
            (named("tag", TAG, "tags", "tag_id", required=True),),
            is_own=True,
            order="1",
        ),
    ),
    letter=Kind.CONSTRAINT.letter,
    documents=Kind.CONSTRAINT,
    rank=("deactivated_at",),
)


def _message_derived(reading: Reading, row: dict[str, Any]) -> None:
    kept = reading.workplace.retention
    row["expires_at"] = kept.expires_at(reading.now, kept.unread_messages_hours)
    row["read_expires_at"] = min(row["expires_at"], kept.expires_at(reading.now, kept.messages_hours))


def _read(reading: Reading, number: int, row: dict[str, Any], given: Rows) -> None:
    is_to_all = row["to_agent_id"] is None
    for one in given:
        unread = message_writing.Unread(number, is_to_all, row["expires_at"], row["read_expires_at"])
        message_writing.mark(reading.transaction, one["agent_id"], [unread], one["read_at"])


_MESSAGE_KIND = LineKind(
    "message",
    Kind.MESSAGE.table,
    "a message to an agent or to all, with who has read it",
    (
        _CREATED,
        Field("type", one_of(MESSAGE_TYPES), required=True),
        Field("priority", one_of(PRIORITIES), required=True),
        named("from", AGENT, "agents", "from_agent_id", merge=FILL),
        named("to", ADDRESSEE, "agents", "to_agent_id"),
        named("first_to", ADDRESSEE, "agents", "first_to_id"),
        Field("message", TEXT, required=True),
        Field("payload", JSON),
        linked("reply_to", "agent_messages"),
        linked("thread", "agent_messages", "thread_id"),
    ),
    (
        Part(
            "reads",
            "message_reads",
            "message_id",
            (named("agent", ADDRESSEE, "agents", "agent_id", required=True), Field("read_at", TIME, required=True)),
            same=("agent_id",),
            order="i.agent_id",
            add=_read,
        ),
    ),
    letter=Kind.MESSAGE.letter,
    documents=Kind.MESSAGE,
    expires=True,
    derive=_message_derived,
)


def _change_derived(reading: Reading, row: dict[str, Any]) -> None:
    kept = reading.workplace.retention
    row["expires_at"] = kept.expires_at(reading.now, kept.file_changes_hours)


_FILE_CHANGE_KIND = LineKind(
    "file_change",
    Kind.FILE_CHANGE.table,
    "an edit that was recorded",
    (
        _CREATED,
        named("file", FILE_NUMBER, "files", "file_id", "path", required=True),
        Field("change", one_of(CHANGES), required=True),
        _AUTHOR,
        _SESSION,
        named("layer", LAYER, "layers", "layer_id"),
        Field("description", TEXT),
    ),
    letter=Kind.FILE_CHANGE.letter,
    documents=Kind.FILE_CHANGE,
    expires=True,
    derive=_change_derived,
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
    "a file or text that is handed to other agents",
    (
        _CREATED,
        Field("type", one_of(PACKAGE_TYPES), required=True),
        Field("priority", one_of(PRIORITIES), required=True),
        Field("summary", short(MAX_SUMMARY_CHARS, one_line=True), required=True),
        Field("path", Codec("a path inside the project", None, _package_path), "content_path"),
        Field("content", TEXT),
        named("run", RUN, "runs", "run_id", "run_id", required=True),
        _TASK,
        named("agent", AGENT, "agents", "producer_id", merge=FILL),
        linked("superseded_by", "context_packages", merge=SOFT, is_own=True),
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
    letter=Kind.PACKAGE.letter,
    documents=Kind.PACKAGE,
    derive=_package_derived,
    rank=("superseded_by", "updated_at"),
)


def _pattern_derived(reading: Reading, row: dict[str, Any]) -> None:
    row["expires_at"] = reading.now + row["ttl_days"] * DAY_MS


def _live_on(reading: Reading, number: int) -> None:
    reading.transaction.execute(
        f"UPDATE error_patterns SET expires_at = max(expires_at, :now + ttl_days * {DAY_MS}) WHERE id = :id",
        {"now": reading.now, "id": number},
    )


_PATTERN_KIND = LineKind(
    "error_pattern",
    Kind.ERROR_PATTERN.table,
    "an error, with what solved it and who found that it did",
    (
        _BEGAN,
        Field("hash", NAME, "pattern_hash", required=True),
        Field("signed_by", WHOLE, default=SIGNED_BY, merge=SOFT),
        Field("error_type", NAME, required=True, merge=SOFT),
        Field("message", TEXT, required=True, merge=SOFT),
        Field("example", TEXT, required=True, merge=SOFT),
        Field("lang", FOLDED, merge=SOFT),
        Field("occurrences", WHOLE, default=1, merge=MAX),
        Field("ttl_days", WHOLE, required=True, merge=SOFT),
        Field("last_seen", TIME, required=True, merge=MAX),
    ),
    (
        solutions.SOLUTIONS,
        solutions.MET,
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
        _CREATED,
        Field("topic", TOPIC, required=True),
        Field("insight", short(MAX_INSIGHT_CHARS), required=True),
        Field("lang", FOLDED),
        Field("framework", FOLDED),
        Field("helped", WHOLE, default=0, merge=MAX),
        Field("not_helped", WHOLE, default=0, merge=MAX),
        _AUTHOR,
        linked("superseded_by", "strategies", merge=SOFT, is_own=True),
        Field("last_seen", TIME, required=True, merge=MAX),
    ),
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
        raise InvalidInput(f"its {name} {value} is not here", "A correction comes with what it corrects")
    return number


_ITEM = Codec("the uid of another item", bytes.hex, _corrected_item, is_number=True)


def _correction_derived(_: Reading, row: dict[str, Any]) -> None:
    if (row["action"] == SUPERSEDED) != (row["heir_id"] is not None):
        raise InvalidInput("it does not name what replaced the item", "Give heir where action is superseded")


_CORRECTION_KIND = LineKind(
    "correction",
    "corrections",
    "that an item was replaced, retracted or confirmed",
    (
        _CREATED,
        Field("action", one_of(("superseded", "retracted", "confirmed")[:CONFIRMED]), required=True),
        Field("item_kind", Codec(f"one of {', '.join(_CORRECTED)}", _BY_NUMBER.get, _item_kind), required=True),
        Field("item", _ITEM, "item_id", _corrected("item_id"), required=True),
        Field("heir", _ITEM, "heir_id", _corrected("heir_id")),
        _AUTHOR,
        _SESSION,
        Field("reason", TEXT),
        Field("undone_at", TIME, merge=SOFT),
    ),
    derive=_correction_derived,
    rank=("undone_at",),
)

_DELIVERY_KIND = LineKind(
    windows.NAME_OF_KIND,
    "windows",
    "what was delivered to an agent in one context window; its uid is made of what names the window",
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
        _DECISION_KIND,
        _CONSTRAINT_KIND,
        _ENTRY_KIND,
        _MESSAGE_KIND,
        _FILE_CHANGE_KIND,
        _PACKAGE_KIND,
        _PATTERN_KIND,
        _STRATEGY_KIND,
        _CORRECTION_KIND,
        _DELIVERY_KIND,
    )
}
"""Every kind, in the order in which an export has them: what is named comes before what names it."""

OF_KIND: dict[Kind, LineKind] = {kind.documents: kind for kind in LINE_KINDS.values() if kind.documents is not None}
"""The lines of what can be found."""
