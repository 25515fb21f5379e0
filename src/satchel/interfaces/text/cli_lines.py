"""Lists of texts for people: a line that says what each is, by whom and when, and its text below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from satchel.base.vocabulary import MAIN_RUN
from satchel.find.kind import Kind
from satchel.interfaces.text.parts import content_lines, ended_text, lines_text
from satchel.interfaces.text.tables import local_time, rest_text
from satchel.keep.entries.records import STRUCTURED_TYPES
from satchel.keep.persons import shown_name

if TYPE_CHECKING:
    from satchel.find.snippets import Snippet
    from satchel.keep.entries import Entry, EntryPage
    from satchel.keep.finding import FoundPage


def show_entries(page: EntryPage) -> None:
    """Print notes."""
    run = "" if page.run_id is None else f" of run {page.run_id}"
    click.echo(rest_text(len(page.entries), page.total, f"entries{run}", page.next_offset))
    for entry in page.entries:
        at_line = "" if entry.line is None else f":{lines_text(entry.line, entry.last_line)}"
        after = [] if entry.run_id in {page.run_id, MAIN_RUN} else [f"run {entry.run_id}"]
        after += [] if entry.citation is None else entry.citation.marks
        after += [] if entry.seen is None else [entry.seen_text]
        after += [] if entry.superseded_by is None else [ended_text(Kind.ENTRY, entry.id, entry.superseded_by)]
        _show_head(entry, entry.type, f"{entry.file}{at_line}", *after)
        _show_text(_told(_content(entry)))


def _content(entry: Entry) -> object:
    if entry.type not in STRUCTURED_TYPES:
        return entry.content
    # JSON's own module takes 3 ms to load
    from satchel.interfaces.text.json import fields_of

    return fields_of(entry)["content"]


def show_found(page: FoundPage) -> None:
    """Print the results of a search, what matched marked."""
    from satchel.interfaces.text.search import USUAL_STATES, explanation_text, kind_and_type

    click.echo(rest_text(len(page.results), page.total, "results", page.next_offset))
    for result in page.results:
        state = [result.status] if result.status not in USUAL_STATES else []
        state += [] if result.citation is None else result.citation.marks
        run = [f"run {result.run_id}"] if result.run_id not in {None, MAIN_RUN} else []
        _show_head(result, " ".join(kind_and_type(result)), str(result.file), *run, *state)
        _show_text(_marked(result.snippet))
        if result.explanation is not None:
            click.echo("\n".join(f"    {line}" for line in explanation_text(result.explanation).splitlines()))


def _show_head(item: Any, what: str, place: str, *more: str) -> None:
    parts = [f"{item.ref} {what}"]
    parts += [f"by {shown_name(item.agent)}"] if item.agent is not None else []
    parts += [local_time(item.created_at)]
    parts += [place] if item.file is not None else []
    parts += [f"task {item.task_id}"] if item.task_id is not None else []
    parts += [f"loop {item.loop_id}"] if item.loop_id is not None else []
    click.echo(click.style(", ".join([*parts, *more]), dim=True))


def _show_text(text: str) -> None:
    click.echo("\n".join(f" {line}" for line in content_lines(text)))


def _told(content: object) -> str:
    """Write what a note says; of a structured one field by field."""
    if not isinstance(content, dict):
        return str(content)
    return "\n".join(f"{name}: {_listed(value)}" for name, value in content.items())


def _listed(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_listed(one)}" for name, one in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "; ".join(map(_listed, value)) if isinstance(value, list) else str(value)


def _marked(snippet: Snippet) -> str:
    text, place, pieces = snippet.text, 0, []
    for start, end in snippet.marks:
        pieces += [text[place:start], click.style(text[start:end], fg="green", bold=True)]
        place = end
    return "".join([*pieces, text[place:]])
