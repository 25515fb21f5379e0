"""The tests that the table of the source designs names are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLES = [ROOT / "docs" / name for name in ("source-designs.md", "source-designs-open.md")]


_TEST = re.compile(r"`(?P<file>tests/[\w/]+\.py)::(?P<name>test_\w+)`")


def sections() -> dict[str, list[str]]:
    """Return the rows of each table by the heading above it, without its head."""
    parts = [part for table in TABLES for part in table.read_text(encoding="utf-8").split("\n## ")[1:]]
    return {
        part.partition("\n")[0]: [line for line in part.splitlines() if line.startswith("| ")][1:] for part in parts
    }


def missing_tests(rows: list[str]) -> list[str]:
    matches = [match for row in rows for match in _TEST.finditer(row)]
    files = {name: (ROOT / name).read_text(encoding="utf-8") for name in {match["file"] for match in matches}}
    return [match[0] for match in matches if f"def {match['name']}(" not in files[match["file"]]]


def test_every_requirement_names_a_test_that_exists() -> None:
    rows = [row for name, rows in sections().items() if re.search(r"\(00\d", name) for row in rows]
    assert len(rows) > 70
    assert [row for row in rows if not _TEST.search(row)] == []
    assert missing_tests(rows) == []


def test_every_row_that_was_open_is_shown_or_differs_for_a_reason() -> None:
    rows = sections()["Rows that were open in 0.2.0"]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert len({number for number, *_ in cells}) == 52
    assert {state for _, _, state, _ in cells} == {"holds", "better", "differs"}
    evidence = [reason for _, _, state, reason in cells if state != "differs" and "make bench" not in reason]
    assert [reason for reason in evidence if not _TEST.search(reason)] == []
    assert missing_tests(rows) == []
