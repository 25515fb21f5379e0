"""The notes as a timeline: by day, within it by run, loop and task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

from satchel.base.clock import iso
from satchel.base.records import NamedTuple
from satchel.base.vocabulary import ALL_RUNS, LIVENESS
from satchel.interfaces.http.room.asking import Asked, Page, View
from satchel.interfaces.http.room.views import listing
from satchel.interfaces.http.room.views.listing import QUERY, Field
from satchel.keep.entries.labels import labelled
from satchel.keep.entries.records import ENTRY_TYPES, STRUCTURED_TYPES, Entry

_FIELDS = (
    QUERY,
    Field("run", "Run", passed_as="run_id"),
    Field("loop", "Loop", passed_as="loop_id"),
    Field("task", "Task", passed_as="task_id"),
    Field("agent", "Agent", passed_as="author"),
    Field("type", "Type", listing.choices(ENTRY_TYPES, "any")),
    Field("file", "File or folder/"),
    Field("status", "State", (("", "live"), *listing.choices(LIVENESS[1:]))),
)


class Work(NamedTuple):
    """Notes of one day on one task or loop of a run, in the order of time."""

    run: str
    loop: str | None
    task: str | None
    notes: tuple[Entry, ...]


def notes(asked: Asked) -> Page:
    """Return the notes, the newest day first; of a search the best first."""
    chosen = {"run_id": ALL_RUNS} | listing.passed(_FIELDS, listing.given(asked, _FIELDS), type="types")
    part = asked.looking.entries.read(**chosen, limit=listing.PER_PAGE, offset=asked.number("offset", 0))
    by_day = groupby(part, lambda one: iso(one.created_at)[:10])
    days = (
        [("", [Work("", None, None, part.items)])] if "query" in chosen else [(day, _works(of)) for day, of in by_day]
    )
    texts = {one.id: said(one) for one in part}
    return listing.shown(asked, "Notes", "notes.html", "/notes", _FIELDS, part, days=days, texts=texts)


def said(entry: Entry) -> str:
    """Return what a note says, of a structured one each field behind its label."""
    return labelled(entry.type, entry.content) if entry.type in STRUCTURED_TYPES else entry.content


def _works(entries: Iterable[Entry]) -> list[Work]:
    """Return the notes of a day by what they are on; what was written to last comes first."""
    on: dict[tuple[str, str | None, str | None], list[Entry]] = {}
    for entry in entries:
        on.setdefault((entry.run_id, entry.loop_id, entry.task_id), []).append(entry)
    return [Work(*what, tuple(reversed(some))) for what, some in on.items()]


PAGES: Mapping[str, View] = {"/notes": notes}
