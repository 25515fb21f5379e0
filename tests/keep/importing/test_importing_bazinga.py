"""Keeping what was read of a bazinga database: whole, once, and never over what is newer here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bazinga_databases import FORMATS, SECRET, BazingaDatabase, sample, stamp
from satchel import Conflict, Satchel
from satchel.find.documents import Kind
from satchel.keep import deliveries, past_runs
from satchel.keep.deliveries import Receiver
from satchel.keep.importing import Imported, KindImported
from satchel.keep.importing import service as importing_service
from satchel.keep.patterns.records import ErrorPattern, Solution

if TYPE_CHECKING:
    from conftest import ManualClock

Take = Callable[..., Imported]
Made = Callable[..., BazingaDatabase]

SECOND = 1_000
DAY = 86_400 * SECOND


@pytest.fixture
def bazinga(tmp_path: Path, now: int) -> Made:
    """Make an empty database."""

    def make(name: str = "b.db", release: str = "19", at: int = now) -> BazingaDatabase:
        return BazingaDatabase(tmp_path / name, release, at)

    return make


@pytest.fixture
def bring(satchel: Satchel) -> Take:
    """Import a database, closed first, into the test's project."""

    def import_one(database: BazingaDatabase | Path, **options: Any) -> Imported:
        file = database if isinstance(database, Path) else database.close()
        return satchel.importing.bazinga(file, **options)

    return import_one


@pytest.fixture
def report(project: Path) -> None:
    """The file of package 1."""
    file = project / "bazinga" / "artifacts" / "s1" / "1.md"
    file.parent.mkdir(parents=True)
    file.write_text("the gateway timed out")


def of(result: Imported, kind: str) -> KindImported:
    (found,) = [one for one in result.kinds if one.kind == kind]
    return found


def counts(result: Imported) -> dict[str, tuple[int, int, int, int, int]]:
    return {
        one.kind: (one.added, one.updated, one.present, one.conflicts, one.left_out) for one in result.kinds if one.rows
    }


def everything(satchel: Satchel) -> list[object]:
    tables = (
        "runs",
        "context_packages",
        "package_consumers",
        "error_patterns",
        "error_solutions",
        "strategies",
        "deliveries",
        "agents",
        "documents",
        "projects",
    )
    with satchel.workplace.engine.read() as transaction:
        return [transaction.all(f"SELECT * FROM {table}") for table in tables]


def the_pattern(satchel: Satchel) -> ErrorPattern:
    (pattern,) = satchel.patterns.find(status="all").patterns
    return pattern


def the_solution(satchel: Satchel) -> Solution:
    (solution,) = the_pattern(satchel).solutions
    return solution


@pytest.mark.usefixtures("report")
def test_a_session_becomes_a_run_that_has_ended(satchel: Satchel, bring: Take, tmp_path: Path, now: int) -> None:
    bring(sample(tmp_path / "b.db", "19", now))
    run = satchel.runs.get("s1")
    assert run is not None
    assert (run.title, run.status) == ("Build the shop", "completed")
    assert (run.created_at, run.ended_at) == ((now - 60) * SECOND, (now - 30) * SECOND)


