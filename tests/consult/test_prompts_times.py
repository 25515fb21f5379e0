"""What changed: told by size and time where these can tell."""

from __future__ import annotations

from typing import Any

import pytest

from satchel.consult.planning import is_surely_held
from satchel.consult.prompts import RACY_MS, telling_time
from satchel.consult.records import FileState, Overflow, SourceFile
from tables import in_one_test

READ_AT = 1_795_000_000_000
OLD_ENOUGH = (READ_AT - RACY_MS) * 1_000_000 - 1
KNOWN = FileState("a.py", 5, OLD_ENOUGH, b"digest", 10, 1, None)
FOUND = SourceFile("a.py", "/p/a.py", "/p", 5, OLD_ENOUGH)


def test_a_file_in_the_prompt_of_the_same_size_and_time_is_held() -> None:
    assert is_surely_held(KNOWN, FOUND)


@pytest.mark.parametrize("change", [{"size": 6}, {"mtime_ns": OLD_ENOUGH - 1}])
def test_another_size_or_time_means_that_it_may_have_changed(change: dict[str, Any]) -> None:
    assert not is_surely_held(KNOWN, FOUND._replace(**change))


@in_one_test("change", [{"mtime_ns": None}, {"mtime_ns": None, "digest": None}, {"why": Overflow.LATE}])
def test_a_file_whose_time_tells_nothing_or_that_is_elsewhere_is_not_surely_held(change: dict[str, Any]) -> None:
    assert not is_surely_held(KNOWN._replace(**change), FOUND)


@in_one_test("later_ns", [1, RACY_MS * 1_000_000, 10**18])
def test_the_time_of_a_file_written_shortly_before_it_was_read_or_in_the_future_tells_nothing(later_ns: int) -> None:
    assert telling_time(OLD_ENOUGH, READ_AT) == OLD_ENOUGH
    assert telling_time(OLD_ENOUGH + later_ns, READ_AT) is None
