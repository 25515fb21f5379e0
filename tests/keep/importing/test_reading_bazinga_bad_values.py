"""Values of a bazinga database that cannot be read, or not as they are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bazinga_databases import BazingaDatabase, stamp
from keep.importing.read import NOW, at, read_bazinga, said
from satchel.keep.importing.tables import Unreadable, moment_of
from tables import in_one_test


@pytest.mark.parametrize(
    ("signature", "reason"),
    [
        ("{not json", "its signature_json is no JSON"),
        ("NaN", "its signature_json is no JSON"),
        ("[1, 2]", "its signature_json is not a JSON object"),
        ("[" * 100_000, "its signature_json is no JSON"),
        ("", "its signature_json is empty"),
        (b"\xff\xfe", "its signature_json is no readable text"),
        ("{}", "its signature_json has no error_type"),
        ('{"error_type": 4}', "its signature_json has no error_type"),
        ('{"error_type": "E", "message_pattern": " "}', "its signature_json has no message_pattern"),
    ],
)
def test_a_malformed_signature_costs_its_pattern_alone(newest: BazingaDatabase, signature: object, reason: str) -> None:
    newest.pattern("bad", signature_json=signature)
    newest.pattern("good", solution="good")
    store = read_bazinga(newest.close())
    assert [one.solutions[0]["solution"] for one in store.of("error_pattern")] == ["good"]
    assert said(store) == [("error_patterns", "pattern_hash bad", reason, True)]


@pytest.mark.parametrize("stack", [None, 5, {"a": 1}, [1, None, " "]])
def test_a_stack_that_is_none_is_left_out(newest: BazingaDatabase, stack: object) -> None:
    newest.pattern(signature_json=json.dumps({"error_type": "E", "message_pattern": "m", "stack_pattern": stack}))
    assert read_bazinga(newest.close()).of("error_pattern")[0].example == "m"


@pytest.mark.parametrize(
    ("confidence", "tenths"), [(7, 10), (float("inf"), 10), (-0.5, 1), ("high", 5), (None, 5), (b"\x00", 5)]
)
def test_a_confidence_out_of_range_is_bounded_and_reported(
    newest: BazingaDatabase, confidence: object, tenths: int
) -> None:
    newest.pattern(confidence=confidence)
    store = read_bazinga(newest.close())
    assert store.of("error_pattern")[0].solutions[0]["confidence"] == tenths
    ((_, row, reason, left_out),) = said(store)
    assert (row, reason.startswith("its confidence is "), left_out) == ("pattern_hash h1", True, False)


@pytest.mark.parametrize(
    ("column", "value", "field", "kept"),
    [
        ("ttl_days", 0, "ttl_days", 90),
        ("ttl_days", -3, "ttl_days", 90),
        ("ttl_days", "soon", "ttl_days", 90),
        ("ttl_days", None, "ttl_days", 90),
        ("ttl_days", 99_999, "ttl_days", 3_650),
        ("occurrences", 0, "occurrences", 1),
        ("occurrences", "many", "occurrences", 1),
    ],
)
def test_a_number_that_is_none_is_replaced_and_reported(
    newest: BazingaDatabase, column: str, value: Any, field: str, kept: int
) -> None:
    newest.pattern(**{column: value})
    store = read_bazinga(newest.close())
    assert getattr(store.of("error_pattern")[0], field) == kept
    assert [(row, left_out) for _, row, _, left_out in said(store)] == [("pattern_hash h1", False)]


def test_a_negative_helpfulness_is_none(newest: BazingaDatabase) -> None:
    newest.strategy(helpfulness=-2)
    store = read_bazinga(newest.close())
    assert store.of("strategy")[0].helped == 0
    assert [reason for _, _, reason, _ in said(store)] == ["its helpfulness is -2; 0 here"]


@pytest.mark.parametrize("iteration", [-1, 1.5, "first"])
def test_an_iteration_that_is_none_is_reported(newest: BazingaDatabase, iteration: object) -> None:
    newest.delivery(iteration=iteration)
    store = read_bazinga(newest.close())
    assert store.of("delivery") == ()
    assert said(store)[0][2].endswith("not a whole number from 0")


@in_one_test("value", [None, "", "5d", "yesterday", 1_795_338_000, "2026-13-01", "1812-01-01", b"\xff"])
def test_an_invalid_time_is_refused(value: str | int | bytes | None) -> None:
    with pytest.raises(Unreadable, match="not a time in ISO 8601"):
        moment_of(value, "created_at")


def test_one_readable_time_of_two_is_enough(newest: BazingaDatabase) -> None:
    newest.strategy("a", topic="a", last_seen="soon")
    newest.strategy("b", topic="b", created_at=None)
    newest.strategy("c", topic="c", created_at=None, last_seen=None)
    store = read_bazinga(newest.close())
    times = {one.topic: (one.created_at, one.last_seen) for one in store.of("strategy")}
    first, last = at(NOW - 600), at(NOW - 60)
    assert times == {"a": (first, first), "b": (last, last)}
    assert [(row, left_out) for _, row, _, left_out in said(store)] == [
        ("strategy_id a", False),
        ("strategy_id b", False),
        ("strategy_id c", True),
    ]


@pytest.mark.parametrize(
    ("column", "value"),
    [("file_path", " "), ("file_path", b"\xff"), ("session_id", ""), ("created_at", "soon"), ("group_id", b"\xff")],
)
def test_a_package_that_cannot_be_read_costs_itself_alone(newest: BazingaDatabase, column: str, value: object) -> None:
    newest.package(1, **{column: value})
    newest.package(2)
    store = read_bazinga(newest.close())
    assert [one.summary for one in store.of("package")] == ["what failed in 2"]
    assert [(table, row, left_out) for table, row, _, left_out in said(store)] == [("context_packages", "id 1", True)]


def test_a_consumer_of_no_package_is_reported(newest: BazingaDatabase) -> None:
    newest.add("context_package_consumers", package_id=9, agent_type="developer")
    assert said(read_bazinga(newest.close())) == [
        ("context_package_consumers", "package_id 9", "it belongs to no package", True)
    ]


def test_a_session_whose_status_or_end_is_none_is_taken_as_completed(newest: BazingaDatabase) -> None:
    newest.session(status="paused", end_time="soon")
    store = read_bazinga(newest.close())
    assert [(one.status, one.ended_at) for one in store.of("run")] == [("completed", None)]
    assert [left_out for *_, left_out in said(store)] == [False, False]


def test_a_session_does_not_end_before_it_began(newest: BazingaDatabase) -> None:
    newest.session(end_time=stamp(NOW - 3_600))
    assert read_bazinga(newest.close()).of("run")[0].ended_at == at(NOW - 60)
