"""The harness: interleaved samples, medians and p95, figures beside their baselines, and tables of them."""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.status import Status

ROOT = Path(__file__).resolve().parent.parent
"""The repository's folder."""

WORKSHOP = ROOT / ".bench"
"""Where temporary and cached stores are made: on the repository's own disk, since a RAM disk syncs nothing."""

_NANOSECONDS = 1_000_000


class NotMeasuredError(Exception):
    """A family cannot be measured on this machine; the text says why."""


@dataclass(frozen=True, slots=True)
class Samples:
    """How long each of several runs of the same thing took, in milliseconds."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle value."""
        return statistics.median(self.values)

    @property
    def p95(self) -> float:
        """The value that 95 % of the samples do not exceed (nearest rank)."""
        ordered = sorted(self.values)
        return ordered[-(-len(ordered) * 95 // 100) - 1]


def interleave(candidates: Mapping[str, Callable[[int], object]], rounds: int, warm_up: int = 0) -> dict[str, Samples]:
    """Time several things in turn, so that whatever else the machine does strikes all of them alike.

    Within a round their order is drawn again: a candidate that always follows the same neighbour inherits its caches.

    Args:
        candidates: what to time, by name; each is called with the number of the round.
        rounds: how many samples of each to keep.
        warm_up: how many rounds go before, untimed.

    Returns:
        The samples of each candidate.
    """
    taken: dict[str, list[float]] = {name: [] for name in candidates}
    order = list(candidates.items())
    chance = random.Random("rounds")
    for number in range(warm_up + rounds):
        chance.shuffle(order)
        for name, run in order:
            started = time.perf_counter_ns()
            run(number)
            took = time.perf_counter_ns() - started
            if number >= warm_up:
                taken[name].append(took / _NANOSECONDS)
    return {name: Samples(tuple(values)) for name, values in taken.items()}


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure.

    Attributes:
        what: what was measured.
        value: the median of the samples, or the only value.
        unit: the unit of ``value``, ``p95`` and ``baseline``; empty for a plain number.
        p95: the 95th percentile of the samples.
        baseline: what the baseline measured in the same run.
        beside: what the baseline is.
        at_most, at_least: the target for the value.
        ratio_at_most: the target for the value divided by the baseline.
    """

    what: str
    value: float
    unit: str = ""
    p95: float | None = None
    baseline: float | None = None
    beside: str = ""
    at_most: float | None = None
    at_least: float | None = None
    ratio_at_most: float | None = None

    @property
    def ratio(self) -> float | None:
        """The value divided by the baseline; None for plain numbers, which are counts and shares."""
        return self.value / self.baseline if self.baseline and self.unit else None

    @property
    def target(self) -> str:
        """The targets in words, empty without one."""
        unit = f" {self.unit}" if self.unit else ""
        parts = []
        if self.at_most is not None:
            parts.append(f"at most {_plain(self.at_most)}{unit}")
        if self.at_least is not None:
            parts.append(f"at least {_plain(self.at_least)}{unit}")
        if self.ratio_at_most is not None:
            parts.append(f"at most {_plain(self.ratio_at_most)}x")
        return ", ".join(parts)

    @property
    def met(self) -> bool | None:
        """Whether every target is met; None without one."""
        if not self.target:
            return None
        return not (
            (self.at_most is not None and self.value > self.at_most)
            or (self.at_least is not None and self.value < self.at_least)
            or (self.ratio_at_most is not None and (self.ratio is None or self.ratio > self.ratio_at_most))
        )

    def row(self) -> tuple[str, ...]:
        """Return the cells of the figure's row, in the order of :data:`HEADINGS`."""
        baseline = "" if self.baseline is None else f"{shown(self.baseline, self.unit)} {self.beside}".rstrip()
        return (
            self.what,
            shown(self.value, self.unit),
            "" if self.p95 is None else shown(self.p95, self.unit),
            baseline,
            "" if self.ratio is None else f"{self.ratio:.2f}x",
            self.target,
            {True: "yes", False: "NO", None: ""}[self.met],
        )


HEADINGS = ("what", "median", "p95", "baseline", "ratio", "target", "met")
"""The columns of a table."""


def timed(
    what: str,
    samples: Samples,
    baseline: Samples | None = None,
    beside: str = "",
    *,
    at_most: float | None = None,
    ratio_at_most: float | None = None,
) -> Figure:
    """Make the figure of samples in milliseconds, beside the samples of a baseline."""
    return Figure(
        what,
        samples.median,
        "ms",
        p95=samples.p95,
        baseline=None if baseline is None else baseline.median,
        beside=beside,
        at_most=at_most,
        ratio_at_most=ratio_at_most,
    )


@dataclass(frozen=True, slots=True)
class Section:
    """What one family of benchmarks measured, and what a reader must know about it.

    Attributes:
        pictures: SVG texts by the names of their files, which are written beside the report.
    """

    title: str
    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = ()
    pictures: Mapping[str, str] = field(default_factory=dict)


def shown(value: float, unit: str = "") -> str:
    """Return a number with about three digits that count, and its unit."""
    size = abs(value)
    if value == round(value):
        text = f"{value:,.0f}"
    else:
        text = f"{value:,.{0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3}f}"
    return f"{text} {unit}" if unit else text


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table that reads well on a terminal and is Markdown too."""
    lines = [tuple(headings), *(tuple(cell.replace("|", "\\|") for cell in row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    drawn = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines]
    drawn.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(drawn)


def section_text(section: Section) -> str:
    """Return a section as Markdown: its title, its table and its notes."""
    parts = [f"## {section.title}"]
    if section.figures:
        parts.append(table(HEADINGS, [figure.row() for figure in section.figures]))
    parts += section.notes
    return "\n\n".join(parts) + "\n"


class Progress:
    """Says on stderr what is being done, and only where that is a terminal."""

    def __init__(self) -> None:
        self._status: Status | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console

            self._status = Console(stderr=True).status("starting")
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def say(self, text: str) -> None:
        """Replace what is shown."""
        if self._status is not None:
            self._status.update(text)


@dataclass(slots=True)
class Bench:
    """What a family is run with.

    Attributes:
        folder: a temporary folder of its own on the repository's disk, removed afterwards.
        quick: fewer samples and smaller stores.
        data: a folder of public data sets, where one was given.
    """

    folder: Path
    quick: bool = False
    data: Path | None = None
    progress: Progress = field(default_factory=Progress)

    def choose(self, full: int, quick: int) -> int:
        """Return the first number for a full run, the second for a quick one."""
        return quick if self.quick else full


def _plain(value: float) -> str:
    return f"{value:,g}" if abs(value) < 1_000 else f"{value:,.0f}"