def test_a_failed_session_stays_failed(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.session(status="failed")
    bring(database)
    assert satchel.runs.list("failed").total == 1


def test_no_session_becomes_the_run_that_notes_go_to(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    for name in ("s1", "s2"):
        database.session(name, status="active", end_time=None)
    result = bring(database)
    assert satchel.runs.list("active").total == 0
    assert satchel.entries.write("discovery", "x").run_id not in {"s1", "s2"}
    assert any("active there" in note for note in result.notes)


def test_a_long_requirement_becomes_a_title_of_one_short_line(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.session(original_requirements="build\nthe " + "very " * 200_000 + "big shop")
    result = bring(database)
    run = satchel.runs.get("s1")
    assert run is not None
    assert run.title is not None
    assert (len(run.title), run.title[:9]) == (300, "build the")
    assert {one.left_out for one in result.troubles} == {False}


@pytest.mark.usefixtures("report")
def test_a_package_comes_with_everything(satchel: Satchel, bring: Take, tmp_path: Path, now: int) -> None:
    result = bring(sample(tmp_path / "b.db", "19", now))
    (package,) = satchel.packages.find(run_id="s1").packages
    assert (package.type, package.priority, package.summary) == ("failures", "high", "what failed in 1")
    assert (package.path, package.task_id, package.run_id) == ("bazinga/artifacts/s1/1.md", "g1", "s1")
    assert (package.consumers, package.agent) == (("developer", "qa_expert"), "tech_lead")
    assert package.created_at == package.updated_at == (now - 60) * SECOND
    assert satchel.packages.read(package.ref).text == "the gateway timed out"
    assert "context_packages" not in {one.table for one in result.troubles}


def test_a_package_whose_file_is_not_here_is_taken_and_said(
    satchel: Satchel, bring: Take, tmp_path: Path, now: int
) -> None:
    result = bring(sample(tmp_path / "b.db", "19", now))
    assert satchel.packages.find(run_id="s1").total == 1
    (trouble,) = [one for one in result.troubles if one.table == "context_packages"]
    assert (trouble.row, trouble.left_out) == ("id 1", False)
    assert "is not there" in trouble.reason


@pytest.mark.usefixtures("report")
def test_an_early_package_is_called_by_its_file(satchel: Satchel, bring: Take, tmp_path: Path, now: int) -> None:
    bring(sample(tmp_path / "b.db", "6", now))
    (package,) = satchel.packages.find(run_id="s1").packages
    assert (package.summary, package.priority) == ("no summary was kept of 1.md", "medium")


@pytest.mark.usefixtures("report")
def test_a_package_of_the_data_model_is_research_of_the_run_it_names(
    satchel: Satchel, bring: Take, tmp_path: Path, now: int
) -> None:
    bring(sample(tmp_path / "b.db", "documented", now))
    (package,) = satchel.packages.find(run_id="s1").packages
    assert (package.type, package.priority, package.agent) == ("research", "high", None)


@pytest.mark.usefixtures("report")
@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        ("package_type", "gossip", ("research", "high")),
        ("priority", "urgent", ("failures", "medium")),
        ("priority", "HIGH", ("failures", "high")),
    ],
)
def test_a_type_or_priority_that_is_none_here_is_the_usual_one(
    satchel: Satchel, bring: Take, bazinga: Made, column: str, value: str, shown: tuple[str, str]
) -> None:
    database = bazinga()
    database.package(**{column: value})
    result = bring(database)
    (package,) = satchel.packages.find(run_id="s1").packages
    assert (package.type, package.priority) == shown
    assert [one.left_out for one in result.troubles] == [False] * (value != "HIGH")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../secrets.txt", "names no file of the project"),
        ("/etc/hosts", "is outside the project"),
        ("link/hosts", "leads out of the project through a link"),
        ("src", "is a folder"),
        (f"bazinga/{SECRET}.md", "looks like a secret"),
        ("{{path}}", "unresolved placeholder"),
    ],
)
def test_a_path_that_may_not_be_kept_costs_its_package_alone(
    satchel: Satchel, bring: Take, bazinga: Made, project: Path, path: str, reason: str
) -> None:
    (project / "link").symlink_to("/etc")
    (project / "src").mkdir()
    database = bazinga()
    database.package(1, file_path=path)
    database.package(2)
    database.delivery()
    result = bring(database)
    assert [one.path for one in satchel.packages.find(run_id="s1").packages] == ["bazinga/artifacts/s1/2.md"]
    left_out = [(one.table, one.row) for one in result.troubles if one.left_out]
    assert left_out == [("context_packages", "id 1"), ("consumption_scope", "scope_id c1")]
    assert any(reason in one.reason for one in result.troubles)
    assert all(SECRET not in one.reason for one in result.troubles)


def test_an_absolute_path_inside_the_project_becomes_relative(
    satchel: Satchel, bring: Take, bazinga: Made, project: Path
) -> None:
    database = bazinga()
    database.package(file_path=str(project / "notes" / "a.md"))
    bring(database)
    assert satchel.packages.find(run_id="s1").packages[0].path == "notes/a.md"


def test_one_package_supersedes_another(satchel: Satchel, bring: Take, bazinga: Made, now: int) -> None:
    database = bazinga()
    database.package(1, created_at=stamp(now - 90))
    database.package(2, supersedes_id=1)
    bring(database)
    (live,) = satchel.packages.find(run_id="s1").packages
    (old,) = satchel.packages.find(run_id="s1", status="superseded").packages
    assert (live.path, old.path) == ("bazinga/artifacts/s1/2.md", "bazinga/artifacts/s1/1.md")
    assert (old.superseded_by, old.updated_at) == (live.id, (now - 60) * SECOND)


