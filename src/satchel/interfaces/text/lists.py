"""Lists that say once what many items share: a head line, headings, and an item on each line.

The head says how many there are, how they are ordered, the year that is meant where none is written, and after ``each``
the fields that most items share. Where that is shorter, items stand under headings that end with ``:`` and name one
field, and what else most below it share. An item's own line says only where it differs, then the day (one without a
day is of the line above it, and the first under a heading always has one) and the time of day, UTC.
Texts stand below their item, every line of them behind a space; notes come last. So no stored text can pass for a
head, a heading or an item.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby

from satchel.base.clock import DAY_MS, moment_text, year_of
from satchel.base.paging import Item, KeptPage, Page
from satchel.base.records import dataclass
from satchel.base.tokens import estimate
from satchel.base.vocabulary import LAYERS
from satchel.interfaces.text.parts import (
    content_lines,
    place_in_list,
    quoted,
    shared_value,
    shown_of,
    times_text,
    value_text,
)

_ORDERS = {
    "newest": "newest first",
    "oldest": "oldest first",
    "priority": "most urgent first",
    "relevance": "best first",
    "seq": "in order of change",
}
"""How a page's order is said."""

NO_LAYER = "layer:-"
NO_AGENT = "by -"

TAGS_TOLD = " (#tags)"
"""How the head of a list says what the names behind one ``#`` are."""

_DAY_COST = 4
"""Tokens of a day on a line, as in `` 11-20``."""

_SORTED = frozenset({"newest", "oldest", "priority"})
"""Orders that what is shown of the items gives back, however they are grouped."""


@dataclass(frozen=True, slots=True)
class Line:
    """One item of a list.

    Attributes:
        start: its short id, and what it is.
        cells: what may be said once for many, the same fields in every line; None for what it does not have.
        own: what stands on its line alone, before the time.
        moment: its time, in milliseconds UTC.
        after: what stands behind the time.
        below: lines for below it, each behind a space.
    """

    start: str
    cells: tuple[str | None, ...]
    own: tuple[str, ...]
    moment: int
    after: tuple[str, ...] = ()
    below: tuple[str, ...] = ()


def list_text(noun: str, page: Page[Item], lines: Sequence[Line], blanks: Sequence[str | None], more: str = "") -> str:
    """Put a list together.

    Args:
        noun: what an item is.
        page: the page that the lines are of.
        lines: one for each item, in the page's order.
        blanks: for each cell how its absence is said where another value was stated for all; None if none is absent.
        more: what else the head says of the items.
    """
    kept = page if isinstance(page, KeptPage) else None
    head = [f"{shown_of(len(lines), page.total, noun)}{more}"]
    year = year_of(lines[0].moment) if lines else ""
    if lines:
        head += [_ORDERS[kept.order]] if kept is not None else []
        head.append(times_text(year))
    head += place_in_list(page)
    first = ", ".join(head)
    rest: list[str] = []
    if lines:
        regroup = kept is not None and kept.order in _SORTED
        columns = (None, *range(len(blanks)))
        plan = min((_planned(lines, blanks, column, regroup) for column in columns), key=lambda plan: plan.cost)
        stated = [text for text in plan.usual if text is not None]
        first += f"; each {' '.join(stated)} unless noted" if stated else ""
        for group in plan.groups:
            rest += [f"{group.heading}:"] if group.heading else []
            rest += _item_lines(group, blanks, year)
    return "\n".join([first, *rest, *note_lines(() if kept is None else kept.notes)])


def single_lines(line: Line, year: str) -> list[str]:
    """Return an item that stands by itself: all that its line has, with the day of its time."""
    said = (cell for cell in line.cells if cell is not None)
    return [" ".join([line.start, *said, *line.own, moment_text(line.moment, year), *line.after]), *line.below]


def note_lines(notes: Sequence[str]) -> list[str]:
    """Return notes, each behind its mark."""
    return [line for note in notes for line in content_lines(note, "note:")]


def layer_cell(layer: str | None) -> str | None:
    """Return a layer as a cell; one of the project's own is marked as what it is."""
    return layer if layer is None or layer in LAYERS else f"layer:{value_text(layer)}"


