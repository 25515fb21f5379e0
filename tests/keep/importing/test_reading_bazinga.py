"""Reading bazinga databases of every schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bazinga_databases import FORMATS, BazingaDatabase, sample, stamp
from satchel import Satchel
from satchel.base.errors import Conflict, InvalidInput, NotFound, StoreDamaged, StoreForeign
from satchel.keep.importing.bazinga import read_bazinga
from satchel.keep.importing.bazinga_records import BazingaStore
from satchel.keep.importing.bazinga_tables import find_database, moment_of, tenths_of
from satchel.keep.importing.values import Unreadable
from sqlew_databases import SqlewDatabase

NOW = 1_795_000_000
SECOND = 1_000


@pytest.fixture
def made(tmp_path: Path) -> BazingaDatabase:
    """An empty database of the newest schema."""
    return BazingaDatabase(tmp_path / "b.db", "19", NOW)


def rows(store: BazingaStore) -> dict[str, int]:
    return dict(zip(store.kinds, store.rows, strict=True))


def said(store: BazingaStore) -> list[tuple[str, str, str, bool]]:
    return [(one.table, one.row, one.reason, one.left_out) for one in store.troubles]


@pytest.mark.parametrize(
    ("release", "shown"), [("documented", "bazinga"), ("6", "bazinga, schema 6"), ("19", "bazinga, schema 19")]
)
def test_the_schema_is_named(tmp_path: Path, release: str, shown: str) -> None:
    assert read_bazinga(sample(tmp_path / "b.db", release, NOW)).format == shown


@pytest.mark.parametrize("release", FORMATS)
def test_every_format_is_read_without_trouble(tmp_path: Path, release: str) -> None:
    store = read_bazinga(sample(tmp_path / "b.db", release, NOW))
    learned = int(release != "6")
    assert rows(store) == {
        "runs": 1,
        "packages": 1,
        "error_patterns": learned,
        "strategies": learned,
        "deliveries": learned,
    }
    assert store.troubles == ()


def test_a_package_comes_with_everything(tmp_path: Path) -> None:
    (package,) = read_bazinga(sample(tmp_path / "b.db", "19", NOW)).packages
    assert (package.id, package.session, package.group, package.path) == ("1", "s1", "g1", "bazinga/artifacts/s1/1.md")
    assert (package.type, package.priority, package.summary) == ("failures", "high", "what failed in 1")
    assert (package.producer, package.consumers) == ("tech_lead", ("developer", "QA_expert"))
    assert (package.supersedes, package.created_at) == (None, (NOW - 60) * SECOND)


def test_a_package_of_an_early_schema_has_no_priority_and_no_summary(tmp_path: Path) -> None:
    store = read_bazinga(sample(tmp_path / "b.db", "6", NOW))
    assert [(one.priority, one.summary) for one in store.packages] == [(None, None)]
    assert "packages without a summary, which are called by their files: 1" in store.notes


def test_a_package_of_the_data_model_has_no_type_and_no_producer(tmp_path: Path) -> None:
    (package,) = read_bazinga(sample(tmp_path / "b.db", "documented", NOW)).packages
    assert (package.type, package.producer, package.consumers) == (None, None, ())


def test_a_session_that_only_a_package_names_is_one_too(tmp_path: Path) -> None:
    store = read_bazinga(sample(tmp_path / "b.db", "documented", NOW))
    (run,) = store.runs
    assert (run.session, run.requirements, run.status, run.created_at) == ("s1", None, "completed", (NOW - 60) * SECOND)
    assert "sessions that only packages name, so that little is known of them: 1" in store.notes


@pytest.mark.parametrize("group", [None, "", "global", "GLOBAL"])
def test_a_group_that_is_none_is_the_whole_session(made: BazingaDatabase, group: str | None) -> None:
    made.package(group_id=group)
    assert read_bazinga(made.close()).packages[0].group is None


def test_the_scope_of_a_package_outweighs_its_group(made: BazingaDatabase) -> None:
    made.package(scope="global")
    assert read_bazinga(made.close()).packages[0].group is None


def test_a_pattern_comes_with_everything(made: BazingaDatabase) -> None:
    signature = {
        "error_type": "KeyError",
        "message_pattern": "no id",
        "context_hints": ["orm"],
        "stack_pattern": ["a.py:1", "b.py:2"],
    }
    made.pattern(signature_json=json.dumps(signature))
    (pattern,) = read_bazinga(made.close()).patterns
    assert (pattern.hash, pattern.error_type, pattern.message) == ("h1", "KeyError", "no id")
    assert (pattern.stack, pattern.solution, pattern.tenths) == (("a.py:1", "b.py:2"), "start redis first", 7)
    assert (pattern.occurrences, pattern.lang, pattern.ttl_days) == (3, "python", 30)
    assert (pattern.last_seen, pattern.created_at) == ((NOW - 60) * SECOND, (NOW - 600) * SECOND)


@pytest.mark.parametrize(
    ("signature", "reason"),
    [
        ("{not json", "its signature_json is no JSON"),
        ("NaN", "its signature_json is no JSON"),
        ("[1, 2]", "its signature_json is no JSON object"),
        ("[" * 100_000, "its signature_json is no JSON"),
        ("", "its signature_json is empty"),
        (b"\xff\xfe", "its signature_json is no readable text"),
        ("{}", "its signature_json has no error_type"),
        ('{"error_type": 4}', "its signature_json has no error_type"),
        ('{"error_type": "E", "message_pattern": " "}', "its signature_json has no message_pattern"),
    ],
)
def test_a_malformed_signature_costs_its_pattern_alone(made: BazingaDatabase, signature: object, reason: str) -> None:
    made.pattern("bad", signature_json=signature)
    made.pattern("good")
    store = read_bazinga(made.close())
    assert [one.hash for one in store.patterns] == ["good"]
    assert said(store) == [("error_patterns", "pattern_hash bad", reason, True)]


@pytest.mark.parametrize("stack", [None, 5, {"a": 1}, [1, None, " "]])
def test_a_stack_that_is_none_is_left_out(made: BazingaDatabase, stack: object) -> None:
    made.pattern(signature_json=json.dumps({"error_type": "E", "message_pattern": "m", "stack_pattern": stack}))
    assert read_bazinga(made.close()).patterns[0].stack == ()


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("confidence", "tenths"), [(7, 10), (float("inf"), 10), (-0.5, 1), ("high", 5), (None, 5), (b"\x00", 5)]
)
def test_a_confidence_out_of_range_is_bounded_and_reported(
    made: BazingaDatabase, confidence: object, tenths: int
) -> None:
    made.pattern(confidence=confidence)
    store = read_bazinga(made.close())
    assert store.patterns[0].tenths == tenths
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
    made: BazingaDatabase, column: str, value: Any, field: str, kept: int
) -> None:
    made.pattern(**{column: value})
    store = read_bazinga(made.close())
    assert getattr(store.patterns[0], field) == kept
    assert [(row, left_out) for _, row, _, left_out in said(store)] == [("pattern_hash h1", False)]


def test_a_strategy_comes_with_everything(made: BazingaDatabase) -> None:
    made.strategy()
    (strategy,) = read_bazinga(made.close()).strategies
    assert (strategy.id, strategy.topic, strategy.insight) == (
        "t1",
        "React Native offline",
        "queue writes and replay them",
    )
    assert (strategy.helpfulness, strategy.lang, strategy.framework) == (4, "TypeScript", "react-native")
    assert (strategy.last_seen, strategy.created_at) == ((NOW - 60) * SECOND, (NOW - 600) * SECOND)


def test_a_negative_helpfulness_is_none(made: BazingaDatabase) -> None:
    made.strategy(helpfulness=-2)
    store = read_bazinga(made.close())
    assert store.strategies[0].helpfulness == 0
    assert [reason for _, _, reason, _ in said(store)] == ["its helpfulness is -2; 0 here"]


def test_a_delivery_comes_with_everything(made: BazingaDatabase) -> None:
    made.delivery(iteration=2)
    (delivery,) = read_bazinga(made.close()).deliveries
    assert (delivery.session, delivery.group, delivery.role) == ("s1", "g1", "developer")
    assert (delivery.iteration, delivery.package, delivery.consumed_at) == (2, "1", (NOW - 50) * SECOND)


@pytest.mark.parametrize("iteration", [-1, 1.5, "first"])
def test_an_iteration_that_is_none_is_reported(made: BazingaDatabase, iteration: object) -> None:
    made.delivery(iteration=iteration)
    store = read_bazinga(made.close())
    assert store.deliveries == ()
    assert said(store)[0][2].endswith("not a whole number from 0")


@pytest.mark.parametrize(
    "text", ["2026-11-22 09:00:00", "2026-11-22T09:00:00", "2026-11-22T09:00:00Z", "2026-11-22T10:00:00+01:00"]
)
def test_a_time_without_an_offset_is_utc(text: str) -> None:
    assert moment_of(text, "created_at") == 1_795_338_000_000


@pytest.mark.parametrize("value", [None, "", "5d", "yesterday", 1_795_338_000, "2026-13-01", "1812-01-01", b"\xff"])
def test_a_time_that_is_none_is_refused(value: str | int | bytes | None) -> None:
    with pytest.raises(Unreadable, match="no time in ISO 8601"):
        moment_of(value, "created_at")


def test_one_readable_time_of_two_is_enough(made: BazingaDatabase) -> None:
    made.strategy("a", last_seen="soon")
    made.strategy("b", created_at=None)
    made.strategy("c", created_at=None, last_seen=None)
    store = read_bazinga(made.close())
    times = {one.id: (one.created_at, one.last_seen) for one in store.strategies}
    first, last = (NOW - 600) * SECOND, (NOW - 60) * SECOND
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
def test_a_package_that_cannot_be_read_costs_itself_alone(made: BazingaDatabase, column: str, value: object) -> None:
    made.package(1, **{column: value})
    made.package(2)
    store = read_bazinga(made.close())
    assert [one.id for one in store.packages] == ["2"]
    assert [(table, row, left_out) for table, row, _, left_out in said(store)] == [("context_packages", "id 1", True)]


def test_a_consumer_of_no_package_is_reported(made: BazingaDatabase) -> None:
    made.add("context_package_consumers", package_id=9, agent_type="developer")
    assert said(read_bazinga(made.close())) == [
        ("context_package_consumers", "package_id 9", "it belongs to no package", True)
    ]


def test_a_session_whose_status_or_end_is_none_is_taken_as_completed(made: BazingaDatabase) -> None:
    made.session(status="paused", end_time="soon")
    store = read_bazinga(made.close())
    assert [(one.status, one.ended_at) for one in store.runs] == [("completed", None)]
    assert [left_out for *_, left_out in said(store)] == [False, False]


def test_a_session_does_not_end_before_it_began(made: BazingaDatabase) -> None:
    made.session(end_time=stamp(NOW - 3_600))
    assert read_bazinga(made.close()).runs[0].ended_at == (NOW - 60) * SECOND


def test_sessions_that_were_active_are_said(made: BazingaDatabase) -> None:
    made.session(status="active", end_time=None)
    made.session("s2", status=None)
    assert [note[-2:] for note in read_bazinga(made.close()).notes if "active" in note] == [" 2"]


def two_projects(made: BazingaDatabase) -> Path:
    made.pattern("h1", project_id="shop")
    made.pattern("h2", project_id="blog")
    made.strategy("t1", project_id="blog")
    made.session()
    return made.close()


def test_of_several_projects_one_must_be_named(made: BazingaDatabase) -> None:
    with pytest.raises(Conflict, match="this database holds 2 projects: blog, shop") as caught:
        read_bazinga(two_projects(made))
    assert "--source-project" in str(caught.value.remedy)


def test_the_project_that_was_named_is_read_alone(made: BazingaDatabase) -> None:
    store = read_bazinga(two_projects(made), "blog")
    assert (store.project, rows(store)["error_patterns"], rows(store)["strategies"]) == ("blog", 1, 1)
    assert [one.hash for one in store.patterns] == ["h2"]
    assert store.notes == ("sessions and packages name no project there, so those of all projects came along",)


def test_an_unknown_project_is_refused_with_those_there_are(made: BazingaDatabase) -> None:
    with pytest.raises(InvalidInput, match="unknown source project 'blogg'"):
        read_bazinga(two_projects(made), "blogg")


def test_a_database_that_names_no_project_has_none_of_any_name(made: BazingaDatabase) -> None:
    made.session()
    with pytest.raises(InvalidInput, match="names no projects"):
        read_bazinga(made.close(), "shop")


def test_the_only_project_need_not_be_named(tmp_path: Path) -> None:
    assert read_bazinga(sample(tmp_path / "b.db", "19", NOW)).project == "shop"


def test_rows_of_no_project_belong_to_nobody_beside_one(made: BazingaDatabase) -> None:
    made.pattern("h1")
    made.pattern("h2", project_id=" ")
    made.strategy(project_id=None)
    store = read_bazinga(made.close())
    assert [one.hash for one in store.patterns] == ["h1"]
    assert [(table, row, reason) for table, row, reason, _ in said(store)] == [
        ("error_patterns", "pattern_hash h2", "it belongs to no project"),
        ("strategies", "strategy_id t1", "it belongs to no project"),
    ]


def test_where_no_row_names_a_project_all_are_taken(made: BazingaDatabase) -> None:
    made.pattern(project_id="")
    made.strategy(project_id=None)
    store = read_bazinga(made.close())
    assert (store.project, len(store.patterns), len(store.strategies)) == (None, 1, 1)


def test_tables_that_nothing_here_corresponds_to_are_counted(tmp_path: Path) -> None:
    assert read_bazinga(sample(tmp_path / "b.db", "19", NOW)).not_taken == (("orchestration_logs", 1),)


@pytest.mark.parametrize("inside", ["bazinga/bazinga.db", "bazinga.db"])
def test_a_folder_stands_for_the_database_in_it(tmp_path: Path, inside: str) -> None:
    file = sample(tmp_path / inside, "19", NOW)
    assert find_database(tmp_path) == file


def test_a_folder_without_a_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"there is no bazinga/bazinga\.db and no bazinga\.db in"):
        find_database(tmp_path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no file"):
        read_bazinga(tmp_path / "nowhere.db")


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "b.db"
    file.write_text("not a database, but a text of some length")
    with pytest.raises(StoreForeign, match="is not a SQLite database"):
        read_bazinga(file)


def test_a_database_of_another_tool_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreForeign, match="is no bazinga database: it has the tables"):
        read_bazinga(SqlewDatabase(tmp_path / "s.db", "3.6").close())


def test_a_store_of_our_own_is_refused(satchel: Satchel) -> None:
    satchel.strategies.save("topic", "insight")
    with pytest.raises(StoreForeign, match="is no bazinga database"):
        read_bazinga(satchel.place.file)


def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    file = sample(tmp_path / "b.db", "19", NOW)
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))
    with pytest.raises((StoreDamaged, StoreForeign)):
        read_bazinga(file)


def test_items_come_the_oldest_first(made: BazingaDatabase) -> None:
    for number, age in ((1, 10), (2, 30), (3, 20)):
        made.package(number, created_at=stamp(NOW - age))
        made.pattern(f"h{number}", created_at=stamp(NOW - 100 - age))
    store = read_bazinga(made.close())
    assert [one.id for one in store.packages] == ["2", "3", "1"]
    assert [one.hash for one in store.patterns] == ["h2", "h3", "h1"]
