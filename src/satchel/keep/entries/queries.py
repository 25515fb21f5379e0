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
        author, task_id, loop_id, file: only entries of this agent, task, loop or file.
        status: live, superseded or all.
    """

    types: Sequence[str] | None
    author: str | None
    task_id: str | None
    loop_id: str | None
    file: str | None
    status: str


def _make(view: View, rows: Sequence[Row]) -> tuple[Entry, ...]:
    run_id = view.fields["run_id"]
    return tuple(entry_of(row, run_id, view.scores.get(row[0])) for row in rows)


def load(transaction: Transaction, project_id: int, number: int) -> Entry | None:
    """Return one entry, of any run, or None where the project has no such one."""
    row = transaction.one(
        f"SELECT {COLUMNS}, r.run_id FROM {SOURCE} JOIN runs r ON r.id = c.run_id "
        "WHERE c.project_id = :project AND c.id = :id",
        {"project": project_id, "id": number},
    )
    return None if row is None else entry_of(row, row[-1])


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
        filters.compared("file", "c.file = {}", filters.check_path, scope="file"),
        filters.author("c.agent_id"),
        filters.liveness("c.superseded_by"),
    ),
    in_run=True,
)
