"""The tests that the table of the source designs names are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "source-designs.md"


def test_every_requirement_names_a_test_that_exists() -> None:
    rows = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if re.match(r"\| (?!requirement|-)", line)]
    named = [re.fullmatch(r"\| .+ \| `(?P<file>tests/[\w/]+\.py)::(?P<name>test_\w+)` \|", row) for row in rows]
    assert named
    missing = [
        row
        for row, match in zip(rows, named, strict=True)
        if match is None or f"def {match['name']}(" not in (ROOT / match["file"]).read_text(encoding="utf-8")
    ]
    assert missing == []
