"""Token buckets."""

from __future__ import annotations

from satchel.interfaces.http.settings import Buckets


def test_a_bucket_gives_a_minute_at_once_and_then_what_flows_in() -> None:
    now = 0.0
    buckets = Buckets(60, 10, lambda: now)
    assert [buckets.take("a") for _ in range(61)] == [0] * 60 + [1]
    now = 2.5
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 1]
    now = 1_000_000.0
    assert [buckets.take("a") for _ in range(61)] == [0] * 60 + [1]


def test_keys_have_buckets_of_their_own_and_the_longest_unused_is_forgotten() -> None:
    buckets = Buckets(1, 2, lambda: 0.0)
    assert [buckets.take(key) for key in "aab"] == [0, 60, 0]
    assert buckets.take("a") == 60
    assert buckets.take("c") == 0  # b is forgotten
    assert len(buckets) == 2
    assert [buckets.take(key) for key in "ab"] == [60, 0]
