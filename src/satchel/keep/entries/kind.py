"""Declaration of entries, their list, and the state of a run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from satchel.base.errors import InvalidInput
from satchel.base.records import field_names, replace
from satchel.find.kind import Kind
from satchel.keep import fields, kept, runs
from satchel.keep import listing as filters
from satchel.keep.entries import updates as entry_writing
from satchel.keep.entries.records import CODEBASE_ANALYSIS, ENTRY_TYPES, STRUCTURED_TYPES, Entry, type_number
from satchel.keep.fields import Codec, Field
from satchel.keep.kind import ItemKind, Line, Part
from satchel.keep.listing import Filter, RunFilters, View
from satchel.keep.names import is_persons
from satchel.keep.runs import RunChoice
from satchel.store.transaction import Row, Transaction, first_number, set_of

if TYPE_CHECKING:
    from satchel.keep.entries.structured import (
        CodebaseAnalysis,
        RunState,
        StateIssue,
        StateNote,
        StateVerdict,
        Unreadable,
    )
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


class EntryFilters(RunFilters, total=False):
    """Filters for entries.

    Keys:
        types: only these types; at least one.
        author, task_id, loop_id: only entries of this agent, task or loop.
        file: only entries on this file, or on anything in a folder (``src/auth/``).
        status: live, superseded or all.
    """

    types: Sequence[str] | None
    author: str | None
    task_id: str | None
    loop_id: str | None
    file: str | None
    status: str


def _make(view: View, rows: Sequence[Row]) -> tuple[Entry, ...]:
    return completed(
        view.transaction, view.workplace.files_root, kept.records(ENTRY, view.transaction, rows, view.scores)
    )


def completed(transaction: Transaction, root: str | None, entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return entries with the authors of repeated ones, and the state of cited files; ``root`` None compares none."""
    entries = _with_names(transaction, tuple(entries))
    on_files = [entry.id for entry in entries if entry.file is not None]
    if not on_files or root is None:
        return entries
    from satchel.keep import citations

    citations_of = citations.Comparing(root).compare(citations.load(transaction, on_files))
    return tuple(
        replace(entry, citation=citations_of[entry.id]) if entry.id in citations_of else entry for entry in entries
    )


