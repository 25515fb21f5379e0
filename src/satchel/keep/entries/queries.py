"""Queries for entries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from satchel.base.records import replace
from satchel.find.kind import Kind
from satchel.keep import listing as filters
from satchel.keep.entries.records import COLUMNS, SOURCE, Entry, entry_of, type_number
from satchel.keep.entries.sightings import seen_with, with_names
from satchel.keep.listing import Filter, Listing, RunFilters, View
from satchel.store.transaction import Row, Transaction


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
    entries = [entry_of(row, view.scores.get(row[0])) for row in rows]
    return completed(view.transaction, view.workplace.files_root, entries)


def completed(transaction: Transaction, root: str | None, entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return entries with the authors of repeated ones, and the state of cited files below ``root``; None compares
    none.
    """
    entries = with_names(transaction, entries)
    on_files = [entry.id for entry in entries if entry.file is not None]
    if not on_files or root is None:
        return entries
    from satchel.keep import citations

    citations_of = citations.Comparing(root).compare(citations.load(transaction, on_files))
    return tuple(
        replace(entry, citation=citations_of[entry.id]) if entry.id in citations_of else entry for entry in entries
    )


_SMALL_RUN = 2_000
"""A run with at most this many entries is read whole for a list by types: its project may be much larger."""


def _begin(view: View) -> None:
    # the plus keeps SQLite from the index of the project's times where the index of the run is better
    sightings = "" if "run" not in view.values else _seen_by(view, "run_id", [view.values["run"]])
    if sightings:
        view.base = "c.project_id = :project"
        del view.scope["run_id"]
        view.where_or_seen(sightings, "c.run_id = :run")
    run, filters_given = view.values.get("run"), view.request.chosen.keys() & {"types", "task_id", "loop_id", "file"}
    if run is None or view.request.after_seq is not None:
        return
    if not filters_given or (filters_given == {"types"} and _is_small(view)):
        # a plus keeps SQLite from using the column's index
        view.base = f"+{view.base}"


def _is_small(view: View) -> bool:
    sql = "SELECT count(*) FROM (SELECT 1 FROM context WHERE run_id = :run LIMIT :most) AS counted"
    counted = view.transaction.one(sql, {"run": view.values["run"], "most": _SMALL_RUN + 1})
    return counted is not None and counted[0] <= _SMALL_RUN


def load(transaction: Transaction, project_id: int, number: int) -> Entry | None:
    """Return an entry of any run, or None."""
    row = transaction.one(
        f"SELECT {COLUMNS} FROM {SOURCE} WHERE c.project_id = :project AND c.id = :id",
        {"project": project_id, "id": number},
    )
    return None if row is None else entry_of(row)


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
            view.where_or_seen(sightings, f"c.{plain.name} = {{}}", value)
        elif plain.apply is not None:
            plain.apply(view, value)

    return replace(plain, apply=apply)


LISTING = Listing(
    kind=Kind.ENTRY,
    table="context c",
    columns=COLUMNS,
    source=SOURCE,
    make=_make,
    filters=(
        filters.types("c.type", Kind.ENTRY, "entry", "discovery", type_number),
        _or_seen(filters.compared("task_id", "c.task_id = {}", scope="task_id")),
        _or_seen(filters.compared("loop_id", "c.loop_id = {}", scope="loop_id")),
        filters.file("c.file"),
        filters.author("c.agent_id", sightings=_seen_by),
        filters.liveness("c.superseded_by"),
    ),
    in_run=True,
    begin=_begin,
    sink=_sink,
)
