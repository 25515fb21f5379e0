"""Entries as compact text: what repeats is said once in the head, nothing is lost, nothing can be forged.

A page is a head line, then for each entry a line that begins with its short id and lines of content that begin with a
space. So no stored text can pass for a head or an entry. Fields of an entry line, each only where it differs from the
head: type, ``by`` agent, ``run:`` where the head names none and it is another than ``main``, ``task:``, ``loop:``,
``file:`` with ``:line`` or its lines, in parentheses what became of what is cited there, ``superseded-by:``, then month
and day (where they differ, before them the year where that differs) and the time, UTC. A value with a space or a quote,
and a file that ends as with a line number, is written as a JSON string; ``-`` stands for none.
"""

from __future__ import annotations

from collections.abc import Sequence

from satchel.base.clock import moment_text, year_of
from satchel.base.vocabulary import MAIN_RUN
from satchel.find.kind import Kind
from satchel.interfaces.text.lists import note_lines
from satchel.interfaces.text.parts import (
    citation_marks,
    content_lines,
    ended_text,
    place_in_list,
    place_text,
    shared_value,
    shown_of,
    times_text,
    value_text,
)
from satchel.keep.entries import Entry, EntryPage

_ORDERS = {"newest": "newest first", "oldest": "oldest first", "relevance": "best first", "seq": "in order of change"}


def page_text(page: EntryPage) -> str:
    """Render a page of entries for an agent.

    Returns:
        Text that names the run if one was chosen, the total and what comes next, then the entries; the notes come last.
    """
    lines = [_head(page)]
    if page.entries:
        common = _Common(page.entries, page.run_id)
        if common.line:
            lines.append(common.line)
        lines += [part for entry in page.entries for part in _entry_lines(entry, common)]
    return "\n".join([*lines, *note_lines(page.notes)])


def written_text(entries: Sequence[Entry]) -> str:
    """Say what was kept: ids, types, the run but for ``main``, and author, then what the writer should know."""
    first = entries[0]
    kept = ", ".join(f"{entry.ref} {entry.type}{_on(entry)}" for entry in entries)
    run = "" if first.run_id == MAIN_RUN else f" in run {value_text(first.run_id)}"
    author = f" by {value_text(first.agent)}" if first.agent else ", author unnamed"
    lines = [f"kept {kept}{run}{author}"]
    about_all = set(first.notes).intersection(*(entry.notes for entry in entries))
    for entry in entries:
        for note in entry.notes:
            line = f"note: {note}" if note in about_all else f"note: {entry.ref}: {note}"
            if line not in lines:
                lines.append(line)
    return "\n".join(lines)


def _on(entry: Entry) -> str:
    return "" if entry.file is None else f" {place_text(entry.file, entry.line, entry.last_line)}"


def kept_text(entries: Sequence[Entry]) -> str:
    """Say to an agent what was kept."""
    return "\n".join([written_text(entries), *note_lines(_notes_on(entries))])


def kept_fields(entries: Sequence[Entry]) -> dict[str, object]:
    """Return what was kept as JSON fields."""
    from satchel.interfaces.text.json import fields_of

    notes = _notes_on(entries)
    return {"entries": fields_of(list(entries))} | ({"notes": notes} if notes else {})


def _notes_on(entries: Sequence[Entry]) -> list[str]:
    is_decided = any(entry.type == "decision" for entry in entries)
    return ["an entry of type decision is a note; set_decision sets what binds the project"] if is_decided else []


class _Common:
    """What most entries of a page share."""

    def __init__(self, entries: Sequence[Entry], run_id: str | None = None) -> None:
        # of a page of one run the head names it
        self.run = run_id or shared_value([entry.run_id for entry in entries]) or MAIN_RUN
        self.type = shared_value([entry.type for entry in entries])
        self.agent = shared_value([entry.agent for entry in entries])
        self.task = shared_value([entry.task_id for entry in entries])
        self.loop = shared_value([entry.loop_id for entry in entries])
        self.file = shared_value([entry.file for entry in entries])
        self.year = year_of(entries[0].created_at)
        self.day = shared_value([moment_text(entry.created_at, self.year).split()[0] for entry in entries]) or ""
        parts = [self.type] if self.type else []
        parts += [f"by {value_text(self.agent)}"] if self.agent else []
        parts += [f"run:{value_text(self.run)}"] if self.run not in {run_id, MAIN_RUN} else []
        parts += [f"task:{value_text(self.task)}"] if self.task else []
        parts += [f"loop:{value_text(self.loop)}"] if self.loop else []
        parts += [place_text(self.file, None)] if self.file else []
        parts += [self.day] if self.day else []
        self.line = f"each {' '.join(parts)} unless noted" if parts else ""


def entry_lines(entry: Entry, year: str) -> list[str]:
    """Return an entry that stands by itself: all that it has, with its run but for ``main``."""
    alone = _Common([entry])
    alone.year = year
    return _entry_lines(entry, alone)


def _head(page: EntryPage) -> str:
    head = [shown_of(len(page.entries), page.total, "entry")]
    if page.run_id is not None:
        head[0] += f" of run {value_text(page.run_id)}"
    if page.entries:
        head += [_ORDERS[page.order], times_text(year_of(page.entries[0].created_at))]
    return ", ".join([*head, *place_in_list(page)])


def _entry_lines(entry: Entry, common: _Common) -> list[str]:
    fields = [entry.ref]
    if entry.type != common.type:
        fields.append(entry.type)
    if entry.agent != common.agent:
        fields.append(f"by {value_text(entry.agent)}")
    if entry.run_id != common.run:
        fields.append(f"run:{value_text(entry.run_id)}")
    if entry.task_id != common.task:
        fields.append(f"task:{value_text(entry.task_id)}")
    if entry.loop_id != common.loop:
        fields.append(f"loop:{value_text(entry.loop_id)}")
    if entry.file != common.file or entry.line is not None:
        fields.append(place_text(entry.file, entry.line, entry.last_line))
    if entry.citation is not None:
        fields += citation_marks(entry.citation)
    if entry.seen is not None:
        fields.append(entry.seen_text)
    if entry.superseded_by is not None:
        fields.append(ended_text(Kind.ENTRY, entry.id, entry.superseded_by))
    day, time = moment_text(entry.created_at, common.year).split()
    fields += [time] if day == common.day else [day, time]
    return [" ".join(fields), *content_lines(entry.content)]
