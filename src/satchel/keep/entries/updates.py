"""Writing entries: checked at the edge, then kept with everything that follows from them in one transaction."""

from __future__ import annotations

import os
from collections.abc import Sequence

from satchel.base.errors import InvalidInput
from satchel.base.paging import check_whole
from satchel.find import documents
from satchel.find.documents import Document
from satchel.find.kind import Kind
from satchel.keep.entries.records import (
    CODEBASE_ANALYSIS,
    ENTRY_TYPES,
    REVIEW_ISSUE,
    REVIEW_VERDICT,
    STRUCTURED_TYPES,
    NewEntry,
    Prepared,
    Writer,
    type_number,
)
from satchel.keep.names import check_identifier
from satchel.keep.paths import check_place
from satchel.keep.projects import Workplace, next_seq
from satchel.keep.texts import check_size, map_texts, storable, storable_json, to_json
from satchel.store.transaction import Transaction

_MAX_LINE = 2**31 - 1


def prepare(entry: NewEntry, workplace: Workplace) -> Prepared:
    """Check an entry and make its texts storable, before anything is written.

    Raises:
        InvalidInput: an unknown type, malformed content, or a name, file or line that is none.
        TooLarge: the content exceeds the configured size.
    """
    number = type_number(entry.type)
    content, notes = _storable(entry.type, entry.content, workplace.max_content_bytes)
    file, line = None, entry.line
    if entry.file is not None:
        file, named = check_place(entry.file, workplace.files_root)
        line = named if line is None else line
    if line is not None:
        check_whole("line", line, _MAX_LINE, smallest=1)
        if entry.file is None:
            raise InvalidInput("line is given without file", "Name the file too")
    return Prepared(
        type=number,
        content=content,
        searchable=_searchable(number, content),
        task_id=None if entry.task_id is None else check_identifier(entry.task_id, "task_id"),
        loop_id=None if entry.loop_id is None else check_identifier(entry.loop_id, "loop_id"),
        file=file,
        line=line,
        notes=notes,
    )


def _storable(entry_type: str, content: object, limit: int) -> tuple[str, tuple[str, ...]]:
    if isinstance(content, str):
        check_size(content, limit)
    notes: tuple[str, ...]
    if entry_type in STRUCTURED_TYPES:
        from satchel.keep.entries import structured  # 4 ms of a command, for content that is an object

        fields = structured.parse_object(entry_type, content)
        if not isinstance(content, str):
            check_size(to_json(map_texts(fields, str)), limit)
        cleaned, notes = storable_json(fields)
        text = to_json(cleaned)
    elif isinstance(content, str):
        result = storable(content)
        text, notes = result.text, result.notes
        if not text.strip():
            raise InvalidInput(f"the content of the {entry_type} is empty", "Say what was learned")
    else:
        raise InvalidInput(
            f"the content of a {entry_type} must be text, not {type(content).__name__}",
            f"Only {', '.join(STRUCTURED_TYPES)} take an object",
        )
    check_size(text, limit)
    return text, notes


_INSERT = """
    INSERT INTO context
        (uid, seq, project_id, run_id, type, content, task_id, loop_id, file, line, agent_id, created_at, session_id)
    VALUES
        (:uid, :seq, :project, :run, :type, :content, :task, :loop, :file, :line, :agent, :now, :session)
"""


def insert(transaction: Transaction, writer: Writer, entries: Sequence[Prepared]) -> list[tuple[int, bytes, int]]:
    """Store entries in order, with their documents and whatever they supersede.

    Returns:
        The number, uid and seq of each.
    """
    project_id, run, agent, now = writer.project_id, writer.run, writer.agent, writer.now
    first = next_seq(transaction, project_id, len(entries))
    kept: list[tuple[int, bytes, int]] = []
    for seq, entry in enumerate(entries, first):
        uid = os.urandom(16)
        replaced = _replaced_by(transaction, project_id, run, entry)
        if entry.type == CODEBASE_ANALYSIS and replaced:
            _step_aside(transaction, replaced[0])
        number = transaction.insert(
            _INSERT,
            {
                "uid": uid,
                "seq": seq,
                "project": project_id,
                "run": run,
                "type": entry.type,
                "content": entry.content,
                "task": entry.task_id,
                "loop": entry.loop_id,
                "file": entry.file,
                "line": entry.line,
                "agent": agent,
                "now": now,
                "session": writer.session,
            },
        )
        if replaced:
            _mark(transaction, project_id, replaced, number)
        documents.add(
            transaction,
            Document(
                Kind.ENTRY,
                number,
                seq,
                project_id,
                run,
                entry.searchable,
                now,
                type=entry.type,
                agent_id=agent,
                task_id=entry.task_id,
                loop_id=entry.loop_id,
                file=entry.file,
            ),
        )
        kept.append((number, uid, seq))
    return kept


