"""How entries are listed."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.find.kind import Kind
from satchel.keep import filters
from satchel.keep.entries.records import COLUMNS, SOURCE, Entry, entry_of, type_number
from satchel.keep.listing import Listing, RunFilters, View
from satchel.store.transaction import Row, Transaction


class EntryFilters(RunFilters, total=False):
    """What entries are listed by.

    Keys:
        types: only these types; at least one.
        author, task_id, loop_id: only entries of this agent, task or loop.
        file: only entries on this file, or on what is in a folder (``src/auth/``).
        status: live, superseded or all.
    """

    types: Sequence[str] | None
    author: str | None
    task_id: str | None
    loop_id: str | None
    file: str | None
    status: str


def _make(view: View, rows: Sequence[Row]) -> tuple[Entry, ...]:
    return tuple(entry_of(row, view.scores.get(row[0])) for row in rows)


_SMALL_RUN = 2_000
"""A run of at most so many entries is read whole where only types are asked for: its project may be much larger."""


def _begin(view: View) -> None:
    """Keep SQLite from the index of the project's times, where a list of a run comes from the index of the run."""
    run, filters_given = view.values.get("run"), view.asked.chosen.keys() & {"types", "task_id", "loop_id", "file"}
    if run is None or view.asked.after_seq is not None:
        return
    if not filters_given or (filters_given == {"types"} and _is_small(view)):
        # a plus keeps a column from being looked up in an index
        view.base = "+c.project_id = :project AND c.run_id = :run"


def _is_small(view: View) -> bool:
    sql = "SELECT count(*) FROM (SELECT 1 FROM context WHERE run_id = :run LIMIT :most) AS counted"
    counted = view.transaction.one(sql, {"run": view.values["run"], "most": _SMALL_RUN + 1})
    return counted is not None and counted[0] <= _SMALL_RUN


def load(transaction: Transaction, project_id: int, number: int) -> Entry | None:
    """Return one entry, of any run, or None where the project has no such one."""
    row = transaction.one(
        f"SELECT {COLUMNS} FROM {SOURCE} WHERE c.project_id = :project AND c.id = :id",
        {"project": project_id, "id": number},
    )
    return None if row is None else entry_of(row)


LISTING = Listing(
    kind=Kind.ENTRY,
    table="context c",
    columns=COLUMNS,
    source=SOURCE,
    make=_make,
    filters=(
        filters.types("c.type", Kind.ENTRY, "entry", "discovery", type_number),
        filters.compared("task_id", "c.task_id = {}", scope="task_id"),
        filters.compared("loop_id", "c.loop_id = {}", scope="loop_id"),
        filters.file("c.file"),
        filters.author("c.agent_id"),
        filters.liveness("c.superseded_by"),
    ),
    in_run=True,
    begin=_begin,
)
