from __future__ import annotations

import time

import pytest

from satchel.base.clock import iso, moment_text, parse_time, system_clock, year_of
from satchel.base.errors import InvalidInput
from tables import in_one_test

NOW = 1_795_000_000_000


def test_the_system_clock_tells_whole_milliseconds() -> None:
    before = time.time_ns() // 1_000_000
    now = system_clock()
    assert isinstance(now, int)
    assert before <= now <= time.time_ns() // 1_000_000


@in_one_test(
    ("milliseconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_795_299_896_123, "2026-11-21T22:24:56.123Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
    ],
)
def test_a_time_is_shown_as_iso_8601_utc_with_milliseconds(milliseconds: int, text: str) -> None:
    assert iso(milliseconds) == text


@in_one_test(("year", "text"), [("2026", "11-21 22:24"), ("2025", "2026-11-21 22:24"), ("", "2026-11-21 22:24")])
def test_an_agent_reads_the_minute_and_the_year_where_it_does_not_go_without_saying(year: str, text: str) -> None:
    assert moment_text(1_795_299_896_123, year) == text
    assert year_of(1_795_299_896_123) == "2026"


@in_one_test("milliseconds", [0, 1, 999, 1_795_299_896_123])
def test_what_is_shown_is_read_back_to_the_millisecond(milliseconds: int) -> None:
    assert parse_time(iso(milliseconds), NOW) == milliseconds


@in_one_test(
    ("age", "milliseconds"),
    [("0s", 0), ("45s", 45_000), ("90m", 5_400_000), ("24h", 86_400_000), ("7d", 604_800_000), ("2w", 1_209_600_000)],
)
def test_an_age_counts_back_from_now(age: str, milliseconds: int) -> None:
    assert parse_time(f" {age} ", NOW) == NOW - milliseconds


@in_one_test(
    ("text", "milliseconds"),
    [
        ("2026-11-21", 1_795_219_200_000),
        ("2026-11-21T09:00:00", 1_795_251_600_000),
        ("2026-11-21T09:00:00Z", 1_795_251_600_000),
        ("2026-11-21T10:00:00+01:00", 1_795_251_600_000),
    ],
)
def test_a_time_without_an_offset_is_utc(text: str, milliseconds: int) -> None:
    assert parse_time(text, NOW) == milliseconds


@in_one_test("text", ["", "yesterday", "90", "1.5h", "-5m", "90M", "2026-13-01", "24:00"])
def test_what_is_no_time_is_refused_with_the_field(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"expires .* is not a time"):
        parse_time(text, NOW, "expires")
