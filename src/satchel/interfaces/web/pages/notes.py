"""Notes by day, and within a day by run, loop and task; writing one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

from satchel.base.clock import iso
from satchel.base.records import NamedTuple
from satchel.base.vocabulary import ALL_RUNS
from satchel.interfaces.web.listing import LIVE, PER_PAGE, QUERY, Field, arguments, choices, list_page, offset
from satchel.interfaces.web.request import WITHDRAWN, Action, ActionResult, Notice, Page, PageRequest, View
from satchel.keep.entries.records import ENTRY_TYPES, STRUCTURED_TYPES, Entry
from satchel.keep.entries.structured import labelled

_FIELDS = (
    QUERY,
    Field("run", "Run", argument="run_id"),
    Field("loop", "Loop", argument="loop_id"),
    Field("task", "Task", argument="task_id"),
    Field("agent", "Agent", argument="author"),
    Field("type", "Type", choices(ENTRY_TYPES, "any")),
    Field("file", "File or folder/"),
    LIVE,
)


class Work(NamedTuple):
    """Notes of one day on one task or loop of a run, in order of time."""

    run: str
    loop: str | None
    task: str | None
    notes: tuple[Entry, ...]


def notes(request: PageRequest) -> Page:
    """Return the notes, the newest day first; of a search the best first."""
    filters = {"run_id": ALL_RUNS} | arguments(request, _FIELDS, type="types")
    part = request.reader.entries.read(**filters, limit=PER_PAGE, offset=offset(request))
    by_day = groupby(part, lambda one: iso(one.created_at)[:10])
    days = (
        [("", [Work("", None, None, part.items)])]
        if "query" in filters
        else [(day, _by_work(some)) for day, some in by_day]
    )
    texts = {one.id: _text(one) for one in part}
    return list_page(request, "Notes", "notes.html", "/notes", _FIELDS, part, days=days, texts=texts)


def write(request: PageRequest) -> ActionResult:
    """Write a note, unless another has the same text."""
    note = request.satchel.entries.write(
        request.values.get("type") or "discovery",
        request.values.get("text", ""),
        task_id=request.optional("task_id"),
        file=request.optional("file"),
    )
    page = request.item_page(note.ref)
    if note.seen is not None:
        return ActionResult("written-before", note.ref, page)
    return ActionResult("written", note.ref, page, WITHDRAWN)


PAGES: Mapping[str, View] = {"/notes": notes}
ACTIONS: Mapping[str, Action] = {"/notes": write}
NOTICES: Mapping[str, Notice] = {
    "written": Notice("Written", "/items/{ref}/retract"),
    "written-before": Notice("This note exists already; nothing was written"),
}


def _text(entry: Entry) -> str:
    """Return the text of a note; of a structured one each field after its label."""
    return labelled(entry.type, entry.content) if entry.type in STRUCTURED_TYPES else entry.content


def _by_work(entries: Iterable[Entry]) -> list[Work]:
    """Return the notes of a day by run, loop and task, the latest work first."""
    groups: dict[tuple[str, str | None, str | None], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.run_id, entry.loop_id, entry.task_id), []).append(entry)
    return [Work(*work, tuple(reversed(some))) for work, some in groups.items()]
