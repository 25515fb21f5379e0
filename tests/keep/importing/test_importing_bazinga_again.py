"""Importing a bazinga database where something is here already: once, and never over what is newer here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bazinga_databases import FORMATS, BazingaDatabase, Made, sample, stamp
from keep.importing.bazinga_kept import DAY, counts, the_pattern, the_solution
from keep.importing.results import SECOND, Take, everything
from satchel import Satchel

if TYPE_CHECKING:
    from conftest import ManualClock


@pytest.mark.usefixtures("report")
@pytest.mark.parametrize("release", FORMATS)
def test_importing_twice_adds_nothing(
    satchel: Satchel, bring: Take, tmp_path: Path, clock: ManualClock, now: int, release: str
) -> None:
    file = sample(tmp_path / "b.db", release, now)
    first = bring(file)
    before = everything(satchel)
    clock.advance(59 * SECOND)
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
    assert counts(result)["run"] == (0, 1, 0, 0, 0)
    run = satchel.runs.get("s1")
    assert run is not None
    assert (run.status, run.ended_at) == ("failed", (now - 30) * SECOND)


def test_an_older_copy_does_not_undo_the_end_of_a_run(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    copies: dict[str, dict[str, Any]] = {"a.db": {}, "b.db": {"status": "active", "end_time": None}}
    for name, columns in copies.items():
        database = bazinga(name)
        database.session(**columns)
        result = bring(database)
    assert counts(result)["run"] == (0, 0, 1, 0, 0)
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
    assert any("exists here" in one.reason for one in result.troubles)
    run = satchel.runs.get("s1")
    assert run is not None
    assert (run.title, run.status, satchel.packages.find(run_id="s1").total) == ("mine", "active", 1)


def test_a_package_that_says_otherwise_there_since_follows(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    copies: dict[str, dict[str, Any]] = {"a.db": {}, "b.db": {"priority": "critical", "summary": "all of it"}}
    for name, columns in copies.items():
        database = bazinga(name)
        database.package(**columns)
        result = bring(database)
    assert counts(result)["package"] == (0, 1, 0, 0, 0)
    (package,) = satchel.packages.find(run_id="s1").items
    assert (package.priority, package.summary) == ("critical", "all of it")


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
    assert counts(bring(later(bazinga, now)))["error_pattern"] == (0, 1, 0, 0, 0)
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
    assert counts(bring(database))["error_pattern"] == (0, 0, 1, 0, 0)
    assert everything(satchel) == before


def test_a_solution_that_was_tried_here_and_is_the_same_there_is_no_conflict(
    satchel: Satchel, bring: Take, bazinga: Made
) -> None:
    database = bazinga()
    database.pattern()
    file = database.close()
    bring(file)
    satchel.patterns.outcome("y1", False)
    assert counts(bring(file))["error_pattern"] == (0, 0, 1, 0, 0)
    assert the_solution(satchel).confidence == 5


def test_a_solution_that_was_tried_here_has_what_was_seen_last(
    satchel: Satchel, bring: Take, bazinga: Made, clock: ManualClock, now: int
) -> None:
    database = bazinga()
    database.pattern()
    bring(database)
    satchel.patterns.outcome("y1", True)
    clock.advance(DAY)
    bring(later(bazinga, now, last_seen=stamp(now + 3_600)))
    solution = the_solution(satchel)
    assert (solution.text, solution.confidence, solution.confirmed) == ("start redis before the app", 9, 1)


def test_an_error_whose_life_was_over_comes_back(
    satchel: Satchel, bring: Take, bazinga: Made, clock: ManualClock
) -> None:
    database = bazinga()
    database.pattern()
    file = database.close()
    bring(file)
    clock.advance(31 * DAY)
    assert counts(bring(file))["error_pattern"] == (1, 0, 0, 0, 0)
    assert the_pattern(satchel).expires_at == clock.now + 30 * DAY


def test_a_strategy_that_helped_more_there_follows(satchel: Satchel, bring: Take, bazinga: Made, now: int) -> None:
    copies: dict[str, dict[str, Any]] = {"a.db": {}, "b.db": {"helpfulness": 6, "last_seen": stamp(now - 5)}}
    for name, columns in copies.items():
        database = bazinga(name)
        database.strategy(**columns)
        result = bring(database)
    assert counts(result)["strategy"] == (0, 1, 0, 0, 0)
    (strategy,) = satchel.strategies.find().items
    assert (strategy.helped, strategy.last_seen) == (6, (now - 5) * SECOND)


@pytest.mark.parametrize(
    ("columns", "counted"),
    [
        ({}, (0, 0, 1, 0, 0)),
        ({"helpfulness": 6}, (0, 1, 0, 0, 0)),
        ({"insight": "something else", "last_seen": "2030-01-01 00:00:00"}, (0, 1, 0, 0, 0)),
    ],
)
def test_a_strategy_that_was_tried_here_counts_that_too(
    satchel: Satchel, bring: Take, bazinga: Made, columns: dict[str, Any], counted: tuple[int, ...]
) -> None:
    database = bazinga("a.db")
    database.strategy()
    bring(database)
    satchel.strategies.outcome("s1", False)
    database = bazinga("b.db")
    database.strategy(**columns)
    assert counts(bring(database))["strategy"] == counted
    (strategy,) = satchel.strategies.find().items
    assert (strategy.helped, strategy.not_helped) == (columns.get("helpfulness", 4), 1)
    assert strategy.insight == columns.get("insight", "queue writes and replay them")


def test_a_preview_sees_what_is_here_and_what_is_newer(satchel: Satchel, bring: Take, bazinga: Made, now: int) -> None:
    database = bazinga()
    database.pattern()
    bring(database)
    before = everything(satchel)
    assert counts(bring(later(bazinga, now), dry_run=True))["error_pattern"] == (0, 1, 0, 0, 0)
    assert everything(satchel) == before
