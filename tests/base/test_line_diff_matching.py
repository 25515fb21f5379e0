"""Matching lines: pairs of equal lines in rising order, as many as the shortest edit leaves, in bounded time."""

from __future__ import annotations

import random
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.base import line_diff
from satchel.base.line_diff import matching_lines
from tables import in_one_test

LINES = st.lists(st.sampled_from("abcd"), max_size=14)


def longest_common(old: list[str], new: list[str]) -> int:
    row = [0] * (len(new) + 1)
    for line in old:
        diagonal = 0
        for at, other in enumerate(new, 1):
            diagonal, row[at] = row[at], diagonal + 1 if line == other else max(row[at], row[at - 1])
    return row[-1]


@given(LINES, LINES)
def test_pairs_are_equal_lines_and_never_cross(old: list[str], new: list[str]) -> None:
    pairs = matching_lines(old, new)
    assert all(old[at] == new[new_at] for at, new_at in pairs)
    assert all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(pairs))


@given(st.lists(st.sampled_from("ab"), max_size=14), st.lists(st.sampled_from("ab"), max_size=14))
def test_without_anchors_nothing_that_could_stay_is_lost(old: list[str], new: list[str]) -> None:
    # every line three times over, so that none occurs once
    assert len(matching_lines(old * 3, new * 3)) == longest_common(old * 3, new * 3)


@in_one_test(
    ("old", "new", "expected"),
    [
        ("", "", []),
        ("", "ab", []),
        ("abc", "abc", [(0, 0), (1, 1), (2, 2)]),
        ("abc", "axc", [(0, 0), (2, 2)]),
        ("a}b}", "a}x}b}", [(0, 0), (1, 1), (2, 4), (3, 5)]),
    ],
)
def test_lines_are_paired_where_a_reader_would(old: str, new: str, expected: list[tuple[int, int]]) -> None:
    assert matching_lines(old, new) == expected


def test_a_few_changes_among_repeating_lines_stay_few() -> None:
    old = ["{", "{", "{", "x"] * 500
    new = old.copy()
    new[7] = "y"
    new.insert(900, "n")
    assert len(matching_lines(old, new)) == len(old) - 1


def test_work_is_bounded_where_nothing_matches_cheaply(monkeypatch: pytest.MonkeyPatch) -> None:
    old = [str(n % 7) for n in range(400)]
    new = [str(n * n % 11 % 7) for n in range(400)]
    assert matching_lines(old, new)
    monkeypatch.setattr(line_diff, "_MAX_WORK", 1_000)
    few = matching_lines(old, new)
    assert all(old[at] == new[new_at] for at, new_at in few)
    assert len(few) < len(old) / 10


def test_what_an_edit_remembers_takes_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = random.Random(1)
    old, new = ([str(chosen.randrange(50)) for _ in range(1_000)] for _ in range(2))
    monkeypatch.setattr(line_diff, "_MAX_WORK", 300_000)
    tracemalloc.start()
    try:
        matching_lines(old, new)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000
