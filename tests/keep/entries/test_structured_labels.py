"""How the fields of a structured entry are told in words."""

from __future__ import annotations

import pytest

from satchel.keep.entries.structured import state_of


@pytest.mark.parametrize(
    ("status", "told"), [("failing", "tests failing"), ("Tests pass", "Tests pass"), ("", ""), (None, "")]
)
def test_a_status_that_names_the_tests_is_not_told_so_twice(status: str | None, told: str) -> None:
    assert state_of("scratchpad", {"test_status": status}) == told
