"""The errors, solutions and strategies of a bazinga database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bazinga_databases import Made, sample, stamp
from keep.importing.bazinga_kept import DAY, counts, the_pattern, the_solution
from keep.importing.results import SECOND, Take
from satchel import Satchel

if TYPE_CHECKING:
    from conftest import ManualClock


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
        9,
        (now - 900) * SECOND,
        (now - 5) * SECOND,
    )
    assert counts(result)["error_pattern"] == (1, 0, 0, 0, 0)


def test_a_solution_joins_an_error_that_was_reported_here(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    here = satchel.patterns.report("ConnectionError", "cannot reach the cache", solution="restart it").pattern
    database = bazinga()
    database.pattern()
    bring(database)
    pattern = the_pattern(satchel)
    assert (pattern.uid, pattern.occurrences) == (here.uid, 3)
    assert {one.text for one in pattern.solutions} == {"restart it", "start redis first"}
    assert [one.ref for one in satchel.finding.search("redis").results] == [pattern.ref]


def test_a_solution_that_was_found_here_too_is_not_doubled(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    satchel.patterns.report("ConnectionError", "cannot reach the cache", solution="Start redis first")
    before = the_solution(satchel)
    database = bazinga()
    database.pattern()
    assert counts(bring(database))["error_pattern"] == (0, 1, 0, 0, 0)
    assert (the_solution(satchel), the_pattern(satchel).occurrences) == (before, 3)


def test_a_pattern_without_a_solution_waits_for_one(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    for name in ("a.db", "b.db"):
        database = bazinga(name)
        database.pattern(solution="")
        result = bring(database)
    assert the_pattern(satchel).solutions == ()
    assert counts(result)["error_pattern"] == (0, 0, 1, 0, 0)


def test_a_strategy_comes_with_everything(satchel: Satchel, bring: Take, tmp_path: Path, now: int) -> None:
    bring(sample(tmp_path / "b.db", "19", now))
    (strategy,) = satchel.strategies.find().items
    assert (strategy.topic, strategy.insight) == ("react-native-offline", "queue writes and replay them")
    assert (strategy.helped, strategy.not_helped) == (4, 0)
    assert (strategy.lang, strategy.framework) == ("typescript", "react-native")
    assert (strategy.created_at, strategy.last_seen) == ((now - 600) * SECOND, (now - 60) * SECOND)


def test_a_long_insight_is_shortened_and_reported(satchel: Satchel, bring: Take, bazinga: Made) -> None:
    database = bazinga()
    database.strategy(topic="offline", insight="word " * 200)
    result = bring(database)
    assert len(satchel.strategies.find().items[0].insight) == 500
    assert [one.left_out for one in result.troubles] == [False]


def test_an_error_that_lost_its_names_is_recognised_when_it_comes_back(
    satchel: Satchel, bring: Take, bazinga: Made
) -> None:
    database = bazinga()
    database.pattern(message="No module named '...' in .../main.py, line N")
    bring(database)
    told = satchel.patterns.report("ConnectionError", "No module named 'redis' in /srv/shop/main.py, line 12")
    assert (told.is_new, told.pattern.id) == (False, the_pattern(satchel).id)
    assert told.notes == ("it was imported without the names in its message, so it may be about another name",)
    assert told.solutions[0].text == "start redis first"
    assert satchel.patterns.report("TypeError", "No attribute 'redis' in /srv/shop/main.py, line 12").is_new
