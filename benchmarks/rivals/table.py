"""Tables of cells, each row's best in bold, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """What one server did in one row.

    Attributes:
        bad: how bad that is; the least of a row is in bold. None takes no part.
    """

    text: str
    bad: float | None = None


Rows = Mapping[str, Mapping[str, Cell]]


def render(rows: Rows, titles: Mapping[str, str]) -> str:
    """Return the rows as a table with a column for each server, by name.

    Args:
        titles: what stands above the column of each.
    """
    lines = ["| | " + " | ".join(titles.values()) + " |", "|---" * (len(titles) + 1) + "|"]
    for name, cells in rows.items():
        best = _best(cells)
        texts = [_bold(cells[rival].text) if rival in best else cells[rival].text for rival in titles]
        lines.append(f"| {name} | " + " | ".join(text.replace("|", "\\|") for text in texts) + " |")
    return "\n".join(lines) + "\n"


def losses(rows: Rows, name: str) -> list[str]:
    """Return the rows in which another server is better than this one."""
    return [row for row, cells in rows.items() if _best(cells) and name not in _best(cells)]


def _best(cells: Mapping[str, Cell]) -> Sequence[str]:
    ranked = {name: cell.bad for name, cell in cells.items() if cell.bad is not None}
    least = min(ranked.values(), default=None)
    if least is None or all(bad == least for bad in ranked.values()):
        return list(ranked) if len(ranked) == 1 else []
    return [name for name, bad in ranked.items() if bad == least]


def _bold(text: str) -> str:
    return f"**{text}**"
