"""Reading bazinga databases of every schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bazinga_databases import FORMATS, BazingaDatabase, sample, stamp
from keep.importing.read import NOW, at, read_bazinga
from satchel.keep.importing.bazinga import tenths_of
from satchel.keep.importing.tables import moment_of
from tables import in_one_test


@pytest.mark.parametrize(
    ("release", "shown"), [("documented", "bazinga"), ("6", "bazinga, schema 6"), ("19", "bazinga, schema 19")]
)
def test_the_schema_is_named(tmp_path: Path, release: str, shown: str) -> None:
    assert read_bazinga(sample(tmp_path / "b.db", release, NOW)).format == shown


@pytest.mark.parametrize("release", FORMATS)
def test_every_format_is_read_without_trouble(tmp_path: Path, release: str) -> None:
    store = read_bazinga(sample(tmp_path / "b.db", release, NOW))
    learned = ["error_pattern", "strategy", "delivery"] if release != "6" else []
    sessions = [] if release == "documented" else ["run"]
    assert dict(store.counts) == dict.fromkeys([*sessions, "package", *learned], 1)
    assert store.troubles == ()


def test_a_package_comes_with_everything(tmp_path: Path) -> None:
    (package,) = read_bazinga(sample(tmp_path / "b.db", "19", NOW)).of("package")
    assert (package.run, package.task_id, package.path) == ("s1", "g1", "bazinga/artifacts/s1/1.md")
    assert (package.type, package.priority, package.summary) == ("failures", "high", "what failed in 1")
    assert (package.agent, package.consumers) == ("tech_lead", ["developer", "qa_expert"])
    assert (package.superseded_by, package.created_at) == (None, at(NOW - 60))


def test_a_package_of_an_early_schema_has_no_priority_and_no_summary(tmp_path: Path) -> None:
    store = read_bazinga(sample(tmp_path / "b.db", "6", NOW))
    assert [(one.priority, one.summary) for one in store.of("package")] == [("medium", "no summary stored for 1.md")]
    assert "packages without a summary, which are called by their files: 1" in store.notes


def test_a_package_of_the_data_model_has_no_type_and_no_producer(tmp_path: Path) -> None:
    (package,) = read_bazinga(sample(tmp_path / "b.db", "documented", NOW)).of("package")
    assert (package.type, package.agent, package.consumers) == ("research", None, [])


@pytest.mark.parametrize("group", [None, "", "global", "GLOBAL"])
def test_a_group_that_is_none_is_the_whole_session(newest: BazingaDatabase, group: str | None) -> None:
    newest.package(group_id=group)
    assert read_bazinga(newest.close()).of("package")[0].task_id is None


def test_the_scope_of_a_package_outweighs_its_group(newest: BazingaDatabase) -> None:
    newest.package(scope="global")
    assert read_bazinga(newest.close()).of("package")[0].task_id is None


def test_a_pattern_comes_with_everything(newest: BazingaDatabase) -> None:
    signature = {
        "error_type": "KeyError",
        "message_pattern": "no id",
        "context_hints": ["orm"],
        "stack_pattern": ["a.py:1", "b.py:2"],
    }
    newest.pattern(signature_json=json.dumps(signature))
    (pattern,) = read_bazinga(newest.close()).of("error_pattern")
    assert (pattern.error_type, pattern.message) == ("KeyError", "no id")
    assert pattern.example == "no id\na.py:1\nb.py:2\nhints: orm"
    assert [(one["solution"], one["confidence"]) for one in pattern.solutions] == [("start redis first", 7)]
    assert (pattern.occurrences, pattern.lang, pattern.ttl_days) == (3, "python", 30)
    assert (pattern.last_seen, pattern.created_at) == (at(NOW - 60), at(NOW - 600))


@in_one_test(
    ("confidence", "tenths"),
    [
        (0.5, 5),
        (0.0, 1),
        (0.04, 1),
        (0.1, 1),
        (0.15, 2),
        (0.25, 3),
        (0.7 - 0.2 - 0.2, 3),
        (0.64, 6),
        (0.65, 7),
        (0.949, 9),
        (0.95, 10),
        (1.0, 10),
        (1, 10),
    ],
)
def test_a_confidence_becomes_tenths_rounded_half_up_and_bounded(confidence: float, tenths: int) -> None:
    assert tenths_of(confidence) == (tenths, None)


def test_a_strategy_comes_with_everything(newest: BazingaDatabase) -> None:
    newest.strategy()
    (strategy,) = read_bazinga(newest.close()).of("strategy")
    assert (strategy.topic, strategy.insight) == ("React Native offline", "queue writes and replay them")
    assert (strategy.helped, strategy.lang, strategy.framework) == (4, "TypeScript", "react-native")
    assert (strategy.last_seen, strategy.created_at) == (at(NOW - 60), at(NOW - 600))


def test_a_delivery_comes_with_everything(newest: BazingaDatabase) -> None:
    newest.package()
    newest.delivery(iteration=2)
    store = read_bazinga(newest.close())
    (delivery,), (package,) = store.of("delivery"), store.of("package")
    assert (delivery.run, delivery.task_id, delivery.role, delivery.iteration) == ("s1", "g1", "developer", 2)
    assert delivery["items"] == [{"kind": "package", "item": package.uid, "delivered_at": at(NOW - 50)}]


def test_what_was_marked_as_consumed_is_a_delivery_too(newest: BazingaDatabase) -> None:
    newest.package()
    newest.add(
        "context_package_consumers", package_id=1, agent_type="QA_expert", consumed_at=stamp(NOW - 9), iteration=3
    )
    newest.add("context_package_consumers", package_id=1, agent_type="developer", consumed_at=None, iteration=1)
    deliveries = read_bazinga(newest.close()).of("delivery")
    assert [(one.role, one.iteration, one["items"][0]["delivered_at"]) for one in deliveries] == [
        ("qa_expert", 3, at(NOW - 9))
    ]


@in_one_test(
    "text", ["2026-11-22 09:00:00", "2026-11-22T09:00:00", "2026-11-22T09:00:00Z", "2026-11-22T10:00:00+01:00"]
)
def test_a_time_without_an_offset_is_utc(text: str) -> None:
    assert moment_of(text, "created_at") == 1_795_338_000_000


def test_sessions_that_were_active_are_said(newest: BazingaDatabase) -> None:
    newest.session(status="active", end_time=None)
    newest.session("s2", status=None)
    assert [note[-2:] for note in read_bazinga(newest.close()).notes if "active" in note] == [" 2"]


def test_items_come_the_oldest_first(newest: BazingaDatabase) -> None:
    for number, age in ((1, 10), (2, 30), (3, 20)):
        newest.package(number, created_at=stamp(NOW - age))
        newest.pattern(f"h{number}", created_at=stamp(NOW - 100 - age))
    store = read_bazinga(newest.close())
    assert [one.summary[-1] for one in store.of("package")] == ["2", "3", "1"]
    assert store.of("error_pattern")[0].created_at == at(NOW - 130)
