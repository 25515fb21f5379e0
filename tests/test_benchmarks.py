"""The benchmarks: one small family runs and prints its table; a wrong call is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_quick_family_prints_a_table_and_writes_the_same_figures_as_json(tmp_path: Path) -> None:
    done = bench("--quick", "--only", "durable-write", "--json", str(tmp_path / "figures.json"))
    assert (done.returncode, done.stderr) == (0, "")
    (family,) = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))["families"]
    rows = [line for line in done.stdout.splitlines() if line.startswith("| write")]
    assert len(rows) == len(family["figures"]) == 2
    for row, figure in zip(rows, family["figures"], strict=True):
        assert f" {figure['ratio']:.2f}x " in row


def test_the_families_are_listed_by_name() -> None:
    done = bench("--list")
    assert done.returncode == 0
    assert "durable-write   one durable write beside bare apsw\n" in done.stdout


def test_a_report_of_only_some_families_is_not_written(tmp_path: Path) -> None:
    done = bench("--only", "sizes", "--write", str(tmp_path / "report.md"))
    assert done.returncode == 2
    assert "leave out --only" in done.stderr
    assert not (tmp_path / "report.md").exists()
