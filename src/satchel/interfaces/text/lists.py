"""The renderer of every list: a head line, headings, and a line for each item, with shared fields written once.

The head gives the count, the order, the year of all times without one, and after ``each`` the fields that most items
share. Where that is shorter, items are grouped under headings that end with ``:`` and name one field, and whatever else
most items of the group share. An item's own line holds only what differs, then the day and the time, UTC. A line
without a day has that of the line above; the first line of a group always has one. A later time on the same line has a
day only if it is another. Texts follow on lines of their own that begin with a space, and notes come last. So no stored
text can pass for a head, a heading or an item.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from satchel.base.clock import DAY_MS, moment_text, year_of
from satchel.base.invisible import revealed
from satchel.base.paging import KeptPage
from satchel.base.records import NamedTuple, dataclass
from satchel.base.tokens import estimate
from satchel.base.vocabulary import LAYERS
from satchel.interfaces.text.parts import (
    content_lines,
    json_line,
    place_in_list,
    quoted,
    shared_value,
    shown_of,
    times_text,
    total_text,
    value_text,
    width_of,
)
from satchel.store.transaction import grouped

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from satchel.base.paging import Page
    from satchel.interfaces.operations.declaration import Table

_ORDERS = {
    "newest": "newest first",
    "oldest": "oldest first",
    "priority": "most urgent first",
    "relevance": "best first",
    "most helpful": "most helpful first",
    "seq": "in order of change",
}

When = Callable[[int], str]

NO_LAYER = "layer:-"
NO_AGENT = "by -"

# Explains in the head of a list what the names behind one ``#`` are.
TAGS_TOLD = " (#tags)"

# Tokens of a day on a line, such as `` 11-20``.
_DAY_COST = 4

# Orders that a reader can restore from the fields of the items, however they are grouped.
_SORTED = frozenset({"newest", "oldest", "priority"})


@dataclass(frozen=True, slots=True)
class Line:
    """One item of a list.

    Attributes:
        start: the short id, and whatever else names the item.
        cells: fields that many items may share, the same in every line; None for a missing one.
        own: fields of this line alone, before the time.
        moment: the time of the item, in milliseconds UTC.
        after: fields after the time; a label with a time is rendered as the item's time is.
        below: the lines below, each with a leading space.
    """

    start: str
    cells: tuple[str | None, ...]
    own: tuple[str, ...]
    moment: int
    after: tuple[str | tuple[str, int], ...] = ()
    below: tuple[str, ...] = ()


def head_text(noun: str, page: Any, count: int, year: str = "", more: str = "", order: str = "") -> str:
    head = [f"{shown_of(count, page.total, noun)}{more}"]
    if count:
        order = order or (_ORDERS[page.order] if isinstance(page, KeptPage) else "")
        head += [part for part in (order, times_text(year) if year else "") if part]
    return ", ".join([*head, *place_in_list(page)])


def list_text(
    noun: str, page: Any, lines: Sequence[Line], blanks: Sequence[str | None], more: str = "", order: str = ""
) -> str:
    year = year_of(lines[0].moment) if lines else ""
    first = head_text(noun, page, len(page), year, more, order)
    rest: list[str] = []
    if lines:
        regroup = isinstance(page, KeptPage) and page.order in _SORTED
        columns = (None, *range(len(blanks)))
        plan = min((_planned(lines, blanks, column, regroup) for column in columns), key=lambda plan: plan.cost)
        stated = [text for text in plan.usual if text is not None]
        first += f"; each {' '.join(stated)} unless noted" if stated else ""
        for group in plan.groups:
            rest += [f"{group.heading}:"] if group.heading else []
            rest += _item_lines(group, blanks, year)
    return "\n".join([first, *rest, *note_lines(getattr(page, "notes", ()))])


def single_lines(line: Line, when: When) -> list[str]:
    """Return an item outside of a list, with all its fields."""
    cells = (cell for cell in line.cells if cell is not None)
    return [" ".join([line.start, *cells, *line.own, when(line.moment), *_after(line, when)]), *line.below]


def utc(year: str) -> When:
    """Return what renders a time as agents read it: UTC, without the given year."""
    return lambda moment: moment_text(moment, year)


def in_sentence(now: int) -> When:
    """Return what renders a time inside a sentence for agents: UTC, without the year of the given time."""
    return lambda moment: f"{moment_text(moment, year_of(now))} UTC"


def _after(line: Line, when: When) -> list[str]:
    fields = []
    for one in line.after:
        if isinstance(one, str):
            fields.append(one)
        else:
            label, moment = one
            fields.append(f"{label} {when(moment).removeprefix(f'{when(line.moment).split()[0]} ')}")
    return fields


def note_lines(notes: Sequence[str]) -> list[str]:
    """Return notes as lines, each after its mark."""
    return [line for note in notes for line in content_lines(note, "note:")]


def layer_cell(layer: str | None) -> str | None:
    """Return a layer as a cell; a custom one is marked as a layer."""
    return layer if layer is None or layer in LAYERS else f"layer:{value_text(layer)}"


def agent_cell(agent: str | None) -> str | None:
    return None if agent is None else f"by {value_text(agent)}"


def metadata_text(metadata: Mapping[str, object]) -> tuple[str, ...]:
    """Return metadata as parts of a line: what ends the item after ``until:``, the rest as JSON after ``metadata:``."""
    others = {name: value for name, value in metadata.items() if name != "until"}
    until = (f"until:{quoted(str(metadata['until']))}",) if len(others) < len(metadata) else ()
    return (*until, f"metadata:{json_line(others)}") if others else until


def names_text(mark: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return names after one mark, as in ``#api security``; an ambiguous name is quoted."""
    return (mark + " ".join(map(_name, names)),) if names else ()


