"""Lists and tables for people, with local times; machines read ``--json``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from satchel.base.invisible import revealed
from satchel.interfaces.text.parts import total_text

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from satchel.base.paging import Page
    from satchel.interfaces.operations.declaration import Table
    from satchel.interfaces.text.lists import Line

_PIPED_WIDTH = 160
_GAP = 3
_MAX_DRAWN = 1_000
"""Rows that are drawn; of more, which nobody reads on a terminal, each is a line, for a pager or a pipe."""

_MAX_UNBROKEN = 16
"""A column no wider than this is never broken: ids, states, times."""

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
"""Styles of the words for a state."""


def show_table(
    headings: Sequence[str], rows: Sequence[Sequence[object]], *, usual: Mapping[str, str] | None = None
) -> None:
    """Draw a table on stdout, or where the terminal is too narrow for it one block for each row.

    A column that says nothing is left out: it is empty, or throughout the usual.
    """
    from rich.cells import cell_len
    from rich.console import Console

    texts = [["" if cell is None else revealed(str(cell)) for cell in row] for row in rows]
    silent = {heading: {"", word} for heading, word in (usual or {}).items()}
    columns = [
        _Column(place, heading, max(cell_len(line) for cell in (heading, *cells) for line in cell.split("\n")))
        for place, heading in enumerate(headings)
        if not silent.get(heading, {""}).issuperset(cells := [row[place] for row in texts])
    ]
    if len(texts) > _MAX_DRAWN:
        _print_plain(columns, texts)
        return
    console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False)
    least = sum(min(column.widest, _MAX_UNBROKEN) for column in columns) + _GAP * (len(columns) - 1)
    console.print(_table(columns, texts) if least <= console.width else _blocks(columns, texts))


def show_list(page: Page[Any], what: str, table: Table) -> None:
    """Print a page of a list: its items as a table, and to stderr how much of the list that is."""
    import click

    if len(page):
        rows = [[_cell_of(one, of) for of in table.columns.values()] for one in page]
        show_table(list(table.columns), rows, usual=table.usual)
    click.echo(rest_text(len(page), page.total, what, page.next_offset), err=True)


def show_lines(page: Any, what: str, lines: Sequence[Line]) -> None:
    """Print a page of items with their texts."""
    import click

    from satchel.interfaces.text.lists import single_lines

    click.echo(rest_text(len(lines), page.total, what, page.next_offset))
    for line in lines:
        head, *below = single_lines(line, local_time)
        click.echo("\n".join([click.style(head, dim=True), *below]))


def _cell_of(item: object, what: str | Callable[[Any], object]) -> object:
    if callable(what):
        return what(item)
    value = getattr(item, what)
    if isinstance(value, tuple):
        return ", ".join(value)
    return local_time(value) if isinstance(value, int) and what.endswith(("_at", "last_seen")) else value


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
    from rich.cells import cell_len

    lines = [[" ".join(row[column.place].split("\n")) for column in columns] for row in rows]
    lines.insert(0, [column.heading for column in columns])
    widths = [max(map(cell_len, cells)) for cells in zip(*lines, strict=True)]
    lines.insert(1, ["─" * width for width in widths])
    for line in lines:
        padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True))
        click.echo((" " * _GAP).join(padded).rstrip())


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
