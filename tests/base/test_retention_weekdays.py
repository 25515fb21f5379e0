"""Time on weekdays, in zones whose clocks change on weekdays, on Sundays, at midnight and by a whole day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from satchel.base.errors import InvalidInput
from satchel.base.retention import move_on_weekdays, zone_named
from tables import in_one_test

HOUR = 3_600_000
ZONES = (
    "UTC",
    "Africa/Cairo",
    "America/Havana",
    "America/New_York",
    "America/Santiago",
    "Asia/Kathmandu",
    "Asia/Tehran",
    "Europe/Berlin",
    "Pacific/Apia",
)


def at(moment: str) -> int:
    """Return a moment that is written with its offset, in milliseconds UTC."""
    return round(datetime.fromisoformat(moment).timestamp() * 1_000)


# each pair of moments has so many hours of weekdays between them
SPANS = [
    ("a weekend is passed over", "UTC", "2026-11-20T12:00+00:00", 24, "2026-11-23T12:00+00:00"),
    ("a whole week and two days", "UTC", "2026-11-16T00:00+00:00", 168, "2026-11-25T00:00+00:00"),
    ("to the last moment of a Friday", "UTC", "2026-11-20T00:00+00:00", 24, "2026-11-21T00:00+00:00"),
    ("from the first moment of a Monday", "UTC", "2026-11-23T00:00+00:00", 5, "2026-11-23T05:00+00:00"),
    ("ten years of hours", "UTC", "2024-01-01T00:00+00:00", 87_600, "2037-12-26T00:00+00:00"),
    ("Saturday elsewhere", "America/New_York", "2026-11-21T03:00+00:00", 1, "2026-11-21T04:00+00:00"),
    ("an autumn Sunday of 25 hours", "Europe/Berlin", "2026-10-23T12:00+02:00", 24, "2026-10-26T12:00+01:00"),
    ("a spring Sunday of 23 hours", "Europe/Berlin", "2026-03-27T12:00+01:00", 24, "2026-03-30T12:00+02:00"),
    ("autumn across the ocean", "America/New_York", "2026-10-30T12:00-04:00", 24, "2026-11-02T12:00-05:00"),
    ("spring across the ocean", "America/New_York", "2026-03-06T12:00-05:00", 24, "2026-03-09T12:00-04:00"),
    ("into a Friday of 23 hours", "Africa/Cairo", "2024-04-25T12:00+02:00", 24, "2024-04-26T13:00+03:00"),
    ("over a Friday of 23 hours", "Africa/Cairo", "2024-04-25T12:00+02:00", 36, "2024-04-29T01:00+03:00"),
    ("into a Thursday of 25 hours", "Africa/Cairo", "2024-10-30T12:00+03:00", 36, "2024-10-31T23:00+02:00"),
    ("over a Thursday of 25 hours", "Africa/Cairo", "2024-10-30T12:00+03:00", 38, "2024-11-01T01:00+02:00"),
    ("a Sunday without midnight", "America/Santiago", "2024-09-06T12:00-04:00", 24, "2024-09-09T12:00-03:00"),
    ("a Sunday with two midnights", "America/Havana", "2024-11-01T12:00-04:00", 24, "2024-11-04T12:00-05:00"),
    ("a Monday without midnight", "Asia/Tehran", "2021-03-19T12:00+03:30", 24, "2021-03-22T13:00+04:30"),
    ("a Friday that never was", "Pacific/Apia", "2011-12-29T12:00-10:00", 24, "2012-01-02T12:00+14:00"),
]
_span = pytest.mark.parametrize(
    ("zone", "start", "hours", "end"), [span[1:] for span in SPANS], ids=[span[0] for span in SPANS]
)


@_span
def test_so_many_hours_of_weekdays_end_when_they_have_passed(zone: str, start: str, hours: int, end: str) -> None:
    assert move_on_weekdays(at(start), hours * HOUR, zone, 1) == at(end)


@_span
def test_so_many_hours_of_weekdays_began_when_they_had_yet_to_pass(zone: str, start: str, hours: int, end: str) -> None:
    assert move_on_weekdays(at(end), hours * HOUR, zone, -1) == at(start)


def test_what_begins_on_a_weekend_counts_from_monday() -> None:
    assert move_on_weekdays(at("2026-11-21T10:00+00:00"), 5 * HOUR, "UTC", 1) == at("2026-11-23T05:00+00:00")


def test_on_a_weekend_time_is_counted_back_from_the_end_of_friday() -> None:
    assert move_on_weekdays(at("2026-11-22T10:00+00:00"), 5 * HOUR, "UTC", -1) == at("2026-11-20T19:00+00:00")


def test_the_zone_says_what_is_a_weekend() -> None:
    friday_evening = at("2026-11-20T22:00+00:00")
    assert move_on_weekdays(friday_evening, HOUR, "UTC", 1) == at("2026-11-20T23:00+00:00")
    assert move_on_weekdays(friday_evening, HOUR, "Asia/Tokyo", 1) == at("2026-11-23T01:00+09:00")


@settings(max_examples=examples(60), deadline=None)
@given(
    zone=st.sampled_from(ZONES),
    quarters=st.integers(0, 26 * 365 * 96),
    hours=st.integers(1, 24 * 9),
)
def test_counting_the_quarters_of_an_hour_one_by_one_gives_the_same(zone: str, quarters: int, hours: int) -> None:
    local = ZoneInfo(zone)
    moment = datetime(2010, 1, 1, tzinfo=UTC) + quarters * timedelta(minutes=15)
    began = round(moment.timestamp() * 1_000)
    left = hours * 4
    while left:
        left -= moment.astimezone(local).weekday() < 5
        moment += timedelta(minutes=15)
    assert move_on_weekdays(began, hours * HOUR, zone, 1) == round(moment.timestamp() * 1_000)


@in_one_test("zone", ZONES)
def test_a_zone_that_is_known_is_returned(zone: str) -> None:
    zone_named(zone, "zone")


@in_one_test("zone", ["Mars/Base", "", "Europe", "../Berlin", "/etc/localtime", "a\0b", "\ud800", "CEST"])
def test_what_is_no_zone_is_refused_by_name_with_an_example(zone: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        zone_named(zone, "retention.zone")
    assert refused.value.problem == f"retention.zone {zone!r} is not a time zone known on this machine"
    assert "Europe/Berlin" in (refused.value.remedy or "")
