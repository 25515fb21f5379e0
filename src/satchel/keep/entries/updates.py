"""Writes of entries: checked first, then stored with all their effects in one transaction."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from satchel.base.errors import Conflict, InvalidInput
from satchel.base.paging import check_whole
from satchel.find import documents
from satchel.find.kind import Kind
from satchel.keep import replacing
from satchel.keep.corrections import log
from satchel.keep.entries import records
from satchel.keep.names import PERSONS, check_identifier
from satchel.keep.paths import check_lines
from satchel.keep.projects import Workplace
from satchel.keep.texts import check_size, map_texts, storable, storable_json, to_json
from satchel.store.transaction import Transaction, set_of

if TYPE_CHECKING:
    from satchel.keep.citations import Cited

_MAX_LINE = 2**31 - 1


# Returns the content of a file, or of some of its lines.
Cite = Callable[[str, int | None, int | None], "Cited | None"]


def prepare(entry: records.NewEntry, workplace: Workplace, cite: Cite) -> records.Prepared:
    number = records.type_number(entry.type)
    if entry.type in records.STRUCTURED_TYPES:
        from satchel.keep.entries import structured  # imported here: only objects need it

        raw = structured.as_object(entry.type, entry.content)
        content, notes = storable_content(entry.type, raw, workplace.max_content_bytes)
        notes += structured.check_new(entry.type, content)
    else:
        content, notes = storable_content(entry.type, entry.content, workplace.max_content_bytes)
    file, line, last = None, entry.line, None
    if entry.file is not None:
        file, named_line, last = check_lines(entry.file, workplace.files_root, "file")
        line, last = (named_line, last) if line is None else (line, None)
    if line is not None:
        check_whole("line", line, _MAX_LINE, smallest=1)
        if entry.file is None:
            raise InvalidInput("line is given without file", "Name the file too")
    cited = None if file is None else cite(file, line, last)
    if cited is not None and cited.first_line is not None:  # a writer who has miscounted sees it
        reads = f"reads {cited.first_line}" if cited.first_line.strip('"') else "is empty: check the number"
        notes += (f"{file}:{line} {reads}",)
    if file is not None and cited is None and workplace.files_root is not None:
        from satchel.keep.citations import is_missing  # imported here: most notes cite what is there

        if is_missing(workplace.files_root, file):
            notes += (f"{file} is not there: check its name",)
    return records.Prepared(
        type=number,
        content=content,
        searchable=_searchable(number, content),
        task_id=None if entry.task_id is None else check_identifier(entry.task_id, "task_id"),
        loop_id=None if entry.loop_id is None else check_identifier(entry.loop_id, "loop_id"),
        file=file,
        line=line,
        notes=notes,
        supersedes=None if entry.supersedes is None else Kind.ENTRY.number_of(entry.supersedes),
        last_line=last,
        cited=cited,
    )


def storable_content(entry_type: str, content: object, limit: int) -> tuple[str, tuple[str, ...]]:
    """Return an entry's content as it can be stored, and notes on the changes."""
    if isinstance(content, str):
        check_size(content, limit)
    notes: tuple[str, ...]
    if entry_type in records.STRUCTURED_TYPES:
        from satchel.keep.entries import structured

        fields = structured.parse_object(entry_type, content)
        if not isinstance(content, str):
            check_size(to_json(map_texts(fields, str)), limit)
        cleaned, notes = storable_json(fields)
        text = to_json(cleaned)
    elif isinstance(content, str):
        result = storable(content)
        text, notes = result.text, result.notes
        if not text.strip():
            raise InvalidInput(f"the content of the {entry_type} is empty", "Give the text of the note")
    else:
        raise InvalidInput(
            f"the content of a {entry_type} must be text",
            f"Only {', '.join(records.STRUCTURED_TYPES)} take an object",
        )
    check_size(text, limit)
    return text, notes


_COLUMNS = ("type", "content", "task_id", "loop_id", "file", "line", "last_line")


