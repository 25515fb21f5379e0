"""The zones of a window: where each begins, and what it lets through."""

from __future__ import annotations

import math
from typing import Any

import pytest

from satchel import InvalidInput
from satchel.brief.briefing.records import ZONES, zone_of
from tables import in_one_test


@in_one_test(
    ("window_used", "name"),
    [
        (None, "normal"),
        (0, "normal"),
        (0.5999, "normal"),
        (0.60, "soft warning"),
        (0.7499, "soft warning"),
        (0.75, "conservative"),
        (0.8499, "conservative"),
        (0.85, "wrap-up"),
        (0.9499, "wrap-up"),
        (0.95, "emergency"),
        (1, "emergency"),
        (1.0, "emergency"),
    ],
)
def test_a_zone_includes_the_share_it_begins_with(window_used: float | None, name: str) -> None:
    assert zone_of(window_used).name == name


def test_the_fuller_the_window_the_less_is_shown() -> None:
    assert [(zone.name, zone.titles_only, zone.least_priority) for zone in ZONES] == [
        ("normal", False, 1),
        ("soft warning", True, 1),
        ("conservative", True, 3),
        ("wrap-up", True, 4),
        ("emergency", True, 4),
    ]


def test_every_zone_but_the_normal_one_says_something() -> None:
    assert [zone.name for zone in ZONES if not zone.advice] == ["normal"]


@in_one_test("window_used", [-0.01, 1.2, 85, math.nan, math.inf, "0.5", True, [], b"1"])
def test_what_is_no_share_is_refused_with_what_would_be_one(window_used: Any) -> None:
    with pytest.raises(InvalidInput, match=r"window_used .* is out of range.* Give 0 to 1"):
        zone_of(window_used)
