"""Reading a sqlew database into records, whichever version made it."""

from __future__ import annotations

from collections import defaultdict
from operator import attrgetter
from pathlib import Path

from satchel.keep.importing.sqlew_decisions import DecisionReader
from satchel.keep.importing.sqlew_records import ForeignConstraint, ForeignFileChange, ForeignMessage, SqlewStore
from satchel.keep.importing.sqlew_tables import SqlewTables
from satchel.keep.importing.values import described, number_of
from satchel.store.foreign import opened_foreign

_KINDS = {
    "decisions": "decisions",
    "constraints": "constraints",
    "messages": "agent_messages",
    "file_changes": "file_changes",
}
"""The table of each kind."""

_ORDER = attrgetter("created_at", "id")


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
        reader = DecisionReader(tables)
        decisions = reader.read()
        tags = _constraint_tags(tables)
        constraints = tables.read(ForeignConstraint, "constraints", "id", lambda number: tags.get(number, ()))
        messages = tables.read(ForeignMessage, "agent_messages", "id")
        changes = tables.read(ForeignFileChange, "file_changes", "id")
        return SqlewStore(
            format=tables.format,
            project=tables.project,
            project_id=tables.project_id,
            kinds=tuple(_KINDS),
            rows=(reader.rows, *(tables.counted[table] for table in list(_KINDS.values())[1:])),
            tables=tuple(map(tables.name, _KINDS.values())),
            decisions=decisions,
            constraints=tuple(sorted(constraints, key=_ORDER)),
            messages=tuple(sorted(messages, key=_ORDER)),
            file_changes=tuple(sorted(changes, key=_ORDER)),
            troubles=tuple(tables.troubles),
            notes=_notes(tables, reader.unchanged, messages),
            not_taken=tables.not_taken(),
        )


def _notes(tables: SqlewTables, unchanged: int, messages: list[ForeignMessage]) -> tuple[str, ...]:
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