def insert(
    transaction: Transaction, writer: records.Writer, entries: Sequence[records.Prepared], keys: Sequence[int | None]
) -> list[tuple[int, bytes, int, Sequence[int]]]:
    """Insert entries in order, with their documents; return the id, uid and seq of each, and what it replaced."""
    project_id, run, agent, now = writer.project_id, writer.run, writer.agent, writer.now
    corrector = log.Corrector(transaction, project_id, agent, writer.session, writer.passes, now)
    first = transaction.next_seq(project_id, len(entries), documents=len(entries))
    inserted: list[tuple[int, bytes, int, Sequence[int]]] = []
    random = os.urandom(16 * len(entries))
    for seq, (entry, key) in enumerate(zip(entries, keys, strict=True), first):
        uid = random[16 * (seq - first) : 16 * (seq - first + 1)]
        replaced = _replaced_by(transaction, project_id, run, agent, entry)
        if entry.type == records.REVIEW_VERDICT and replaced:
            replaced = _not_persons(corrector, replaced)
        if entry.supersedes is not None:
            replaced = [*replaced, *({entry.supersedes} - set(replaced))]
        for number in replaced:
            if entry.type != records.REVIEW_VERDICT or number == entry.supersedes:
                log.check_replaceable(corrector, (Kind.ENTRY, number))
        if entry.type == records.CODEBASE_ANALYSIS and replaced:
            replacing.step_aside(transaction, Kind.ENTRY, replaced[0])
        columns = {
            "uid": uid,
            "seq": seq,
            "project_id": project_id,
            "run_id": run,
            **{name: getattr(entry, name) for name in _COLUMNS},
            "said": key,
            "agent_id": agent,
            "created_at": now,
            "session_id": writer.session,
        }
        number = transaction.add(Kind.ENTRY.table, columns)
        if entry.cited is not None:
            from satchel.keep import citations

            citations.record(transaction, number, entry.cited)
        if replaced:
            replacing.mark(transaction, project_id, Kind.ENTRY, replaced, number)
        if entry.supersedes is not None:
            item = (Kind.ENTRY, entry.supersedes)
            log.record(corrector, log.SUPERSEDED, item, heir=number)
        documents.add(transaction, DOCUMENTS.document({"id": number, **columns}, entry.searchable))
        inserted.append((number, uid, seq, replaced))
    return inserted


def _replaced_by(
    transaction: Transaction, project_id: int, run: int, agent: int | None, entry: records.Prepared
) -> list[int]:
    # a new analysis replaces the run's, a new review the previous one
    if entry.type not in {records.CODEBASE_ANALYSIS, records.REVIEW_VERDICT}:
        return []
    where = "project_id = :project AND run_id = :run AND superseded_by IS NULL"
    values = {"project": project_id, "run": run}
    if entry.type == records.CODEBASE_ANALYSIS:
        rows = transaction.all(
            f"SELECT id FROM context WHERE {where} AND type = :type", {**values, "type": records.CODEBASE_ANALYSIS}
        )
        return [row[0] for row in rows]
    of_work = entry.task_id is not None or entry.loop_id is not None
    # without a task or loop anybody may review anything: only the author's own review of the file counts
    author = "" if of_work else f"AND agent_id IS NOT DISTINCT FROM :agent AND {_equals('file', entry.file)}"
    rows = transaction.all(
        f"""
        SELECT id, type, content, file FROM context
        WHERE {where} AND {_equals("task_id", entry.task_id)} AND {_equals("loop_id", entry.loop_id)} {author}
            AND type IN (:verdict, :issue)
        ORDER BY id
        """,
        {
            **values,
            "task_id": entry.task_id,
            "loop_id": entry.loop_id,
            "agent": agent,
            "file": entry.file,
            "verdict": records.REVIEW_VERDICT,
            "issue": records.REVIEW_ISSUE,
        },
    )
    replaced: list[int] = []
    issues: list[int] = []  # they go with the verdict that followed them
    for number, kind, content, file in rows:
        issues.append(number)
        if kind == records.REVIEW_VERDICT:
            replaced += issues if _covers(entry, content, file, of_work=of_work) else []
            issues = []
    return replaced


