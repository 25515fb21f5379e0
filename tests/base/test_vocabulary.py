from __future__ import annotations

import pytest

from satchel.base.errors import InvalidInput
from satchel.base.vocabulary import priority_number
from tables import in_one_test


def test_priorities_are_numbered_from_the_least_urgent() -> None:
    assert [priority_number(name) for name in ("low", "medium", "high", "critical")] == [1, 2, 3, 4]


@in_one_test("name", ["", "High", "urgent", 3, None, ["low"]])
def test_what_is_no_priority_is_refused_with_the_valid_ones(name: object) -> None:
    with pytest.raises(InvalidInput, match=r"unknown priority .*Valid: low, medium, high, critical"):
        priority_number(name)


def test_the_nearest_priority_is_suggested() -> None:
    with pytest.raises(InvalidInput, match="Did you mean 'critical'"):
        priority_number("critcal")
