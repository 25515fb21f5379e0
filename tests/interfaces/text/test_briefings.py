"""Briefings as agents get them: what is said beside the packed text, and what where there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from satchel.brief.briefing.records import Briefing, LeftOut
from satchel.interfaces.text.briefings import briefing_text, other_notes, room_for
from tables import in_one_test

BRIEFING = Briefing(
    text="note: first\ne1: water",
    tokens=4,
    counter="words",
    budget=100,
    zone="normal",
    role=None,
    run_id="r1",
    task_id=None,
    loop_id=None,
    iteration=0,
    items=(),
    left_out=(),
    notes=("first",),
    is_stuck=False,
    is_recorded=True,
)
EMPTY = replace(BRIEFING, text="", budget=3, notes=())


def words(text: str) -> int:
    return len(text.split())


def test_the_text_is_the_briefing() -> None:
    assert briefing_text(BRIEFING, words) == BRIEFING.text


def test_a_note_that_the_text_lacks_is_added() -> None:
    briefing = replace(BRIEFING, notes=("first", "not recorded"))
    assert briefing_text(briefing, words) == "note: first\ne1: water\nnote: not recorded"


@pytest.mark.parametrize(("budget", "is_said"), [(7, True), (6, False)])
def test_a_note_is_added_only_where_it_fits(budget: int, is_said: bool) -> None:
    briefing = replace(BRIEFING, notes=("first", "not recorded"), budget=budget)
    assert ("not recorded" in briefing_text(briefing, words)) == is_said


def test_of_many_notes_the_newest_three_are_added() -> None:
    briefing = replace(BRIEFING, notes=("first", "a", "b", "c", "d"))
    assert briefing_text(briefing, words).endswith("e1: water\nnote: b\nnote: c\nnote: d")


def test_a_note_is_not_taken_for_said_because_an_item_holds_it() -> None:
    assert other_notes(replace(BRIEFING, text="e1: note: first")) == ["note: first"]


@pytest.mark.parametrize(
    ("briefing", "told"),
    [
        (EMPTY, "nothing waits"),
        (replace(EMPTY, notes=("nothing is kept",)), "nothing is kept"),
        (replace(EMPTY, left_out=(LeftOut("entries", 2, 0, "search"),)), "left out: 2 entries (search)"),
    ],
)
def test_without_a_text_it_says_what_waits(briefing: Briefing, told: str) -> None:
    assert briefing_text(briefing, words) == f"a budget of 3 tokens has no room for a briefing; {told}"


@in_one_test(
    ("notice", "budget", "room"),
    [(None, 100, 0), ("two words", 16, 4), ("two words", 15, 0), ("two words", -1, 0), ("two words", 10_000, 4)],
)
def test_room_is_kept_for_a_notice_where_it_takes_no_more_than_a_quarter(
    notice: str | None, budget: int, room: int
) -> None:
    assert room_for(notice, budget, words) == room
