"""Items of any kind as text: each as its kind's list shows it, with all that it has, in the order asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from satchel.interfaces.briefing.errors_text import pattern_lines, solution_line
from satchel.interfaces.briefing.packages_text import content_fields, content_line, content_notes
from satchel.interfaces.briefing.strategies_text import strategy_line
from satchel.interfaces.compact import entry_lines
from satchel.interfaces.ledger.compact_lines import note_lines, single_lines
from satchel.interfaces.ledger.constraints_text import constraint_line
from satchel.interfaces.ledger.decisions_text import decision_line
from satchel.interfaces.ledger.files_text import change_line
from satchel.interfaces.ledger.messages_text import message_line
from satchel.interfaces.text_parts import json_line
from satchel.interfaces.to_json import fields_of
from satchel.keep.items import Item, OpenedItems
from satchel.keep.patterns.records import Solution

MAX_CHARS = 19_000
"""How much of their text one answer shows: with its first line, notes and a notice it stays under 20,000."""

_LOOK_BACK = 200
"""A cut is made at the end of a line or word where there is one so near."""

_LINES: Mapping[str, Callable[[Any, str | None], list[str]]] = {
    "entry": lambda entry, _: entry_lines(entry),
    "decision": lambda decision, _: single_lines(decision_line(decision, "")),
    "constraint": lambda constraint, _: single_lines(constraint_line(constraint, "")),
    "message": lambda message, reader: single_lines(message_line(message, reader, "")),
    "file_change": lambda change, _: single_lines(change_line(change)),
    "package": lambda content, _: [
        *single_lines(content_line(content.package, content.text, "")),
        *note_lines(content_notes([content])),
    ],
    "error_pattern": lambda pattern, _: pattern_lines(pattern),
    "strategy": lambda strategy, _: single_lines(strategy_line(strategy)),
    "solution": lambda solution, _: _solution_lines(solution),
}
"""By the name of its kind, what writes an item for a reader."""


def items_text(opened: OpenedItems) -> str:
    """Render items for an agent, from its offset on; what is cut off is named in the first line with its call."""
    blocks = _blocks(opened)
    body = "\n".join(blocks)
    begin = min(opened.offset, len(body))
    end = _end(body, begin)
    head = f"{_count(opened)}, times UTC"
    if begin or end < len(body):
        head += f", characters {begin:,} to {end:,} of {len(body):,}"
    if end < len(body):
        place, start = 0, 0
        while start + len(blocks[place]) < end:
            start += len(blocks[place]) + 1
            place += 1
        left = json_line([item.ref for item in opened.items[place:]])
        head += f"; get_items({left}, offset={end - start}) continues"
    # what begins inside a line stands behind a space as the line does, so that it cannot pass for an item
    inside = " " if begin and body[begin - 1] != "\n" else ""
    return "\n".join([head, f"{inside}{body[begin:end]}", *note_lines(opened.notes)])


def whole_text(opened: OpenedItems) -> str:
    """Render items for people, who see all of them."""
    return "\n".join([f"{_count(opened)}, times UTC", *_blocks(opened)])


def items_fields(opened: OpenedItems) -> dict[str, object]:
    """Return items as JSON fields, each whole with its id and kind."""
    items = [{"id": item.ref, "kind": item.kind} | _fields(item) for item in opened.items]
    return {"items": items} | ({"notes": list(opened.notes)} if opened.notes else {})


def _blocks(opened: OpenedItems) -> list[str]:
    return ["\n".join(_LINES[item.kind](item.record, opened.reader)) for item in opened.items]


def _count(opened: OpenedItems) -> str:
    return f"{len(opened.items)} item{'s' * (len(opened.items) != 1)}"


def _end(body: str, begin: int) -> int:
    """Return where to cut a text: behind a line if one ends near, else behind a space."""
    end = begin + MAX_CHARS
    if end >= len(body):
        return len(body)
    near = end - _LOOK_BACK
    return body.rfind("\n", near, end) + 1 or body.rfind(" ", near, end) + 1 or end


def _solution_lines(solution: Solution) -> list[str]:
    first, *text = single_lines(solution_line(solution, ""))
    return [f"{first} for {solution.pattern}", *text]


def _fields(item: Item) -> dict[str, object]:
    # what holds a package names it by the field ref
    fields: dict[str, object] = content_fields(item.record) if item.kind == "package" else fields_of(item.record)  # type: ignore[arg-type]
    return fields