def _name(name: str) -> str:
    # what begins like a time, or looks like another field, would end the list of names
    return quoted(name) if name[0].isdecimal() or name[0] == "#" or ":" in name else value_text(name)


_Cells = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class _Group:
    heading: str
    usual: _Cells
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class _Plan:
    usual: _Cells
    groups: Sequence[_Group]
    cost: int


def _planned(lines: Sequence[Line], blanks: Sequence[str | None], column: int | None, regroup: bool) -> _Plan:
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
    heading = [value or blanks[column]]
    expected: _Cells = (*usual[:column], value, *usual[column + 1 :])
    for place, shared in enumerate(_shared(lines)):
        if place != column and shared is not None and shared != expected[place]:
            other = (*expected[:place], shared, *expected[place + 1 :])
            if _cost(shared) + _noted_cost(lines, other, blanks) < _noted_cost(lines, expected, blanks):
                heading.append(shared)
                expected = other
    return _Group(" ".join(text for text in heading if text is not None), expected, lines)


def _split(lines: Sequence[Line], column: int, regroup: bool) -> Iterable[tuple[str | None, Sequence[Line]]]:
    if not regroup:
        return [(value, list(members)) for value, members in groupby(lines, lambda line: line.cells[column])]
    return grouped((line.cells[column], line) for line in lines).items()


def _shared(lines: Sequence[Line]) -> _Cells:
    return tuple(shared_value(column) for column in zip(*(line.cells for line in lines), strict=True))


def _noted(line: Line, usual: _Cells, blanks: Sequence[str | None]) -> list[str | None]:
    return [cell or blank for cell, same, blank in zip(line.cells, usual, blanks, strict=True) if cell != same]


def _noted_cost(lines: Sequence[Line], usual: _Cells, blanks: Sequence[str | None]) -> int:
    return sum(_cost(text) for line in lines for text in _noted(line, usual, blanks))


def _item_lines(group: _Group, blanks: Sequence[str | None], year: str) -> list[str]:
    written = []
    day, when = "", utc(year)
    for line in group.lines:
        above, (day, time) = day, when(line.moment).split()
        moment = (time,) if day == above else (day, time)
        parts = (line.start, *_noted(line, group.usual, blanks), *line.own, *moment, *_after(line, when))
        written += [" ".join(part for part in parts if part is not None), *line.below]
    return written


@lru_cache(maxsize=4_096)
def _cost(text: str | None) -> int:
    return 0 if text is None else estimate(f" {text}")


_PIPED_WIDTH = 160
_GAP = 3
# Rows that are drawn; of more, which nobody reads on a terminal, each is a line, for a pager or a pipe.
_MAX_DRAWN = 1_000

# A column no wider than this is never broken: ids, states, times.
_MAX_UNBROKEN = 16

COLOURS = {
    "critical": "bold red",
    "high": "red",
    "active": "green",
    "deprecated": "yellow",
    "draft": "cyan",
    "inactive": "yellow",
    "low": "dim",
    "gone": "dim",
}


