"""Gathering: looking again at 1,000 files that did not change, beside listing and stat-ing them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness import Bench, Figure, Section, interleave, timed
from satchel.consult.gathering import gather

_IGNORED = """
__pycache__/
*.py[cod]
*.so
/build/
/dist/
*.egg-info
.venv
node_modules/
*.log
*~
.#*
.DS_Store
coverage.xml
.mypy_cache
htmlcov/
docs/_build/
*.sw?
!keep.log
target/
"""


def run(bench: Bench) -> Section:
    """Make a repository and look at it again and again."""
    return Section("Gathering", tuple(gathering_figures(bench)))


def gathering_figures(bench: Bench, files: int = 1_000) -> list[Figure]:
    """Time gathering a repository with an ignore file, beside ``os.walk`` with ``os.stat``, and the barest scan.

    Args:
        bench: where and how often to measure.
        files: how many there are, a hundred to each of the folders of a package.
    """
    root = bench.folder.resolve() / "repository"
    for number in range(files):
        folder = root / "src" / f"package_{number // 100}" / f"part_{number // 20 % 5}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"module_{number}.py").write_text("x = 1\n" * 50)
    (root / ".git").mkdir()
    (root / ".gitignore").write_text(_IGNORED)
    candidates: dict[str, Callable[[int], object]] = {
        "gather": lambda _: gather(["src"], [str(root)], base=str(root)),
        "walk": lambda _: walk_and_stat(root / "src"),
        "scan": lambda _: scan_and_stat(root / "src"),
    }
    taken = interleave(candidates, bench.choose(100, 20), warm_up=2)
    what = f"gather {files:,} unchanged files"
    return [
        timed(what, taken["gather"], taken["walk"], "os.walk and os.stat", ratio_at_most=2),
        timed(what, taken["gather"], taken["scan"], "os.scandir alone"),
    ]


def walk_and_stat(folder: Path) -> list[os.stat_result]:
    """List and stat every file as any program would."""
    return [os.stat(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names]  # noqa: PTH116, PTH118 -- the baseline


def scan_and_stat(folder: Path) -> list[os.stat_result]:
    """List and stat every file with as little as Python can do it with."""
    stats: list[os.stat_result] = []
    waiting = [str(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as listing:
            for entry in listing:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    stats.append(entry.stat(follow_symlinks=False))
    return stats
