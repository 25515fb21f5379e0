"""What stands on the screen: sections cut to its size, or one text over all of it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from satchel.base.invisible import revealed
from satchel.base.records import NamedTuple
from satchel.interfaces.cli.top.rows import Row, Section

WIDE = 120
"""From so many columns on, the sections stand in two columns."""

_BETWEEN = " │ "


class Selected(NamedTuple):
    """The section that was chosen, and the place of the chosen row in it."""

    section: int
    row: int


def drawn(sections: Sequence[Section], selected: Selected, width: int, height: int) -> list[Text]:
    """Return the lines of the sections, each of at most the width: as many as the height, or fewer."""
    if width < WIDE:
        return _stacked(sections, range(len(sections)), selected, width, height)
    half = (width - len(_BETWEEN)) // 2
    left, right = (_stacked(sections, places, selected, half, height) for places in ((0, 1), (2, 3)))
    lines = []
    for place in range(max(len(left), len(right))):
        line = left[place].copy() if place < len(left) else Text()
        line.append(" " * (half - cell_len(line.plain)))
        line.append(_BETWEEN, style="dim")
        lines.append(line.append_text(right[place]) if place < len(right) else line)
    return lines


def _stacked(
    sections: Sequence[Section], places: Sequence[int], selected: Selected, width: int, height: int
) -> list[Text]:
    wanted = [1 + max(1, len(sections[place].rows)) + (sections[place].more > 0) for place in places]
    first = places.index(selected.section) if selected.section in places else None
    given = shared_out(wanted, height, first)
    lines: list[Text] = []
    for place, room in zip(places, given, strict=True):
        row = selected.row if place == selected.section else None
        lines += section_lines(sections[place], place + 1, row, width, room)
    return lines


def shared_out(wanted: Sequence[int], room: int, first: int | None) -> list[int]:
    """Return how many lines each gets of those there are: what it wants, else a fair part, the first a double one."""
    given = [0] * len(wanted)
    turns = [*range(len(wanted)), *([] if first is None else [first])]
    while room > 0 and given != list(wanted):
        for place in turns:
            if room > 0 and given[place] < wanted[place]:
                given[place] += 1
                room -= 1
    return given


def section_lines(section: Section, number: int, selected: int | None, width: int, room: int | None) -> list[Text]:
    """Return the lines of one section.

    Args:
        number: the key that chooses it.
        selected: the place of the chosen row; None where another section is chosen.
        room: how many lines there are; None is as many as it takes.
    """
    if room == 0:
        return []
    style = "bold reverse" if selected is not None else "bold underline"
    head = Text().append(f"{number} {section.title} {section.total}", style=style)
    head.truncate(width, overflow="ellipsis")
    rows = section.rows
    if not rows:
        lines = [head, _fitted(Text().append(f"  {section.empty}", style="dim"), "", width)]
        return lines if room is None else lines[:room]
    shown = len(rows)
    if room is not None and room - 1 < shown + (section.more > 0):
        shown = max(min(room - 1, 1), room - 2)
    start = max(0, min((selected or 0) - shown // 2, len(rows) - shown))
    lines = [head, *(_row(row, start + place == selected, width) for place, row in enumerate(rows[start:][:shown]))]
    left = len(rows) - shown + section.more
    if left and (room is None or len(lines) < room):
        lines.append(_fitted(Text().append(f"  {left} more", style="dim"), "", width))
    return lines


def _row(row: Row, is_selected: bool, width: int) -> Text:
    line = _fitted(Text("> " if is_selected else "  ").append_text(row.text), row.age, width)
    if is_selected:
        line.stylize("reverse")
    return line


def _fitted(text: Text, right: str, width: int) -> Text:
    """Return a line of the width at most, its end at the right margin."""
    room = width - (len(right) + 1 if right else 0)
    if room < 12:
        room, right = width, ""
    text.truncate(max(0, room), overflow="ellipsis", pad=bool(right))
    return text.append(f" {right}", style="dim") if right else text


def wrapped(text: str, width: int) -> list[Text]:
    """Return a stored text in lines of at most the width."""
    console = Console(width=width)
    plain = [Text(revealed(line.expandtabs(4))) for line in text.split("\n")]
    return [line for one in plain for line in one.wrap(console, max(1, width), overflow="fold")]
