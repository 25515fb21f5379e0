"""The script that changes the source to see whether tests notice."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import ModuleType

import pytest

import mutants

MODULE = '''"""A cart."""
from __future__ import annotations

LIMIT = 3


def total(prices, discount=0):
    """Return the sum."""
    if prices and not discount:
        return sum(prices)
    elif len(prices) > LIMIT:
        run("SELECT 1 WHERE a < 1 AND b")
    return None
'''


def test_changes_are_made_inside_functions_and_in_sql() -> None:
    changes = [(one.line, one.old.decode(), one.new.decode()) for one in mutants.mutants_of("cart.py", MODULE)]

    assert changes == [
        (7, "0", "1"),
        (9, "prices and not discount", "(not (prices and (not discount)))"),
        (9, "prices and not discount", "(prices or not discount)"),
        (9, "not discount", "(discount)"),
        (10, "sum(prices)", "None"),
        (11, "len(prices) > LIMIT", "(len(prices) >= LIMIT)"),
        (12, 'run("SELECT 1 WHERE a < 1 AND b")', "pass"),
        (12, " < ", " <= "),
        (12, " AND ", " OR "),
    ]
    for one in mutants.mutants_of("cart.py", MODULE):
        ast.parse(one.apply(MODULE.encode()))


def test_instrumented_source_records_the_blocks_that_changes_lie_in(monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[str] = []
    recorder = ModuleType("satchel._reached")
    recorder.reach = reached.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "satchel._reached", recorder)
    names: dict[str, object] = {}

    exec(compile(mutants.instrument("cart.py", MODULE), "cart.py", "exec"), names)
    assert names["total"]([2, 3]) == 5  # type: ignore[operator]

    reached_lines = [one.line for one in mutants.mutants_of("cart.py", MODULE) if one.block in reached]
    assert reached_lines == [7, 9, 9, 9, 10, 11]


def test_the_tests_that_reach_most_of_a_module_are_tried_after_its_own() -> None:
    reached = {
        "tests/keep/test_pins.py": ["satchel/keep/pins.py:1"],
        "tests/keep/test_items.py": ["satchel/keep/items.py:1", "satchel/keep/items.py:2", "satchel/keep/pins.py:1"],
        "tests/interfaces/cli/test_pinning.py": ["satchel/keep/pins.py:1", "satchel/keep/pins.py:2"],
    }
    nearest = sorted(reached, key=lambda test: mutants._nearness(test, reached[test], "satchel/keep/pins.py"))
    assert [Path(test).name for test in nearest] == ["test_items.py", "test_pinning.py", "test_pins.py"]
