"""Reading a sqlew database into records, whichever version made it."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from satchel.keep.importing.records import ForeignConstraint, ForeignFileChange, ForeignMessage, SqlewStore
from satchel.keep.importing.sqlew_decisions import DecisionReader
from satchel.keep.importing.sqlew_tables import Names, SqlewTables, milliseconds
from satchel.keep.importing.values import Unreadable, described, number_of, one_of, optional_text, text_of
from satchel.keep.texts import parse_json
from satchel.store.foreign import Value, opened_foreign

_MEDIUM = 2
_KINDS = {
    "decisions": "decisions",
    "constraints": "constraints",
    "messages": "agent_messages",
    "file_changes": "file_changes",
}
"""The table of each kind."""


def read_sqlew(file: Path, source_project: str | None = None) -> SqlewStore:
    """Read everything of one project of a sqlew database that can be read.

    Args:
        file: the database file.
        source_project: the project's name there; None takes the only one.

    Returns:
        What was read, and what could not be.

    Raises:
        NotFound, StoreForeign, StoreDamaged, Refused, Busy: the file cannot be read, or is no sqlew database.
        Conflict: it holds several projects, and none was named.
        InvalidInput: it holds no such project.
    """
    with opened_foreign(file) as database:
        tables = SqlewTables(database, str(file))
        tables.choose_project(source_project)
        agents, layers = tables.names("agents"), tables.names("layers")
        decisions = DecisionReader(tables, agents, layers)
        found = decisions.read()
        constraints = tuple(_constraints(tables, agents, layers))
        messages = tuple(_messages(tables, agents))
        changes = tuple(_file_changes(tables, agents, layers))
        return SqlewStore(
            format=tables.format,
            project=tables.project[1] if tables.project else None,
            project_id=tables.project[0] if tables.project else 1,
            kinds=tuple(_KINDS),
            rows=(decisions.rows, *map(tables.count, list(_KINDS.values())[1:])),
            tables=tuple(map(tables.name, _KINDS.values())),
            decisions=found,
            constraints=constraints,
            messages=messages,
            file_changes=changes,
            troubles=tuple(tables.troubles),
            notes=_notes(tables, decisions.unchanged, messages),
            not_taken=tables.not_taken(),
        )


def _notes(tables: SqlewTables, unchanged: int, messages: tuple[ForeignMessage, ...]) -> tuple[str, ...]:
    silent = sum(message.text is None for message in messages)
    announced = sum(message.read and message.to is None for message in messages)
    noted = (
        (tables.has_older_set, "tables of an older sqlew stand beside those that were read, and were passed over"),
        (not tables.has("agents"), "this sqlew records no agents, so what came along has no authors"),
        (unchanged, f"earlier states of decisions that the next one repeats, and that were dropped: {unchanged}"),
        (silent, f"messages whose text sqlew did not keep, so that only their payload came along: {silent}"),
        (announced, f"messages to all that somebody has read; sqlew does not say who, so nobody counts: {announced}"),
    )
    return tuple(note for applies, note in noted if applies)


def _constraints(tables: SqlewTables, agents: Names, layers: Names) -> list[ForeignConstraint]:
    categories, tags = tables.names("constraint_categories"), _constraint_tags(tables)
    found: list[ForeignConstraint] = []
    columns = (
        "id",
        "category_id",
        "constraint_text",
        "priority",
        "layer_id",
        "created_by|agent_id",
        "active|is_active",
        "reason",
        "ts",
    )
    for number, category, text, priority, layer, agent, active, reason, at in tables.rows("constraints", *columns):
        row = f"id {described(number)}"
        try:
            known = _number(number)
            found.append(
                ForeignConstraint(
                    id=known,
                    category=categories.need(category, "category_id"),
                    text=text_of(text, "constraint_text"),
                    priority=one_of(priority, 4, "priority", _MEDIUM),
                    layer=layers.get(layer, "layer_id", "constraints", row),
                    tags=tuple(tags.get(known, ())),
                    agent=agents.get(agent, "created_by", "constraints", row),
                    active=_flag(active, "active", default=True),
                    reason=optional_text(reason, "reason"),
                    created_at=milliseconds(at),
                )
            )
        except Unreadable as error:
            tables.trouble("constraints", row, str(error))
    return sorted(found, key=lambda one: (one.created_at, one.id))


def _constraint_tags(tables: SqlewTables) -> dict[int, list[str]]:
    names = tables.names("tags")
    known = {number_of(number) for (number,) in tables.rows("constraints", "id")}
    found: dict[int, list[str]] = defaultdict(list)
    for constraint, tag in tables.rows("constraint_tags", "constraint_id", "tag_id"):
        number = number_of(constraint)
        # the table has no project of its own, so those of other projects are passed over
        if number is None or number not in known:
            if tables.project is None:
                reason = "it belongs to no constraint"
                tables.trouble("constraint_tags", f"constraint_id {described(constraint)}", reason)
            continue
        name = names.get(tag, "tag_id", "constraint_tags", f"constraint_id {number}")
        if name is not None:
            found[number].append(name)
    return found


def _messages(tables: SqlewTables, agents: Names) -> list[ForeignMessage]:
    found: list[ForeignMessage] = []
    columns = ("id", "from_agent_id", "to_agent_id", "msg_type", "priority", "message", "payload", "read", "ts")
    for number, sender, to, kind, priority, text, payload, read, at in tables.rows("agent_messages", *columns):
        row = f"id {described(number)}"
        try:
            given = optional_text(text, "message")
            value = _payload(tables, row, payload)
            if given is None and value is None:
                raise Unreadable("it has neither a text nor a payload")
            found.append(
                ForeignMessage(
                    id=_number(number),
                    sender=agents.get(sender, "from_agent_id", "agent_messages", row),
                    to=None if to is None else agents.need(to, "to_agent_id"),
                    type=one_of(kind, 4, "msg_type"),
                    priority=one_of(priority, 4, "priority", _MEDIUM),
                    text=given,
                    payload=value,
                    read=_flag(read, "read", default=False),
                    created_at=milliseconds(at),
                )
            )
        except Unreadable as error:
            tables.trouble("agent_messages", row, str(error))
    return sorted(found, key=lambda one: (one.created_at, one.id))


def _payload(tables: SqlewTables, row: str, payload: Value) -> object:
    text = optional_text(payload, "payload")
    if text is None:
        return None
    try:
        value: object = parse_json(text)
    except (ValueError, RecursionError):
        tables.trouble("agent_messages", row, "its payload is no JSON; it was kept as text", left_out=False)
        return text
    return value


def _file_changes(tables: SqlewTables, agents: Names, layers: Names) -> list[ForeignFileChange]:
    files = tables.names("files", "path", checked=False)
    found: list[ForeignFileChange] = []
    columns = ("id", "file_id", "change_type", "agent_id", "layer_id", "description", "ts")
    for number, file, change, agent, layer, description, at in tables.rows("file_changes", *columns):
        row = f"id {described(number)}"
        try:
            found.append(
                ForeignFileChange(
                    id=_number(number),
                    file=files.need(file, "file_id"),
                    change=one_of(change, 3, "change_type"),
                    agent=agents.get(agent, "agent_id", "file_changes", row),
                    layer=layers.get(layer, "layer_id", "file_changes", row),
                    description=optional_text(description, "description"),
                    created_at=milliseconds(at),
                )
            )
        except Unreadable as error:
            tables.trouble("file_changes", row, str(error))
    return sorted(found, key=lambda one: (one.created_at, one.id))


def _number(value: Value) -> int:
    number = number_of(value)
    if number is None:
        raise Unreadable(f"its id is {described(value)}")
    return number


def _flag(value: Value, field: str, *, default: bool) -> bool:
    if value is None:
        return default
    number = number_of(value)
    if number not in {0, 1}:
        raise Unreadable(f"its {field} is {described(value)}, neither 0 nor 1")
    return bool(number)