def show_table(
    headings: Sequence[str], rows: Sequence[Sequence[object]], *, usual: Mapping[str, str] | None = None
) -> None:
    """Draw a table on stdout, or where the terminal is too narrow for it one block for each row.

    A column that says nothing is left out: it is empty, or throughout the usual.
    """
    texts = [["" if cell is None else revealed(str(cell)) for cell in row] for row in rows]
    silent = {heading: {"", word} for heading, word in (usual or {}).items()}
    columns = [
        _Column(place, heading, max(width_of(line) for cell in (heading, *cells) for line in cell.split("\n")))
        for place, heading in enumerate(headings)
        if not silent.get(heading, {""}).issuperset(cells := [row[place] for row in texts])
    ]
    gaps = _GAP * (len(columns) - 1)
    is_piped = not sys.stdout.isatty() and sys.stdout.encoding.lower() == "utf-8"
    is_wide = sum(column.widest for column in columns) + gaps > _PIPED_WIDTH
    # rich, which takes long to load, would draw the same
    is_plain = is_piped and not is_wide and not any("\n" in cell for row in texts for cell in row)
    if is_plain or len(texts) > _MAX_DRAWN:
        _print_plain(columns, texts)
        return
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False)
    least = sum(min(column.widest, _MAX_UNBROKEN) for column in columns) + gaps
    console.print(_table(columns, texts) if least <= console.width else _blocks(columns, texts))


def show_list(page: Page[Any], what: str, table: Table) -> None:
    """Print a page of a list: its items as a table, and to stderr how much of the list that is."""
    import click

    if len(page):
        columns = [column.partition("=") for column in table.columns.split(", ")]
        makers = [table.cells.get(heading) or partial(_cell_of, field or heading) for heading, _, field in columns]
        rows = [[make(one) for make in makers] for one in page]
        show_table([heading for heading, _, _ in columns], rows, usual=table.usual)
    click.echo(rest_text(len(page), page.total, table.noun or what, page.next_offset), err=True)


def show_lines(page: Any, what: str, lines: Sequence[Line]) -> None:
    """Print a page of items with their texts."""
    import click

    click.echo(rest_text(len(lines), page.total, what, page.next_offset))
    for line in lines:
        head, *below = single_lines(line, local_time)
        click.echo("\n".join([click.style(head, dim=True), *below]))


def _cell_of(field: str, item: object) -> object:
    value = getattr(item, field)
    if isinstance(value, tuple):
        return ", ".join(value)
    return local_time(value) if isinstance(value, int) and field.endswith(("_at", "last_seen")) else value


class _Column(NamedTuple):
    place: int
    heading: str
    widest: int


def _table(columns: Sequence[_Column], rows: Sequence[Sequence[str]]) -> RenderableType:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column.heading, overflow="fold", no_wrap=column.widest <= _MAX_UNBROKEN)
    for row in rows:
        table.add_row(*(_cell(row[column.place]) for column in columns))
    return table


def _print_plain(columns: Sequence[_Column], rows: Sequence[Sequence[str]]) -> None:
    import click

    lines = [[" ".join(row[column.place].split("\n")) for column in columns] for row in rows]
    lines.insert(0, [column.heading for column in columns])
    widths = [max(map(width_of, cells)) for cells in zip(*lines, strict=True)]
    drawn = [
        (" " * _GAP)
        .join(cell + " " * (width - width_of(cell)) for cell, width in zip(line, widths, strict=True))
        .rstrip()
        for line in lines
    ]
    drawn.insert(1, "─" * (sum(widths) + _GAP * (len(widths) - 1)))
    click.echo("\n".join(drawn))


def _blocks(columns: Sequence[_Column], rows: Sequence[Sequence[str]]) -> RenderableType:
    from rich.table import Table

    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        for column in columns:
            if row[column.place]:
                grid.add_row(column.heading, _cell(row[column.place]))
        grid.add_row()
    return grid


def _cell(text: str) -> Text:
    from rich.text import Text

    return Text(text, style=COLOURS.get(text, ""))


def local_time(milliseconds: int) -> str:
    """Render a time for people, in the zone of their machine, as in ``2026-11-21 22:24``."""
    return f"{datetime.fromtimestamp(milliseconds / 1_000).astimezone():%Y-%m-%d %H:%M}"


def rest_text(count: int, total: int, what: str, next_offset: int | None) -> str:
    """Count the items of a page, with the option that shows more."""
    rest = f"; --offset {next_offset} shows more" if next_offset is not None else ""
    return f"{count} of {total_text(count, total)} {what}{rest}"
