from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from examples import examples
from satchel.base.errors import InvalidInput
from satchel.base.retention import HOUR_MS, Retention

ZONES = ("UTC", "Africa/Cairo", "America/New_York", "Asia/Tehran", "Europe/Berlin", "Pacific/Apia")
FROM, TO = (round(datetime(year, 1, 1, tzinfo=UTC).timestamp() * 1_000) for year in (2010, 2037))
FRIDAY_NOON = round(datetime(2026, 10, 23, 12, tzinfo=UTC).timestamp() * 1_000)

moments = st.integers(FROM, TO)
few_hours = st.integers(1, 24 * 30)


@given(moments, st.integers(1, 87_600))
def test_hours_are_hours_where_weekends_count(moment: int, hours: int) -> None:
    retention = Retention(zone="Europe/Berlin")
    assert retention.expires_at(moment, hours) == moment + hours * 3_600_000
    assert retention.began_at(moment, hours) == moment - hours * 3_600_000


def test_weekends_of_the_zone_are_passed_over_where_that_is_wanted() -> None:
    # 72 real hours and the one that the clock was put back by
    berlin = Retention(skip_weekends=True, zone="Europe/Berlin")
    assert berlin.expires_at(FRIDAY_NOON, 24) == FRIDAY_NOON + 73 * HOUR_MS
    assert Retention(skip_weekends=True).expires_at(FRIDAY_NOON, 24) == FRIDAY_NOON + 72 * HOUR_MS


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from(ZONES), moments, few_hours)
def test_what_began_on_a_weekday_began_when_its_end_says(zone: str, moment: int, hours: int) -> None:
    from zoneinfo import ZoneInfo

    assume(datetime.fromtimestamp(moment / 1_000, ZoneInfo(zone)).weekday() < 5)
    retention = Retention(skip_weekends=True, zone=zone)
    assert retention.began_at(retention.expires_at(moment, hours), hours) == moment


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from(ZONES), moments, few_hours, st.integers(-HOUR_MS * 24 * 40, HOUR_MS * 24 * 40))
@example("UTC", FRIDAY_NOON, 12, 12 * HOUR_MS)
@example("UTC", FRIDAY_NOON, 12, 12 * HOUR_MS - 1)
@example("UTC", FRIDAY_NOON, 12, 40 * HOUR_MS)
def test_what_has_expired_by_now_is_what_is_not_younger_than_what_expires_now(
    zone: str, moment: int, hours: int, later: int
) -> None:
    retention = Retention(skip_weekends=True, zone=zone)
    now = moment + later
    assert (retention.expires_at(moment, hours) <= now) == (moment <= retention.began_at(now, hours))


def test_an_unknown_zone_is_refused_in_both_directions() -> None:
    retention = Retention(skip_weekends=True, zone="Mars/Base")
    for ask in (retention.expires_at, retention.began_at):
        with pytest.raises(InvalidInput, match=r"^zone 'Mars/Base' is not a time zone"):
            ask(FRIDAY_NOON, 24)


def test_time_zones_are_loaded_only_where_weekends_do_not_count() -> None:
    program = (
        "import sys; from satchel.base.retention import Retention; Retention().expires_at(0, 1); "
        "sys.exit(bool({'zoneinfo', 'datetime'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