def _replaced_by(transaction: Transaction, project_id: int, run: int, entry: Prepared) -> list[int]:
    """Return the live entries that a new one supersedes: the run's analysis, or the review before this one."""
    if entry.type not in {CODEBASE_ANALYSIS, REVIEW_VERDICT}:
        return []
    where = "project_id = :project AND run_id = :run AND superseded_by IS NULL"
    values = {"project": project_id, "run": run}
    if entry.type == CODEBASE_ANALYSIS:
        rows = transaction.all(
            f"SELECT id FROM context WHERE {where} AND type = :type",
            {**values, "type": CODEBASE_ANALYSIS},
        )
        return [row[0] for row in rows]
    same_review = f"{where} AND {_equals('task_id', entry.task_id)} AND {_equals('loop_id', entry.loop_id)}"
    rows = transaction.all(
        f"""
        SELECT id FROM context
        WHERE {same_review} AND type IN (:verdict, :issue) AND (
            type = :verdict OR id < (SELECT max(id) FROM context WHERE {same_review} AND type = :verdict)
        )
        ORDER BY id
        """,
        {
            **values,
            "task_id": entry.task_id,
            "loop_id": entry.loop_id,
            "verdict": REVIEW_VERDICT,
            "issue": REVIEW_ISSUE,
        },
    )
    return [row[0] for row in rows]


def _equals(column: str, value: str | None) -> str:
    """Return the condition that a column has a value, which is its parameter, or none; an index serves it."""
    return f"{column} IS NULL" if value is None else f"{column} = :{column}"


def prunable(
    transaction: Transaction,
    project_id: int,
    run: int,
    keep: int,
    only: tuple[int, str | None] | None = None,
) -> list[tuple[int, int]]:
    """Return the entries beyond the newest ``keep`` of each type and loop, as pairs of number and type.

    The live analysis, and every live issue and verdict, are the current review and never among them.

    Args:
        only: one type and loop; None takes all of the run.
    """
    of_run = "+project_id = :project AND run_id = :run"  # a plus keeps a column from being looked up in an index
    if only is not None:
        of_run = f"project_id = :project AND +run_id = :run AND type = :type AND {_equals('loop_id', only[1])}"
    return [
        (row[0], row[1])
        for row in transaction.all(
            f"""
            SELECT id, type FROM (
                SELECT id, type, superseded_by,
                    row_number() OVER (PARTITION BY type, loop_id ORDER BY created_at DESC, id DESC) AS place
                FROM context WHERE {of_run}
            ) AS placed
            WHERE place > :keep AND (type NOT IN ({REVIEW_ISSUE}, {REVIEW_VERDICT}, {CODEBASE_ANALYSIS})
                OR superseded_by IS NOT NULL)
            ORDER BY id
            """,
            {
                "project": project_id,
                "run": run,
                "keep": keep,
                "type": only[0] if only else None,
                "loop_id": only[1] if only else None,
            },
        )
    ]


def _searchable(kind: int, content: str) -> str:
    if ENTRY_TYPES[kind - 1] not in STRUCTURED_TYPES:
        return content
    from satchel.keep.entries import structured

    return structured.searchable_text(content)


def _labelled(kind: int, content: str) -> str:
    name = ENTRY_TYPES[kind - 1]
    if name not in STRUCTURED_TYPES:
        return content
    from satchel.keep.entries import labels

    return labels.labelled(name, content, without=("iteration", "done"))


SHOWN = documents.Source(Kind.ENTRY, "type, content", _labelled)
"""What a search shows of entries: the texts of a structured one with their labels."""

DOCUMENTS = documents.Source(
    Kind.ENTRY,
    "type, content",
    _searchable,
    run_id="run_id",
    type="type",
    agent_id="agent_id",
    task_id="task_id",
    loop_id="loop_id",
    file="file",
    status=documents.STATUS_BY_HEIR,
)


def delete(transaction: Transaction, project_id: int, numbers: Sequence[int]) -> None:
    """Remove entries with their documents; what they had superseded falls to what superseded them, or lives again."""
    for number in numbers:
        heir = transaction.one("SELECT superseded_by FROM context WHERE id = :id", {"id": number})
        replaced = [
            row[0]
            for row in transaction.all("SELECT id FROM context WHERE superseded_by = :id ORDER BY id", {"id": number})
        ]
        if heir is not None and replaced:
            _step_aside(transaction, number)
            _mark(transaction, project_id, replaced, heir[0])
        transaction.execute("DELETE FROM context WHERE id = :id", {"id": number})
    documents.remove(transaction, Kind.ENTRY, numbers)


def _step_aside(transaction: Transaction, number: int) -> None:
    """Take an entry out of the live ones while another takes its place: the table allows one live analysis a run."""
    transaction.execute("UPDATE context SET superseded_by = id WHERE id = :id", {"id": number})


def _mark(transaction: Transaction, project_id: int, changed: Sequence[int], by: int | None) -> None:
    """Record that entries were superseded, or with None that they live again; each is a change of its own."""
    first = next_seq(transaction, project_id, len(changed))
    changes = list(zip(changed, range(first, first + len(changed)), strict=True))
    transaction.many(
        "UPDATE context SET superseded_by = :by, seq = :seq WHERE id = :id",
        [{"by": by, "seq": seq, "id": number} for number, seq in changes],
    )
    documents.set_status(transaction, Kind.ENTRY, changes, documents.LIVE if by is None else documents.SUPERSEDED)