def _with_names(transaction: Transaction, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    often = [entry.id for entry in entries if entry.seen is not None]
    if not often:
        return entries
    rows = transaction.all(
        f"""
        SELECT s.entry_id, a.name FROM sightings s JOIN agents a ON a.id = s.agent_id
        WHERE s.entry_id IN {set_of(often)} ORDER BY s.id
        """
    )
    names = {entry.id: [entry.agent] if entry.agent else [] for entry in entries}
    for number, name in rows:
        names[number] += [name] if name not in names[number] else []
    return tuple(entry if entry.seen is None else replace(entry, seen_by=tuple(names[entry.id])) for entry in entries)


def seen_with(
    transaction: Transaction, project_id: int, column: str, values: Sequence[object]
) -> tuple[str, dict[str, object]]:
    """Return SQL for the numbers of entries seen with one of some values in a column, and its parameters."""
    parameters = {f"seen_{column}{place}": value for place, value in enumerate(values)}
    bound = ", ".join(f":{name}" for name in parameters)
    sql = f"SELECT entry_id FROM sightings WHERE project_id = :project AND {column} IN ({bound})"
    if transaction.one(f"{sql} LIMIT 1", {"project": project_id, **parameters}) is None:
        return "", {}
    return sql, parameters


# A run with at most this many entries is read whole for a list by types: its project may be much larger.
_SMALL_RUN = 2_000


def _begin(view: View) -> None:
    # the plus keeps SQLite from the index of the project's times where the index of the run is better
    sightings = "" if "run" not in view.values else _seen_by(view, "run_id", [view.values["run"]])
    if sightings:
        view.base = "i.project_id = :project"
        del view.scope["run_id"]
        view.where_or_sighted(sightings, "i.run_id = :run")
    run, filters_given = view.values.get("run"), view.request.filters.keys() & {"types", "task_id", "loop_id", "file"}
    if run is None or view.request.after_seq is not None:
        return
    if not filters_given or (filters_given == {"types"} and _is_small(view)):
        # a plus keeps SQLite from using the column's index
        view.base = f"+{view.base}"


def _is_small(view: View) -> bool:
    sql = "SELECT count(*) FROM (SELECT 1 FROM context WHERE run_id = :run LIMIT :most) AS counted"
    counted = view.transaction.one(sql, {"run": view.values["run"], "most": _SMALL_RUN + 1})
    return counted is not None and counted[0] <= _SMALL_RUN


def _sink(view: View) -> Callable[[Sequence[int]], Collection[int]]:
    from satchel.keep.citations import Sinking

    return Sinking(view.transaction, view.workplace.files_root)


def _seen_by(view: View, column: str, values: Sequence[object]) -> str:
    if not view.project_id:
        return ""
    numbers, parameters = seen_with(view.transaction, view.project_id, column, values)
    view.values |= parameters
    return numbers


def _or_seen(plain: Filter) -> Filter:
    def apply(view: View, value: object) -> None:
        sightings = _seen_by(view, plain.name, [value])
        if sightings:
            view.where_or_sighted(sightings, f"i.{plain.name} = {{}}", value)
        elif plain.apply is not None:
            plain.apply(view, value)

    return replace(plain, apply=apply)


LISTING = replace(
    kept.listing(
        ENTRY,
        (
            filters.types("i.type", Kind.ENTRY, "entry", "discovery", type_number),
            _or_seen(filters.compared("task_id", "i.task_id = {}", scope="task_id")),
            _or_seen(filters.compared("loop_id", "i.loop_id = {}", scope="loop_id")),
            filters.file("i.file"),
            filters.author("i.agent_id", sightings=_seen_by),
            filters.liveness("i.superseded_by"),
        ),
        in_run=True,
        begin=_begin,
    ),
    make=_make,
    sink=_sink,
)


NEWEST_PER_TYPE = 500

StateItem = TypeVar("StateItem")

_LOADED = ("discovery", "error", "decision", "review_issue", "review_verdict", "codebase_analysis")


def load_state(transaction: Transaction, project_id: int, run: RunChoice | None) -> RunState:
    from satchel.keep.entries import structured  # imported here: lists do not need it

    notes: dict[str, list[StateNote]] = {name: [] for name in _LOADED[:3]}
    issues: list[StateIssue] = []
    verdicts: list[StateVerdict] = []
    analysis: CodebaseAnalysis | None = None
    unreadable: list[Unreadable] = []
    left_out: list[tuple[str, int]] = []
    for name in _LOADED:
        entries, total = _newest(transaction, project_id, run, name)
        if total > len(entries):
            left_out.append((name, total - len(entries)))
        for entry in entries:
            try:
                if name == "review_issue":
                    issues.append(_of(structured.StateIssue, entry, issue=structured.review_issue(entry.content)))
                elif name == "review_verdict":
                    verdicts.append(
                        _of(structured.StateVerdict, entry, verdict=structured.review_verdict(entry.content))
                    )
                elif name == "codebase_analysis":
                    analysis = structured.codebase_analysis(entry.content)
                else:
                    notes[name].append(_of(structured.StateNote, entry))
            except InvalidInput as error:
                unreadable.append(structured.Unreadable(entry.ref, name, error.problem))
    return structured.RunState(
        run_id=None if run is None else run.run_id,
        run=runs.load(transaction, run.id) if run is not None and run.is_made else None,
        discoveries=tuple(notes["discovery"]),
        errors=tuple(notes["error"]),
        decisions=tuple(notes["decision"]),
        review_issues=tuple(issues),
        verdicts=tuple(verdicts),
        codebase_analysis=analysis,
        unreadable=tuple(unreadable),
        left_out=tuple(left_out),
    )


def _newest(transaction: Transaction, project_id: int, run: RunChoice | None, name: str) -> tuple[Sequence[Entry], int]:
    where = "i.project_id = :project AND i.type = :type AND i.superseded_by IS NULL"
    values: dict[str, object] = {"project": project_id, "type": ENTRY_TYPES.index(name) + 1}
    if run is not None:
        where += " AND i.run_id = :run"
        values["run"] = run.id
    rows = transaction.all(
        f"SELECT {LISTING.columns} FROM {LISTING.source} WHERE {where} "
        f"ORDER BY i.created_at DESC, i.id DESC LIMIT {NEWEST_PER_TYPE}",
        values,
    )
    total = len(rows)
    if total == NEWEST_PER_TYPE:
        total = first_number(transaction, f"SELECT count(*) FROM context i WHERE {where}", values)
    return kept.records(ENTRY, transaction, rows[::-1]), total


def _of(record: Callable[..., StateItem], entry: Entry, **parsed: object) -> StateItem:
    names = [name for name in field_names(record) or () if name not in parsed]
    return record(**{name: getattr(entry, name) for name in names}, **parsed)
