"""Notes as text: lists for agents and people, and the confirmations of writing and pruning.

An entry's line has the id, type, ``by`` agent, a ``run:`` other than ``main``, ``task:``, ``loop:``, ``file:`` with
``:line`` or its lines, in parentheses the state of the citation, and ``superseded-by:``, ``retracted`` or ``closed``,
then the time; its content follows below. A value with a space or a quote, and a file that ends like a line number, is
written as a JSON string; ``-`` means none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.base.vocabulary import MAIN_RUN
from satchel.find.kind import Kind
from satchel.interfaces.text.lists import NO_AGENT, Line, agent_cell, list_text, note_lines, show_lines
from satchel.interfaces.text.parts import citation_marks, content_lines, ended_text, place_text, value_text
from satchel.keep.corrections.log import ending_of
from satchel.keep.entries.records import Entry, EntryPage
from satchel.store.transaction import grouped

if TYPE_CHECKING:
    from satchel.keep.entries.records import PruneResult


def entries_text(page: EntryPage) -> str:
    more = "" if page.run_id is None else f" of run {value_text(page.run_id)}"
    blanks = (None, NO_AGENT, f"run:{value_text(page.run_id or MAIN_RUN)}", "task:-", "loop:-", "file:-")
    return list_text("entry", page, [entry_line(entry, page.run_id) for entry in page.entries], blanks, more)


def show_entries(page: EntryPage) -> None:
    run = "" if page.run_id is None else f" of run {page.run_id}"
    show_lines(page, f"entries{run}", [entry_line(entry, page.run_id, readable(entry)) for entry in page.entries])


def entry_line(entry: Entry, run_id: str | None = None, content: str | None = None) -> Line:
    return Line(
        start=entry.ref,
        cells=(
            entry.type,
            agent_cell(entry.agent),
            None if entry.run_id == (run_id or MAIN_RUN) else f"run:{value_text(entry.run_id)}",
            None if entry.task_id is None else f"task:{value_text(entry.task_id)}",
            None if entry.loop_id is None else f"loop:{value_text(entry.loop_id)}",
            None if entry.file is None and entry.line is None else place_text(entry.file, entry.line, entry.last_line),
        ),
        own=(
            *(() if entry.citation is None else citation_marks(entry.citation)),
            *(() if entry.seen is None else (entry.seen_text,)),
            *(
                ()
                if entry.superseded_by is None
                else (ended_text(Kind.ENTRY, entry.id, entry.superseded_by, ending_of(entry)),)
            ),
        ),
        moment=entry.created_at,
        below=tuple(content_lines(entry.content if content is None else content)),
    )


def written_text(entries: Sequence[Entry]) -> str:
    first = entries[0]
    stored = ", ".join(f"{entry.ref} {entry.type}{_place(entry)}" for entry in entries)
    run = "" if first.run_id == MAIN_RUN else f" in run {value_text(first.run_id)}"
    author = f" by {value_text(first.agent)}" if first.agent else ", author unnamed"
    audiences = grouped((_audience(entry), entry.ref) for entry in entries)
    shown = [f"{', '.join(refs)} {where}" if len(audiences) > 1 else where for where, refs in audiences.items()]
    line = f"saved {stored}{run}{author}; {'; '.join(shown)}"
    about_all = set(first.notes).intersection(*(entry.notes for entry in entries))
    notes = (note if note in about_all else f"{entry.ref}: {note}" for entry in entries for note in entry.notes)
    return "\n".join([line, *note_lines([*dict.fromkeys(notes), *_advice(entries)])])


def written_fields(entries: Sequence[Entry]) -> dict[str, object]:
    from satchel.interfaces.text.json import fields_of

    notes = _advice(entries)
    return {"entries": fields_of(list(entries))} | ({"notes": notes} if notes else {})


def pruned_text(result: PruneResult) -> str:
    counts = ", ".join(f"{count} {name}" for name, count in result.removed) or "nothing"
    return f"{'removed' if result.done else 'would remove'} {counts} from run {result.run_id}"


def prune_question(result: PruneResult) -> str | None:
    return f"Remove {result.total} entries from run {result.run_id}?" if result.total else None


def _place(entry: Entry) -> str:
    return "" if entry.file is None else f" {place_text(entry.file, entry.line, entry.last_line)}"


def _audience(entry: Entry) -> str:
    of_work = "task" if entry.task_id else "loop" if entry.loop_id else ""
    if entry.type == "scratchpad":
        return f"shown to whoever continues this {of_work or 'work'}"
    if entry.type in {"review_issue", "review_verdict"}:
        return f"shown to whoever works on this {of_work}" if of_work else "shown in searches"
    return f"shown in briefings{' as an open bug' if entry.type == 'bug' else ''}, searches"


def _advice(entries: Sequence[Entry]) -> list[str]:
    has_decision = any(entry.type == "decision" for entry in entries)
    return ["an entry of type decision is a note; set_decision sets what binds the project"] if has_decision else []


def readable(entry: Entry) -> str:
    """Return the content of an entry, of a structured one field by field."""
    from satchel.keep.entries.records import STRUCTURED_TYPES

    if entry.type not in STRUCTURED_TYPES:
        return entry.content
    # JSON's own module takes 3 ms to load
    from satchel.interfaces.text.json import fields_of

    content = fields_of(entry)["content"]
    if not isinstance(content, dict):
        return str(content)
    return "\n".join(f"{name}: {_field_text(value)}" for name, value in content.items())


def _field_text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_field_text(one)}" for name, one in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "; ".join(map(_field_text, value)) if isinstance(value, list) else str(value)
