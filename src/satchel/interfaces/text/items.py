"""Items of any kind as text: each as its kind's list shows it, with all that it has, in the order asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from satchel.base.clock import iso, moment_text, year_of
from satchel.interfaces.text.decisions import decision_line
from satchel.interfaces.text.entries import entry_lines
from satchel.interfaces.text.errors import pattern_lines, solution_line
from satchel.interfaces.text.files import change_line
from satchel.interfaces.text.fitting import MAX_CHARS
from satchel.interfaces.text.json import fields_of
from satchel.interfaces.text.lists import note_lines, single_lines
from satchel.interfaces.text.messages import message_line
from satchel.interfaces.text.packages import content_fields, content_line, content_notes
from satchel.interfaces.text.parts import counted, json_line, times_text
from satchel.interfaces.text.rules import constraint_line
from satchel.interfaces.text.strategies import strategy_line
from satchel.keep.items import Item, OpenedItems
from satchel.keep.kind import called
from satchel.keep.moving.states import SHARED, KeptState
from satchel.keep.packages.kind import PackageContent
from satchel.keep.patterns.records import Solution

_LOOK_BACK = 200
"""A cut is made at the end of a line or word where there is one so near."""

_LINES: Mapping[str, Callable[[Any, str | None, str], list[str]]] = {
    "entry": lambda entry, _, year: entry_lines(entry, year),
    "decision": lambda decision, _, year: single_lines(decision_line(decision, year), year),
    "constraint": lambda constraint, _, year: single_lines(constraint_line(constraint, year), year),
    "message": lambda message, reader, year: single_lines(message_line(message, reader, year), year),
    "file_change": lambda change, _, year: single_lines(change_line(change), year),
    "package": lambda content, _, year: [
        *single_lines(content_line(content.package, content.text, year), year),
        *note_lines(content_notes([content])),
    ],
    "error_pattern": lambda pattern, _, year: pattern_lines(pattern, year),
    "strategy": lambda strategy, _, year: single_lines(strategy_line(strategy), year),
    "solution": lambda solution, _, year: _solution_lines(solution, year),
}
"""By the name of its kind, what writes an item for a reader, given the year that goes without saying."""


def items_text(opened: OpenedItems) -> str:
    """Render items for an agent, from its offset on; what is cut off is named in the first line with its call."""
    shown = _shown(opened)
    blocks = _blocks(opened, shown)
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
        left = json_line([item.ref for item in shown[place:]])
        head += f"; get_items({left}, offset={end - start}) continues"
    # what begins inside a line stands behind a space as the line does, so that it cannot pass for an item
    inside = " " if begin and body[begin - 1] != "\n" else ""
    shown_text = [f"{inside}{body[begin:end]}"] if blocks else []
    return "\n".join([head, *shown_text, *note_lines(opened.notes)])


def whole_text(opened: OpenedItems) -> str:
    """Render items for people, who see all of them."""
    shown = _shown(opened)
    return "\n".join([_head(shown), *_blocks(opened, shown)])


def items_fields(opened: OpenedItems) -> dict[str, object]:
    """Return items as JSON fields, each whole with its id and kind."""
    items = [
        {"id": item.ref, "kind": item.kind}
        | _fields(item)
        | ({"corrections": list(item.notes)} if item.notes else {})
        | ({"kept_states": [_kept_fields(kept) for kept in item.kept_states]} if item.kept_states else {})
        for item in opened.items
    ]
    return {"items": items} | ({"notes": list(opened.notes)} if opened.notes else {})


def _shown(opened: OpenedItems) -> list[Item]:
    """Return the items that are shown by themselves: a solution stands with its error where that is shown too."""
    refs = {item.ref for item in opened.items}
    return [one for one in opened.items if not (isinstance(one.record, Solution) and one.record.pattern in refs)]


def _blocks(opened: OpenedItems, shown: Sequence[Item]) -> list[str]:
    year = _year(shown)
    return [
        "\n".join(
            [
                *_LINES[item.kind](item.record, opened.reader, year),
                *note_lines([*item.notes, *(_kept_note(item.ref, kept, year) for kept in item.kept_states)]),
            ]
        )
        for item in shown
    ]


def _kept_note(ref: str, kept: KeptState, year: str) -> str:
    """Say that an item had another state, and how to see all of it."""
    taken = "a sync of the shared text" if kept.source == SHARED else f"an import from {kept.source}"
    whose = "its state before" if kept.is_ours else "another state that came by"
    text = json_line(called(kept.line))
    return (
        f"{whose} {taken}, {moment_text(kept.kept_at, year)}, is kept: {text}; satchel show {ref} --json has all of it"
    )


def _kept_fields(kept: KeptState) -> dict[str, object]:
    return {"source": kept.source, "is_ours": kept.is_ours, "kept_at": iso(kept.kept_at), "state": kept.line}


def contents_text(contents: Sequence[PackageContent]) -> str:
    """Render what packages hold for an agent, as ``get_items`` does, which continues what is too long."""
    items = tuple(Item(one.ref, "package", one) for one in contents if one.package is not None)
    notes = tuple(content_notes([one for one in contents if one.package is None]))
    return items_text(OpenedItems(items, None, 0, notes))


def _head(shown: Sequence[Item]) -> str:
    return f"{counted(len(shown), 'item')}, {times_text(_year(shown))}" if shown else counted(0, "item")


def _year(shown: Sequence[Item]) -> str:
    if not shown:
        return ""
    first: Any = shown[0].record
    return year_of(getattr(first, "package", first).created_at)


def _end(body: str, begin: int) -> int:
    """Return where to cut a text: behind a line if one ends near, else behind a space."""
    end = begin + MAX_CHARS
    if end >= len(body):
        return len(body)
    near = end - _LOOK_BACK
    return body.rfind("\n", near, end) + 1 or body.rfind(" ", near, end) + 1 or end


def _solution_lines(solution: Solution, year: str) -> list[str]:
    first, *text = single_lines(solution_line(solution, year), year)
    return [f"{first} for {solution.pattern}", *text]


def _fields(item: Item) -> dict[str, object]:
    # what holds a package names it by the field ref
    fields: dict[str, object] = content_fields(item.record) if item.kind == "package" else fields_of(item.record)  # type: ignore[arg-type]
    return fields