def _covers(entry: records.Prepared, verdict: str, file: str | None, *, of_work: bool) -> bool:
    from satchel.keep.entries.structured import judged_changes  # other writes do not need it

    judged, changes = judged_changes(verdict), judged_changes(entry.content)
    if judged and changes:
        return judged <= changes
    return (of_work or not (judged or changes)) and (file == entry.file or None in {file, entry.file})


def _not_persons(by: log.Corrector, numbers: Sequence[int]) -> list[int]:
    of_persons = f"SELECT id FROM context WHERE id IN {set_of(numbers)} AND agent_id IN {PERSONS}"
    spared = {number for (number,) in by.transaction.all(of_persons, {"project": by.project_id})}
    return (
        [number for number in numbers if number not in spared]
        if spared and not by.passes(", ".join(map(Kind.ENTRY.ref, sorted(spared))))
        else [*numbers]
    )


def _equals(column: str, value: str | None) -> str:
    # NULL-safe and still served by an index
    return f"{column} IS NULL" if value is None else f"{column} = :{column}"


def prunable(
    transaction: Transaction,
    project_id: int,
    run: int,
    keep: int,
    only: tuple[int, str | None] | None = None,
    *,
    spares_persons: bool = True,
) -> list[tuple[int, int]]:
    """Return the number and type of entries beyond the newest ``keep`` per type and loop.

    The live analysis and all live issues and verdicts are excluded: they are the current review.
    """
    spared = f"AND (agent_id IS NULL OR agent_id NOT IN {PERSONS})" if spares_persons else ""
    current = f"{records.REVIEW_ISSUE}, {records.REVIEW_VERDICT}, {records.CODEBASE_ANALYSIS}"
    of_run = "+project_id = :project AND run_id = :run"  # a plus keeps SQLite from using the column's index
    if only is not None:
        of_run = f"project_id = :project AND +run_id = :run AND type = :type AND {_equals('loop_id', only[1])}"
    return [
        (row[0], row[1])
        for row in transaction.all(
            f"""
            SELECT id, type FROM (
                SELECT id, type, superseded_by, agent_id,
                    row_number() OVER (PARTITION BY type, loop_id ORDER BY created_at DESC, id DESC) AS place
                FROM context WHERE {of_run}
            ) AS placed
            WHERE place > :keep AND (type NOT IN ({current}) OR superseded_by IS NOT NULL) {spared}
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
    if records.ENTRY_TYPES[kind - 1] not in records.STRUCTURED_TYPES:
        return content
    from satchel.keep.entries import structured

    return structured.searchable_text(content)


def labelled(kind: int, content: str) -> str:
    """Return an entry's displayed text, by its type's number."""
    name = records.ENTRY_TYPES[kind - 1]
    if name not in records.STRUCTURED_TYPES:
        return content
    from satchel.keep.entries import structured

    return structured.labelled(name, content, without=("iteration", "done"))


# The texts of entries that a search shows; structured ones with labels.
DISPLAY = documents.Source(Kind.ENTRY, "type, content", labelled)

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
    """Delete entries with their documents; items they replaced become replaced by their replacement, or live again."""
    from satchel.keep.entries import repeats  # imported here: only a deletion needs it

    for number in numbers:
        replacing.hand_on(transaction, project_id, Kind.ENTRY, number)
        repeats.forget_bands(transaction, project_id, number)
        transaction.run("DELETE FROM context WHERE id = :id", {"id": number})
    documents.remove(transaction, Kind.ENTRY, numbers)
    log.forget(transaction, Kind.ENTRY, numbers)


def revive(transaction: Transaction, project_id: int, number: int) -> None:
    other = transaction.one(
        """
        SELECT o.id FROM context c JOIN context o ON o.run_id = c.run_id AND o.project_id = c.project_id
        WHERE c.id = :id AND c.type = :type AND o.type = :type AND o.superseded_by IS NULL
        """,
        {"id": number, "type": records.CODEBASE_ANALYSIS},
    )
    if other is not None:
        heir = Kind.ENTRY.ref(other[0])
        raise Conflict(f"{heir} is now the analysis of its run", f"Retract {heir} first")
    replacing.mark(transaction, project_id, Kind.ENTRY, [number], None)