def agent_cell(agent: str | None) -> str | None:
    """Return who did it as a cell."""
    return None if agent is None else f"by {value_text(agent)}"


def names_text(mark: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return names behind one mark, as in ``#api security``; one that could be misread there is quoted."""
    return (mark + " ".join(map(_name, names)),) if names else ()


def _name(name: str) -> str:
    # what begins like a time, or looks like another field, would end the list of names
    return quoted(name) if name[0].isdecimal() or name[0] == "#" or ":" in name else value_text(name)


_Cells = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class _Group:
    """Lines under one heading, and what they have unless they say otherwise."""

    heading: str
    usual: _Cells
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class _Plan:
    """One way to arrange a list: what the head says of all, the groups, and about how many tokens that costs."""

    usual: _Cells
    groups: Sequence[_Group]
    cost: int


def _planned(lines: Sequence[Line], blanks: Sequence[str | None], column: int | None, regroup: bool) -> _Plan:
    """Arrange a list under the values of one field, or of none."""
    usual = tuple(None if place == column else value for place, value in enumerate(_shared(lines)))
    groups = [_Group("", usual, lines)]
    if column is not None:
        groups = [_group(value, members, usual, blanks, column) for value, members in _split(lines, column, regroup)]
    cost = sum(_cost(text) for text in usual if text is not None)
    for group in groups:
        cost += _cost(f"{group.heading}:") if group.heading else 0
        cost += _noted_cost(group.lines, group.usual, blanks)
        cost += _DAY_COST * sum(1 for _ in groupby(line.moment // DAY_MS for line in group.lines))
    return _Plan(usual, groups, cost)


def _group(
    value: str | None, lines: Sequence[Line], usual: _Cells, blanks: Sequence[str | None], column: int
) -> _Group:
    """Return a group whose heading says its field, and whatever else most of its lines share where that is shorter."""
    said = [value or blanks[column]]
    expected: _Cells = (*usual[:column], value, *usual[column + 1 :])
    for place, shared in enumerate(_shared(lines)):
        if place != column and shared is not None and shared != expected[place]:
            other = (*expected[:place], shared, *expected[place + 1 :])
            if _cost(shared) + _noted_cost(lines, other, blanks) < _noted_cost(lines, expected, blanks):
                said.append(shared)
                expected = other
    return _Group(" ".join(text for text in said if text is not None), expected, lines)


def _split(lines: Sequence[Line], column: int, regroup: bool) -> Iterable[tuple[str | None, Sequence[Line]]]:
    """Return the lines with each value of a field; where their order must stay a value can come more than once."""
    if not regroup:
        return [(value, list(members)) for value, members in groupby(lines, lambda line: line.cells[column])]
    groups: dict[str | None, list[Line]] = {}
    for line in lines:
        groups.setdefault(line.cells[column], []).append(line)
    return groups.items()


def _shared(lines: Sequence[Line]) -> _Cells:
    return tuple(shared_value(column) for column in zip(*(line.cells for line in lines), strict=True))


def _noted(line: Line, usual: _Cells, blanks: Sequence[str | None]) -> list[str | None]:
    return [cell or blank for cell, same, blank in zip(line.cells, usual, blanks, strict=True) if cell != same]


def _noted_cost(lines: Sequence[Line], usual: _Cells, blanks: Sequence[str | None]) -> int:
    return sum(_cost(text) for line in lines for text in _noted(line, usual, blanks))


def _item_lines(group: _Group, blanks: Sequence[str | None], year: str) -> list[str]:
    written = []
    day = ""
    for line in group.lines:
        above, (day, time) = day, moment_text(line.moment, year).split()
        when = (day if day != above else None, time)
        parts = (line.start, *_noted(line, group.usual, blanks), *line.own, *when, *line.after)
        written += [" ".join(part for part in parts if part is not None), *line.below]
    return written


@lru_cache(maxsize=4_096)
def _cost(text: str | None) -> int:
    return 0 if text is None else estimate(f" {text}")