def test_a_package_that_came_since_supersedes_one_that_was_imported(
    satchel: Satchel, bring: Take, bazinga: Made
) -> None:
    for name, numbers in (("a.db", (1,)), ("b.db", (1, 2))):
        database = bazinga(name)
        for number in numbers:
            database.package(number, supersedes_id=1 if number == 2 else None)
        bring(database)
    assert satchel.packages.find(run_id="s1").total == 1


def test_two_packages_that_supersede_each_other_leave_one_alive(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.package(1, supersedes_id=2)
    database.package(2, supersedes_id=1)
    bring(database)
    assert satchel.packages.find(run_id="s1").total == 1


@pytest.mark.parametrize("replaced", [9, 1, "other"])
def test_a_package_supersedes_none_but_another_of_its_session(
    satchel: Satchel, bring: Take, bazinga: Made, replaced: object
) -> None:
    database = bazinga()
    database.package(1, supersedes_id=2 if replaced == "other" else replaced)
    database.package(2, session_id="s2")
    result = bring(database)
    assert satchel.packages.find(run_id="s1").total == 1
    assert satchel.packages.find(run_id="s2").total == 1
    assert any("which is no package of its session" in one.reason for one in result.troubles)


def test_a_pattern_comes_with_its_past_and_its_solution(
    satchel: Satchel, bring: Take, tmp_path: Path, clock: ManualClock, now: int
) -> None:
    bring(sample(tmp_path / "b.db", "19", now))
    pattern = the_pattern(satchel)
    assert (pattern.error_type, pattern.message, pattern.lang) == (
        "ConnectionError",
        "cannot reach the cache",
        "python",
    )
    assert (pattern.occurrences, pattern.ttl_days) == (3, 30)
    assert (pattern.created_at, pattern.last_seen) == ((now - 600) * SECOND, (now - 60) * SECOND)
    assert pattern.expires_at == clock.now + 30 * DAY
    (solution,) = pattern.solutions
    assert (solution.text, solution.confidence, solution.standing) == ("start redis first", 7, "known")
    assert (solution.confirmed, solution.failed, solution.agent) == (0, 0, None)
    assert (solution.created_at, solution.updated_at) == ((now - 600) * SECOND, (now - 60) * SECOND)


@pytest.mark.parametrize(
    ("confidence", "state"), [(0.1, "demoted"), (0.3, "demoted"), (0.5, "active"), (0.8, "confirmed")]
)
def test_the_confidence_says_the_state(
    satchel: Satchel, bring: Take, bazinga: Made, confidence: float, state: str
) -> None:
    database = bazinga()
    database.pattern(confidence=confidence)
    bring(database)
    assert the_solution(satchel).state == state


def test_an_imported_error_is_recognised_when_it_is_reported(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.pattern()
    bring(database)
    told = satchel.patterns.report("ConnectionError", "cannot reach the cache")
    assert (told.is_new, [one.text for one in told.solutions]) == (False, ["start redis first"])


def test_what_was_seen_long_ago_lives_as_long_from_the_import_on_as_what_is_new(
    satchel: Satchel, bring: Take, bazinga: Made, clock: ManualClock
) -> None:
    database = bazinga()
    database.pattern(last_seen="2024-01-01 00:00:00", created_at="2023-01-01 00:00:00")
    bring(database)
    clock.advance(30 * DAY - 1)
    assert satchel.patterns.find().total == 1
    clock.advance(1)
    assert satchel.patterns.find().total == 0


def test_two_patterns_of_one_signature_become_one_with_both_solutions(
    satchel: Satchel, bring: Take, bazinga: Made, now: int
) -> None:
    database = bazinga()
    database.pattern("h1", "cannot reach 10.0.0.1", created_at=stamp(now - 900))
    database.pattern("h2", "cannot reach 10.0.0.2", solution="open the firewall", last_seen=stamp(now - 5))
    database.pattern("h3", "cannot reach 10.0.0.3", solution=" Start Redis first")
    result = bring(database)
    pattern = the_pattern(satchel)
    assert {one.text for one in pattern.solutions} == {"start redis first", "open the firewall"}
    assert (pattern.occurrences, pattern.created_at, pattern.last_seen) == (
        6,
        (now - 900) * SECOND,
        (now - 5) * SECOND,
    )
    assert counts(result)["error_patterns"] == (2, 0, 1, 0, 0)


def test_a_solution_joins_an_error_that_was_reported_here(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    here = satchel.patterns.report("ConnectionError", "cannot reach the cache", solution="restart it").pattern
    database = bazinga()
    database.pattern()
    bring(database)
    pattern = the_pattern(satchel)
    assert (pattern.uid, pattern.occurrences) == (here.uid, 4)
    assert {one.text for one in pattern.solutions} == {"restart it", "start redis first"}
    assert [one.ref for one in satchel.finding.search("redis").results] == [pattern.ref]


def test_a_solution_that_was_found_here_too_is_left_as_it_is(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    satchel.patterns.report("ConnectionError", "cannot reach the cache", solution="Start redis first")
    before = the_pattern(satchel)
    database = bazinga()
    database.pattern()
    assert counts(bring(database))["error_patterns"] == (0, 0, 1, 0, 0)
    assert the_pattern(satchel) == before


def test_a_pattern_without_a_solution_waits_for_one(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    for name in ("a.db", "b.db"):
        database = bazinga(name)
        database.pattern(solution="")
        result = bring(database)
    assert the_pattern(satchel).solutions == ()
    assert counts(result)["error_patterns"] == (0, 0, 1, 0, 0)


def test_a_strategy_comes_with_everything(satchel: Satchel, bring: Take, tmp_path: Path, now: int) -> None:
    bring(sample(tmp_path / "b.db", "19", now))
    (strategy,) = satchel.strategies.find().strategies
    assert (strategy.topic, strategy.insight) == ("react-native-offline", "queue writes and replay them")
    assert (strategy.helped, strategy.not_helped) == (4, 0)
    assert (strategy.lang, strategy.framework) == ("typescript", "react-native")
    assert (strategy.created_at, strategy.last_seen) == ((now - 600) * SECOND, (now - 60) * SECOND)


def test_a_long_insight_is_shortened_and_reported(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.strategy(topic="offline", insight="word " * 200)
    result = bring(database)
    assert len(satchel.strategies.find().strategies[0].insight) == 500
    assert [one.left_out for one in result.troubles] == [False]


def test_a_strategy_that_was_saved_here_too_is_not_doubled(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    satchel.strategies.save("react-native-offline", "queue writes and replay them")
    database = bazinga()
    database.strategy("t1")
    database.strategy("t2")
    assert counts(bring(database))["strategies"] == (0, 0, 2, 0, 0)
    assert satchel.strategies.find().total == 1


def delivered(satchel: Satchel, role: str = "developer", iteration: int = 0, task: str | None = "g1") -> dict[int, int]:
    with satchel.workplace.engine.read() as transaction:
        run = past_runs.find(transaction, 1, "s1")
        assert run is not None
        receiver = Receiver(run.number, task, role, None, iteration)
        return deliveries.delivered(transaction, receiver).get(Kind.PACKAGE.number, {})


def test_what_was_consumed_was_delivered_as_it_stands(satchel: Satchel, bring: Take, tmp_path: Path, now: int) -> None:
    bring(sample(tmp_path / "b.db", "19", now))
    (package,) = satchel.packages.find(run_id="s1").packages
    assert delivered(satchel) == {package.id: package.seq}
    with satchel.workplace.engine.read() as transaction:
        assert transaction.all("SELECT created_at FROM deliveries") == [((now - 50) * SECOND,)]


def test_deliveries_are_kept_apart_by_role_iteration_and_task(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.package()
    database.delivery("c1", agent_type="QA_Expert", iteration=1)
    database.delivery("c2", agent_type="qa_expert", iteration=1)
    database.delivery("c3", group_id="global", agent_type="qa_expert", iteration=1)
    result = bring(database)
    assert counts(result)["deliveries"] == (2, 0, 1, 0, 0)
    assert [
        len(delivered(satchel, *place)) for place in (("qa_expert", 1), ("qa_expert", 1, None), ("qa_expert", 0))
    ] == [
        1,
        1,
        0,
    ]


def test_a_delivery_of_no_package_or_another_sessions_is_left_out(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.session()
    database.package(1, session_id="s2")
    database.delivery("c1", package_id=1)
    database.delivery("c2", package_id=7)
    result = bring(database)
    assert of(result, "deliveries").left_out == 2
    assert [one.row for one in result.troubles if one.table == "consumption_scope"] == ["scope_id c1", "scope_id c2"]
    assert satchel.housekeeping.statistics().deliveries == 0


@pytest.mark.usefixtures("report")
@pytest.mark.parametrize("release", FORMATS)
def test_importing_twice_adds_nothing(
    satchel: Satchel, bring: Take, tmp_path: Path, clock: ManualClock, now: int, release: str
) -> None:
    file = sample(tmp_path / "b.db", release, now)
    first = bring(file)
    before = everything(satchel)
    clock.advance(60 * SECOND)
    again = bring(file)
    assert everything(satchel) == before
    assert set(counts(first).values()) == {(1, 0, 0, 0, 0)}
    assert set(counts(again).values()) == {(0, 0, 1, 0, 0)}


def test_a_session_that_ended_since_follows(satchel: Satchel, bring: Take, bazinga: Made, now: int) -> None:
    copies: dict[str, dict[str, Any]] = {"a.db": {"status": "active", "end_time": None}, "b.db": {"status": "failed"}}
    for name, columns in copies.items():
        database = bazinga(name)
        database.session(**columns)
        result = bring(database)
    assert counts(result)["runs"] == (0, 1, 0, 0, 0)
    run = satchel.runs.get("s1")
    assert run is not None
    assert (run.status, run.ended_at) == ("failed", (now - 30) * SECOND)


def test_an_older_copy_does_not_undo_the_end_of_a_run(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    copies: dict[str, dict[str, Any]] = {"a.db": {}, "b.db": {"status": "active", "end_time": None}}
    for name, columns in copies.items():
        database = bazinga(name)
        database.session(**columns)
        result = bring(database)
    assert counts(result)["runs"] == (0, 0, 1, 0, 0)
    run = satchel.runs.get("s1")
    assert run is not None
    assert run.ended_at is not None


def test_a_run_of_the_same_name_that_was_started_here_takes_the_packages_and_is_reported(
    satchel: Satchel, bring: Take, bazinga: Made
) -> None:
    satchel.runs.start("s1", title="mine")
    database = bazinga()
    database.session()
    database.package()
    result = bring(database)
    assert [(one.ref, "started here" in one.reason) for one in result.conflicts] == [("s1", True)]
    run = satchel.runs.get("s1")
    assert run is not None
    assert (run.title, run.status, satchel.packages.find(run_id="s1").total) == ("mine", "active", 1)


def test_a_package_that_says_otherwise_here_is_left_alone_and_reported(
    satchel: Satchel, bring: Take, bazinga: Made
) -> None:
    copies: dict[str, dict[str, Any]] = {"a.db": {}, "b.db": {"priority": "critical", "summary": "all of it"}}
    for name, columns in copies.items():
        database = bazinga(name)
        database.package(**columns)
        result = bring(database)
    (conflict,) = result.conflicts
    assert (conflict.ref, conflict.item) == ("p1", "what failed in 1")
    assert conflict.reason == "its priority is high here, critical there; its summary is another one there"
    assert satchel.packages.find(run_id="s1").packages[0].priority == "high"


def later(bazinga: Made, now: int, **columns: Any) -> BazingaDatabase:
    database = bazinga("later.db")
    usual: dict[str, Any] = {"solution": "start redis before the app", "confidence": 0.9, "occurrences": 5}
    database.pattern(**(usual | {"last_seen": stamp(now - 10)} | columns))
    return database


def test_a_solution_that_is_newer_there_follows(
    satchel: Satchel, bring: Take, bazinga: Made, clock: ManualClock, now: int
) -> None:
    database = bazinga()
    database.pattern()
    bring(database)
    clock.advance(DAY)
    assert counts(bring(later(bazinga, now)))["error_patterns"] == (0, 1, 0, 0, 0)
    pattern, solution = the_pattern(satchel), the_solution(satchel)
    assert (solution.ref, solution.text, solution.confidence) == ("y1", "start redis before the app", 9)
    assert (pattern.occurrences, pattern.last_seen) == (5, (now - 10) * SECOND)
    assert pattern.expires_at == clock.now + 30 * DAY
    assert [one.ref for one in satchel.finding.search("before the app").results] == [pattern.ref]


def test_an_older_copy_of_a_solution_changes_nothing(satchel: Satchel, bring: Take, bazinga: Made, now: int) -> None:
    bring(later(bazinga, now))
    before = everything(satchel)
    database = bazinga()
    database.pattern()
    assert counts(bring(database))["error_patterns"] == (0, 0, 1, 0, 0)
    assert everything(satchel) == before


def test_a_solution_that_was_tried_here_and_is_the_same_there_is_no_conflict(
    satchel: Satchel, bring: Take, bazinga: Made
) -> None:
    database = bazinga()
    database.pattern()
    file = database.close()
    bring(file)
    satchel.patterns.outcome("y1", False)
    assert counts(bring(file))["error_patterns"] == (0, 0, 1, 0, 0)
    assert the_solution(satchel).confidence == 5


def test_a_solution_that_was_tried_here_and_there_is_left_alone_and_reported(
    satchel: Satchel, bring: Take, bazinga: Made, clock: ManualClock, now: int
) -> None:
    database = bazinga()
    database.pattern()
    bring(database)
    satchel.patterns.outcome("y1", True)
    clock.advance(DAY)
    result = bring(later(bazinga, now, last_seen=stamp(now + 3_600)))
    assert [(one.ref, one.item) for one in result.conflicts] == [("y1", "start redis first")]
    assert (the_solution(satchel).text, the_solution(satchel).confidence) == ("start redis first", 8)


def test_an_error_whose_life_was_over_comes_back(
    satchel: Satchel, bring: Take, bazinga: Made, clock: ManualClock
) -> None:
    database = bazinga()
    database.pattern()
    file = database.close()
    bring(file)
    clock.advance(31 * DAY)
    assert counts(bring(file))["error_patterns"] == (1, 0, 0, 0, 0)
    assert the_pattern(satchel).expires_at == clock.now + 30 * DAY


def test_a_strategy_that_helped_more_there_follows(satchel: Satchel, bring: Take, bazinga: Made, now: int) -> None:
    copies: dict[str, dict[str, Any]] = {"a.db": {}, "b.db": {"helpfulness": 6, "last_seen": stamp(now - 5)}}
    for name, columns in copies.items():
        database = bazinga(name)
        database.strategy(**columns)
        result = bring(database)
    assert counts(result)["strategies"] == (0, 1, 0, 0, 0)
    (strategy,) = satchel.strategies.find().strategies
    assert (strategy.helped, strategy.last_seen) == (6, (now - 5) * SECOND)


@pytest.mark.parametrize(
    ("columns", "counted"),
    [
        ({}, (0, 0, 1, 0, 0)),
        ({"helpfulness": 6, "last_seen": "2030-01-01 00:00:00"}, (0, 0, 0, 1, 0)),
        ({"insight": "something else"}, (0, 0, 0, 1, 0)),
    ],
)
def test_a_strategy_that_was_tried_here_is_left_alone(
    satchel: Satchel, bring: Take, bazinga: Made, columns: dict[str, Any], counted: tuple[int, ...]
) -> None:
    database = bazinga("a.db")
    database.strategy()
    bring(database)
    satchel.strategies.outcome("s1", False)
    database = bazinga("b.db")
    database.strategy(**columns)
    assert counts(bring(database))["strategies"] == counted
    (strategy,) = satchel.strategies.find().strategies
    assert (strategy.helped, strategy.not_helped, strategy.insight) == (4, 1, "queue writes and replay them")


def test_every_text_is_redacted_and_reported(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.session(original_requirements=f"build with {SECRET}")
    database.package(summary=f"it said {SECRET}")
    database.pattern(message=f"bad token {SECRET}", solution=f"use {SECRET}")
    database.strategy(topic="tokens", insight=f"try {SECRET}")
    result = bring(database)
    satchel.close()
    assert all(SECRET.encode() not in file.read_bytes() for file in satchel.place.folder.rglob("*") if file.is_file())
    redacted = {one.table for one in result.troubles if "redacted" in one.reason and not one.left_out}
    assert redacted == {"sessions", "context_packages", "error_patterns", "strategies"}


@pytest.mark.parametrize("add", ["session", "package", "pattern", "strategy", "delivery"])
def test_a_secret_in_a_name_is_refused_and_not_repeated(satchel: Satchel, bring: Take, bazinga: Made, add: str) -> None:
    columns: dict[str, dict[str, object]] = {
        "session": {"session_id": SECRET},
        "package": {"group_id": SECRET},
        "pattern": {"signature_json": f'{{"error_type": "{SECRET}", "message_pattern": "m"}}'},
        "strategy": {"topic": SECRET},
        "delivery": {"agent_type": SECRET},
    }
    database = bazinga()
    if add == "delivery":
        database.package()
    getattr(database, add)(**columns[add])
    result = bring(database)
    assert [one.left_out for one in result.troubles].count(True) == 1
    assert all(SECRET not in f"{one.row} {one.reason}" for one in result.troubles)


def test_names_that_matter_little_are_left_out_and_reported(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.package(producer_agent="{{agent}}")
    database.add("context_package_consumers", package_id=1, agent_type="x" * 300)
    database.strategy(framework="${framework}")
    result = bring(database)
    (package,) = satchel.packages.find(run_id="s1").packages
    assert (package.agent, package.consumers) == (None, ())
    assert satchel.strategies.find().strategies[0].framework is None
    assert sum(one.reason.endswith("; left out") for one in result.troubles) == 3


def test_what_belongs_to_a_session_that_cannot_be_taken_is_left_out(
    satchel: Satchel, bring: Take, bazinga: Made
) -> None:
    database = bazinga()
    database.session("s1", start_time="soon")
    database.package()
    database.delivery()
    result = bring(database)
    assert {kind: counted[-1] for kind, counted in counts(result).items()} == {
        "runs": 1,
        "packages": 1,
        "deliveries": 1,
    }
    assert satchel.runs.list().total == 0


def test_imported_things_are_found(satchel: Satchel, bring: Take, tmp_path: Path, now: int) -> None:
    bring(sample(tmp_path / "b.db", "19", now))
    for words, ref in (("failed", "p1"), ("redis", "x1"), ("replay", "s1")):
        assert [found.ref for found in satchel.finding.search(words).results] == [ref]


def test_the_store_is_sound_afterwards(satchel: Satchel, bring: Take, tmp_path: Path, now: int) -> None:
    bring(sample(tmp_path / "b.db", "19", now))
    assert [check.name for check in satchel.housekeeping.doctor() if check.status != "ok"] == ["backups"]


def test_a_preview_writes_nothing_and_says_what_would_come(
    satchel: Satchel, bring: Take, bazinga: Made, now: int
) -> None:
    database = bazinga()
    database.session()
    database.package(1)
    database.package(2, supersedes_id=1)
    for number in (1, 2):
        database.pattern(f"h{number}")
        database.strategy(f"t{number}")
        database.delivery(f"c{number}", agent_type="Developer")
    file = database.close()
    foreseen = bring(file, preview=True)
    assert not satchel.place.file.exists()
    assert not foreseen.done
    done = bring(file)
    assert (foreseen.kinds, foreseen.notes, foreseen.troubles) == (done.kinds, done.notes, done.troubles)


def test_a_preview_sees_what_is_here_and_what_is_newer(satchel: Satchel, bring: Take, bazinga: Made, now: int) -> None:
    database = bazinga()
    database.pattern()
    bring(database)
    before = everything(satchel)
    assert counts(bring(later(bazinga, now), preview=True))["error_patterns"] == (0, 1, 0, 0, 0)
    assert everything(satchel) == before


def test_one_project_of_several_is_taken(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.pattern("h1")
    database.pattern("h1", "blog is down", project_id="blog")
    file = database.close()
    with pytest.raises(Conflict, match="blog, shop"):
        bring(file)
    assert bring(file, source_project="blog").source_project == "blog"
    assert the_pattern(satchel).message == "blog is down"
    bring(file, source_project="shop")
    assert satchel.patterns.find().total == 2


def test_a_folder_is_taken_for_the_database_in_it(satchel: Satchel, bring: Take, tmp_path: Path, now: int) -> None:
    file = sample(tmp_path / "there" / "bazinga" / "bazinga.db", "19", now)
    assert bring(tmp_path / "there").source == file


def test_the_foreign_file_is_not_changed_and_nothing_is_left_beside_it(bring: Take, tmp_path: Path, now: int) -> None:
    file = sample(tmp_path / "foreign" / "b.db", "19", now)
    before = file.read_bytes()
    bring(file)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_it_is_written_in_transactions_of_some_hundred_changes(
    satchel: Satchel, bazinga: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing_service, "CHANGES_PER_TRANSACTION", 6)
    database = bazinga()
    for number in range(8):
        database.package(number)
        database.pattern(f"h{number}", solution=f"fix {number}")
    told: list[tuple[int, int]] = []
    satchel.importing.bazinga(database.close(), progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 17) for done in (1, 7, 9, 11, 13, 15, 17)]
