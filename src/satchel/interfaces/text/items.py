"""Items of any kind as text: each in full, in the order of the request."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from satchel.base.clock import iso, year_of
from satchel.base.paging import Page
from satchel.base.text import shortened
from satchel.interfaces.text.decisions import decision_line, history_text
from satchel.interfaces.text.entries import entry_line, readable
from satchel.interfaces.text.errors import pattern_lines, solution_line
from satchel.interfaces.text.files import change_line, checked_text
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.text.lists import When, local_time, note_lines, single_lines, utc
from satchel.interfaces.text.messages import message_line
from satchel.interfaces.text.packages import content_fields, content_notes, package_line
from satchel.interfaces.text.parts import MAX_CHARS, counted, json_line, quoted, times_text, value_text
from satchel.interfaces.text.rules import binding_text, constraint_line
from satchel.interfaces.text.strategies import strategy_line
from satchel.keep.binding import FileBinding
from satchel.keep.corrections.log import Confirmed, Retracted, Undone, ending_of
from satchel.keep.items import FileView, Item, OpenedItems
from satchel.keep.kind import called
from satchel.keep.moving.states import SHARED, KeptState
from satchel.keep.packages.records import PackageContent
from satchel.keep.patterns.records import Solution

if TYPE_CHECKING:
    from satchel.keep.pins import Pin


def view_lines(view: FileView, when: When, listed: Collection[str] = ()) -> list[str]:
    """Return what is known of a file, without the notes that are listed as items of their own."""
    lines = checked_text(view.checked, when).splitlines()
    for change in view.changes:
        # one that is listed keeps its place in the order
        lines += (
            [f"{change.ref}, also in this answer"] if change.ref in listed else single_lines(change_line(change), when)
        )
    if view.bound:
        lines += binding_text(
            FileBinding(view.file, Page(view.bindings, view.bound, 0, len(view.bindings)))
        ).splitlines()
    if view.drafts:
        lines.append(f"proposed, not binding yet: {', '.join(map(value_text, view.drafts))}")
    count, total = len(view.entries), view.noted
    rest = f", the newest {count}; search(file={json_line(view.file)}) lists all" if count < total else ""
    missing = [] if view.bound else ["no rule or decision binds it"]
    lines.append("; ".join([*missing, f"{counted(total, 'note') if total else 'no notes'} on it{rest}"]))
    for entry in view.entries:
        lines += [] if entry.ref in listed else single_lines(entry_line(entry, content=readable(entry)), when)
    repeats = [entry.ref for entry in view.entries if entry.ref in listed]
    return [*lines, f"also in this answer: {', '.join(repeats)}"] if repeats else lines


_LOOK_BACK = 200

_LINES: Mapping[str, Callable[[Any, str | None, When], list[str]]] = {
    "entry": lambda entry, _, when: single_lines(entry_line(entry, content=readable(entry)), when),
    "decision": lambda decision, _, when: single_lines(decision_line(decision), when),
    "constraint": lambda constraint, _, when: single_lines(constraint_line(constraint), when),
    "decision_history": lambda history, _, when: history_text(history, when).splitlines(),
    "message": lambda message, reader, when: single_lines(message_line(message, reader), when),
    "file_change": lambda change, _, when: single_lines(change_line(change), when),
    "package": lambda content, _, when: [
        *single_lines(package_line(content.package, content.text), when),
        *note_lines(content_notes([content])),
    ],
    "error_pattern": lambda pattern, _, when: pattern_lines(pattern, when),
    "strategy": lambda strategy, _, when: single_lines(strategy_line(strategy), when),
    "solution": lambda solution, _, when: _solution_lines(solution, when),
}


def items_text(opened: OpenedItems) -> str:
    """Render items for an agent, from the offset on; the first line has the call that continues a cut text."""
    items = _top_level(opened)
    blocks = _blocks(opened, items, utc(_year(items)))
    body = "\n".join(blocks)
    begin = min(opened.offset, len(body))
    end = _end(body, begin)
    head = _head(opened.items)
    if begin or end < len(body):
        head += f", characters {begin:,} to {end:,} of {len(body):,}"
    if end < len(body):
        place, start = 0, 0
        while start + len(blocks[place]) < end:
            start += len(blocks[place]) + 1
            place += 1
        rest = json_line([item.ref for item in items[place:]])
        head += f"; get_items({rest}, offset={end - start}) continues"
    # a text that begins inside a line needs the space of that line, so that it cannot pass for an item
    inside = " " if begin and body[begin - 1] != "\n" else ""
    shown_text = [f"{inside}{body[begin:end]}"] if blocks else []
    return "\n".join([head, *shown_text, *note_lines(opened.notes)])


def whole_text(opened: OpenedItems) -> str:
    return "\n".join(_blocks(opened, _top_level(opened), local_time)) or counted(0, "item")


def items_fields(opened: OpenedItems) -> dict[str, object]:
    fields = [
        {"id": item.ref, "kind": item.kind}
        | _fields(item)
        | ({"corrections": list(item.notes)} if item.notes else {})
        | ({"kept_states": [_kept_fields(state) for state in item.kept_states]} if item.kept_states else {})
        for item in opened.items
    ]
    return {"items": fields} | ({"notes": list(opened.notes)} if opened.notes else {})


def _top_level(opened: OpenedItems) -> list[Item]:
    refs = {item.ref for item in opened.items}
    return [one for one in opened.items if not (isinstance(one.record, Solution) and one.record.pattern in refs)]


def _blocks(opened: OpenedItems, items: Sequence[Item], when: When) -> list[str]:
    listed = {item.ref for item in items}
    return [
        "\n".join(
            [
                *(
                    view_lines(item.record, when, listed)
                    if isinstance(item.record, FileView)
                    else _LINES[item.kind](item.record, opened.reader, when)
                ),
                *note_lines([*item.notes, *(_kept_note(item.ref, state, when) for state in item.kept_states)]),
            ]
        )
        for item in items
    ]


def _kept_note(ref: str, state: KeptState, when: When) -> str:
    source = "a sync of the shared text" if state.source == SHARED else f"an import from {state.source}"
    whose = "its state before" if state.is_ours else "another state that came by"
    text = json_line(called(state.line))
    return f"{whose} {source}, {when(state.kept_at)}, is kept: {text}; satchel show {ref} --json has all of it"


def _kept_fields(state: KeptState) -> dict[str, object]:
    return {"source": state.source, "is_ours": state.is_ours, "kept_at": iso(state.kept_at), "state": state.line}


def contents_text(contents: Sequence[PackageContent]) -> str:
    """Render the contents of packages for an agent as items, so that ``get_items`` continues a cut text."""
    items = tuple(Item(one.ref, "package", one) for one in contents if one.package is not None)
    notes = tuple(content_notes([one for one in contents if one.package is None]))
    return items_text(OpenedItems(items, None, 0, notes))


def _head(items: Sequence[Item]) -> str:
    return f"{counted(len(items), 'item')}, {times_text(_year(items))}" if items else counted(0, "item")


def _year(items: Sequence[Item]) -> str:
    if not items:
        return ""
    first: Any = items[0].record
    return year_of(getattr(first, "package", getattr(first, "decision", first)).created_at)


def _end(body: str, begin: int) -> int:
    end = begin + MAX_CHARS
    if end >= len(body):
        return len(body)
    near = end - _LOOK_BACK
    return body.rfind("\n", near, end) + 1 or body.rfind(" ", near, end) + 1 or end


def _solution_lines(solution: Solution, when: When) -> list[str]:
    first, *text = single_lines(solution_line(solution), when)
    return [f"{first} for {solution.pattern}", *text]


def _fields(item: Item) -> dict[str, object]:
    fields: dict[str, object] = content_fields(item.record) if item.kind == "package" else fields_of(item.record)  # type: ignore[arg-type]
    return fields


# The most of a confirmed text that is repeated, because its reader has just read it.
_CONFIRMED_CHARS = 300


def retracted_text(retracted: Retracted) -> str:
    """Confirm that an item was retracted, or name who was asked to retract or change it."""
    if retracted.asked is not None and retracted.kind == "decision":
        line = f"{retracted.ref} is in force and stays: {value_text(retracted.asked_of)} is asked to change it, in "
        line += retracted.asked
    elif retracted.asked is not None:
        line = f"{retracted.ref} stays: only a person retracts it; human was asked to, in {retracted.asked}"
    elif retracted.already is not None:
        line = f"nothing changed: {retracted.ref} was {retracted.already}"
    elif retracted.kind == "message":
        line = f"withdrew {retracted.ref}: nobody had read it"
    else:
        line = f"{ending_of(retracted.record)} {retracted.ref}; lists and searches hide it unless status asks for it"
    return "\n".join([line, f" {quoted(retracted.text)}", *note_lines(retracted.notes)])


def confirmed_text(confirmed: Confirmed) -> str:
    by = f"confirmed by {', '.join(map(value_text, confirmed.by))}" if confirmed.by else "nobody confirmed it"
    is_new = confirmed.correction is not None
    return "\n".join(
        [
            f"{confirmed.ref}: {by}" if is_new else f"nothing changed: {confirmed.ref}, {by}",
            f" {quoted(shortened(confirmed.text, _CONFIRMED_CHARS))}",
            *note_lines(confirmed.notes),
        ]
    )


def reviewed_text(result: Confirmed | Retracted) -> str:
    return retracted_text(result) if isinstance(result, Retracted) else confirmed_text(result)


_STATES = {
    "draft": "a draft again, which waits for an answer",
    "deprecated": "ended again",
    "proposed": "it waits for you again",
    "unconfirmed": "it waits for you again, and until then binds only sessions of the person who stated it",
}


def undone_text(undone: Undone) -> str:
    if undone.action == "confirmed":
        line = f"{undone.ref} is no longer confirmed by you"
        line += "" if undone.status is None else f": {_STATES[undone.status]}"
    elif undone.kind == "message":
        line = f"withdrew {undone.ref}: nobody had read it"
    elif undone.action == "written":
        line = f"{undone.ref}, which you wrote, is retracted"
    elif undone.action == "set":
        line = f"{undone.ref} is what it was before you changed it"
        line += "" if undone.status in {None, "active"} else f": {_STATES[undone.status]}"
    elif undone.action == "pinned":
        line = f"{undone.ref} is no longer pinned"
    else:
        line = f"{undone.ref} holds again"
        line += "" if undone.heir is None else f"; {undone.heir}, which had replaced it, is retracted"
    return "\n".join([line, f" {quoted(undone.text)}"])


def pinned_text(pin: Pin) -> str:
    if pin.pinned_at is None:
        line = f"{pin.ref} {'was not pinned' if pin.already else 'is no longer pinned'}"
    else:
        line = f"{pin.ref} {'was pinned already' if pin.already else 'is pinned'}{_by(pin)}: every briefing has it"
    return f"{line}\n {quoted(pin.text)}"


def pins_text(pins: Page[Pin]) -> str:
    lines = [f"{one.ref} {one.kind}{_by(one)}: {quoted(one.text)}" for one in pins.items]
    return "\n".join([f"{pins.total} pinned", *lines])


def _by(pin: Pin) -> str:
    return "" if pin.by is None else f" by {value_text(pin.by)}"
