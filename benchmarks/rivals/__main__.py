"""Install the rivals, measure them beside Satchel, and print the tables as Markdown.

python -m benchmarks.rivals [--rounds N] [--held N] [NAME...]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import machine
from benchmarks.harness import ROOT, WORKSHOP
from benchmarks.rivals.install import install
from benchmarks.rivals.servers import RIVALS, Home
from benchmarks.rivals.speed import HELD, measure
from benchmarks.rivals.table import Rows, losses, render
from benchmarks.rivals.torture import torture
from satchel import __version__

_INSTALLED = ROOT / ".rivals"
_README_ROWS = (
    "tools; tokens of their listing",
    "start to the first answer, ms",
    "a write, ms",
    "a search for 10, ms",
    "4 servers write at once: refused or not found afterwards",
    "bytes on disk for a note",
    "power cut: writes that were synced before the answer",
    "`git clean -fdx` in the project: notes found",
    "secrets in notes: in plain on disk",
)
_UNMEASURED = {
    "claude-mem 13.25.3": "npm had not installed it after 8 minutes on 2026-11-28",
}


def main() -> None:
    """Print both tables, and the smaller one of the README."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals")
    parser.add_argument("--rounds", type=int, default=7, help="how often each server's speed is measured")
    parser.add_argument("--held", type=int, default=HELD, help="notes in each store before its speed is measured")
    parser.add_argument("names", nargs="*", choices=[[], *(rival.name for rival in RIVALS)], help="only these")
    options = parser.parse_args()
    failures = install(_INSTALLED)
    rivals = [one for one in RIVALS if one.name not in failures and (not options.names or one.name in options.names)]
    WORKSHOP.mkdir(exist_ok=True)
    start, load = datetime.now(UTC), os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=WORKSHOP, ignore_cleanup_errors=True) as folder:
        homes = [Home.make(rival, _INSTALLED / rival.name, Path(folder) / rival.name) for rival in rivals]
        speed = measure(homes, options.rounds, options.held)
    disasters = torture(rivals, _INSTALLED, WORKSHOP)
    loads = f"load {load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end"
    titles = {rival.name: f"{rival.name} {rival.version or __version__}" for rival in rivals}
    facts = machine.facts()
    conditions = f"{start:%Y-%m-%d %H:%M} UTC, {facts['cores']}, {facts['disk']}, {facts['OS']}, {loads}"
    unmeasured = {**_UNMEASURED, **failures}
    sys.stdout.write(_report(speed, disasters, titles, conditions, options.rounds, unmeasured))


def _report(
    speed: Rows,
    disasters: Rows,
    titles: Mapping[str, str],
    conditions: str,
    rounds: int,
    unmeasured: Mapping[str, str],
) -> str:
    small = {name: cells for name, cells in {**speed, **disasters}.items() if name in _README_ROWS}
    parts = [
        f"Measured by `make bench-rivals` on {conditions}; medians of {rounds} rounds, each server in turn.",
        "### Speed and size",
        render(speed, titles),
        "### Disasters",
        render(disasters, titles),
        _lost_rows({**speed, **disasters}),
        "Not measured: " + "; ".join(f"{name} ({reason})" for name, reason in unmeasured.items()) + ".",
        "For the README:",
        render(small, titles),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _lost_rows(rows: Rows) -> str:
    names = losses(rows, "satchel")
    if not names:
        return "Satchel is first, or level with the first, in every row."
    return "Satchel is not first in: " + "; ".join(names) + "."


if __name__ == "__main__":
    main()
