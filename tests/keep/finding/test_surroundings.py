"""What stands beside a match: the neighbours of a note, and the loop it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from keep.finding.story import MINUTE, Story
from satchel import Satchel
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock


def test_an_answer_is_found_beside_the_question_it_shares_no_word_with(story: Story) -> None:
    result = story.result("expiry-told", "how long do login sessions stay valid")
    assert result.by_surroundings
    assert not story.result("expiry-asked", "how long do login sessions stay valid").by_surroundings


@pytest.mark.parametrize("lookup", ["sessions", "valid expiry"])
def test_a_lookup_of_one_or_two_words_finds_only_what_holds_them(story: Story, lookup: str) -> None:
    assert story.found(lookup) == ["expiry-asked"]


def test_operators_find_only_what_holds_the_words(story: Story) -> None:
    assert story.found("login OR sessions OR valid", syntax="operators") == ["expiry-asked", "clock-skew"]


def test_a_loop_that_is_about_the_question_lifts_its_entries(satchel: Satchel) -> None:
    for loop in ("about", "other"):
        satchel.entries.write("discovery", f"gamma was seen {loop}", loop_id=loop)
        for number in range(3):
            satchel.entries.write("discovery", f"nothing of note {loop} {number}", loop_id=loop)
    satchel.entries.write("discovery", "alpha beta alpha beta", loop_id="about")
    page = satchel.finding.search("alpha beta gamma", explain=True)
    gammas = {one.loop_id: one for one in page.results if one.snippet.text.startswith("gamma was seen")}
    assert gammas["about"].score > gammas["other"].score
    about, other = gammas["about"].explanation, gammas["other"].explanation
    assert about is not None
    assert other is not None
    assert about.segment > other.segment


def test_a_loop_of_the_same_name_in_another_run_is_another(satchel: Satchel) -> None:
    for run in ("r1", "r2"):
        satchel.runs.start(run)
        satchel.entries.write("discovery", f"gamma and beta were seen {run}", loop_id="L1", run_id=run)
    satchel.entries.write("discovery", "alpha beta alpha beta", loop_id="L1", run_id="r1")
    page = satchel.finding.search("alpha beta gamma", explain=True)
    lent = {
        one.run_id: one.explanation.segment for one in page.results if one.explanation and "gamma" in one.snippet.text
    }
    assert lent["r1"] > lent["r2"]


@pytest.mark.parametrize(("minutes", "found"), [(29, True), (31, False)])
def test_without_a_loop_only_half_an_hour_of_silence_parts_neighbours(
    satchel: Satchel, clock: ManualClock, minutes: int, found: bool
) -> None:
    satchel.entries.write("discovery", "how long do sessions stay valid")
    clock.advance(minutes * MINUTE)
    answer = satchel.entries.write("discovery", "a quarter of an hour")
    refs = [one.ref for one in satchel.finding.search("how long do sessions stay valid").results]
    assert (answer.ref in refs) is found


def test_in_a_loop_silence_parts_nothing(satchel: Satchel, clock: ManualClock) -> None:
    satchel.entries.write("discovery", "how long do sessions stay valid", loop_id="L1")
    clock.advance(10_000 * MINUTE)
    answer = satchel.entries.write("discovery", "a quarter of an hour", loop_id="L1")
    assert answer.ref in [one.ref for one in satchel.finding.search("how long do sessions stay valid").results]


def test_neighbours_are_of_the_same_run_and_loop(satchel: Satchel) -> None:
    for run in ("r1", "r2"):
        satchel.runs.start(run)
    satchel.entries.write("discovery", "how long do sessions stay valid", run_id="r1", loop_id="L1")
    satchel.entries.write("discovery", "a quarter of an hour", run_id="r1", loop_id="L2")
    satchel.entries.write("discovery", "a quarter of an hour", run_id="r2", loop_id="L1")
    assert satchel.finding.search("how long do sessions stay valid").total == 1


QUESTION = "how long do sessions stay valid"


@pytest.fixture
def answered(satchel: Satchel) -> str:
    """Return the id of an answer by Ann, which stands behind a question of hers and one of Ben."""
    satchel.entries.write("error", QUESTION, agent="Ben", task_id="T2", loop_id="L1", file="a.py")
    satchel.entries.write("discovery", QUESTION, agent="Ann", task_id="T1", loop_id="L1", file="b.py")
    return satchel.entries.write("discovery", "a quarter", agent="Ann", task_id="T1", loop_id="L1", file="b.py").ref


@in_one_test(
    ("filters", "brought_in"),
    [
        ({}, True),
        ({"run_id": "main"}, True),
        ({"types": ["discovery"]}, True),
        ({"types": ["error"]}, False),
        ({"author": "Ann"}, True),
        ({"author": "Ben"}, False),
        ({"task_id": "T1"}, True),
        ({"task_id": "T2"}, False),
        ({"loop_id": "L1"}, True),
        ({"file": "b.py"}, True),
        ({"file": "a.py"}, False),
        ({"since": 0}, True),
        ({"status": "live"}, True),
        ({"status": "superseded"}, False),
    ],
)
def test_neighbours_pass_the_filters_too(
    satchel: Satchel, answered: str, filters: dict[str, Any], brought_in: bool
) -> None:
    refs = [one.ref for one in satchel.finding.search(QUESTION, **filters).results]
    assert (answered in refs) is brought_in


def test_a_superseded_neighbour_is_brought_in_only_where_superseded_entries_are_wanted(satchel: Satchel) -> None:
    old = satchel.entries.write("review_verdict", {"passed": True, "summary": "old"}, loop_id="L1")
    satchel.entries.write("discovery", "how long do sessions stay valid", loop_id="L1")
    satchel.entries.write("review_verdict", {"passed": True, "summary": "new"}, loop_id="L1")
    question = "how long do sessions stay valid"
    assert old.ref in [one.ref for one in satchel.finding.search(question, status="all").results]
    assert old.ref not in [one.ref for one in satchel.finding.search(question).results]


def test_a_neighbour_from_before_since_is_not_brought_in(satchel: Satchel, clock: ManualClock) -> None:
    answer = satchel.entries.write("discovery", "a quarter", loop_id="L1")
    moment = clock.advance(MINUTE)
    satchel.entries.write("discovery", "how long do sessions stay valid", loop_id="L1")
    refs = [one.ref for one in satchel.finding.search("how long do sessions stay valid", since=moment).results]
    assert len(refs) == 1
    assert answer.ref not in refs


def test_what_stands_beside_a_match_that_is_far_from_the_best_is_left_out(satchel: Satchel) -> None:
    for text in (
        "how long do sessions stay valid",
        "a quarter of an hour",
        "the valid ones are blue",
        "and the sky too",
    ):
        satchel.entries.write("discovery", text)
        for _ in range(2):
            satchel.entries.write("discovery", "nothing of note")
    found = [one.snippet.text for one in satchel.finding.search("how long do sessions stay valid").results]
    assert found[0] == "how long do sessions stay valid"
    assert "and the sky too" not in found
    assert len(found) <= 3
