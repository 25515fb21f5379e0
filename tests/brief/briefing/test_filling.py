"""The order of a briefing, and what gives way to what. Tokens are words here."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from briefing_parts import NOW, candidate, words
from satchel.brief.briefing.page import Page, fill, in_order
from satchel.brief.briefing.records import Candidate
from satchel.find.kind import Kind


def decision(number: int, **given: Any) -> Candidate:
    return candidate(number, **{"section": "rules", "kind": Kind.DECISION, "head": f"key{number}", **given})


def filled(candidates: list[Candidate], room: int, *, has_query: bool = False) -> list[str]:
    """Return the ids shown on a page of so many tokens, in order."""
    ordered = in_order(candidates, NOW)
    page = Page(words, room, room)
    fill(page, ordered, room, has_query=has_query)
    return [one.ref for one in ordered if one.key in page.items]


ONE_OF_EACH = [
    candidate(1, text="a note"),
    candidate(1, "errors"),
    candidate(1, "messages"),
    candidate(2, "attempts", leads=True),
    candidate(1, "packages"),
    candidate(3, "reviews"),
    decision(1),
    candidate(1, "rules"),
    candidate(4, "attempts"),
    candidate(5, priority=4),
    candidate(2, "rules", priority=4),
]


@given(st.permutations(ONE_OF_EACH))
def test_what_binds_comes_first_and_notes_last(some: list[Candidate]) -> None:
    assert filled(some, 500) == ["c2", "e5", "e4", "c1", "d1", "e3", "p1", "e2", "m1", "x1", "e1"]


@pytest.mark.parametrize("long", [[1], [4], [1, 2], [3, 9], [12]])
def test_a_long_critical_rule_takes_no_room_from_the_titles_of_others(long: list[int]) -> None:
    some = [candidate(n, "rules", text="wide " * (150 if n in long else 3), priority=4) for n in range(1, 13)]
    everything = {one.ref for one in some}
    rooms = [room for room in range(600) if set(filled(some, room)) == everything]
    assert rooms == list(range(rooms[0], 600))
    assert rooms[0] <= 5 * 12 + 20 * len(long) + 12


def test_rules_are_ordered_by_priority_and_decisions_by_task_and_time() -> None:
    day = 86_400_000
    some = [candidate(n, "rules", priority=n) for n in (1, 2, 3)]
    some += [
        decision(1, changed_at=NOW - 9 * day),
        decision(2, changed_at=NOW),
        decision(3, changed_at=0, is_of_task=True),
    ]
    assert filled(some, 500) == ["c3", "c2", "c1", "d3", "d2", "d1"]


def test_attempts_and_reviews_stand_in_order_of_time() -> None:
    some = [candidate(n, section, changed_at=NOW - n) for section in ("attempts", "reviews") for n in (1, 2)]
    for place, one in enumerate(some):
        some[place] = candidate(place + 1, one.section, changed_at=NOW - place)
    assert filled(some, 500) == ["e2", "e1", "e4", "e3"]


def test_rules_come_before_decisions_and_these_leave_room_for_what_is_current() -> None:
    rules = [candidate(n, "rules", text="w " * 9) for n in range(1, 6)]
    decisions = [decision(n, text="w " * 8) for n in range(1, 20)]
    shown = filled([*rules, *decisions, candidate(1, "messages", text="read this")], 100)
    assert shown[:5] == ["c1", "c2", "c3", "c4", "c5"]
    assert shown[-1] == "m1"
    assert 3 <= sum(ref.startswith("d") for ref in shown) <= 4


@pytest.mark.parametrize("has_query", [False, True])
def test_notes_take_at_most_half_of_the_budget_beside_a_rule_that_a_query_is_about(has_query: bool) -> None:
    notes = [candidate(n, text="w " * 9, relevance=1.0) for n in range(1, 30)]
    shown = filled([*notes, candidate(1, "rules", text="w w", relevance=0.5)], 100, has_query=has_query)
    assert sum(ref.startswith("e") for ref in shown) == 4


class TestWithAQuery:
    RULES = tuple(candidate(n, "rules", text="w " * 9) for n in range(1, 20))

    def test_what_answers_it_comes_before_other_rules_and_decisions(self) -> None:
        shown = filled([*self.RULES, decision(1, text="w " * 8, relevance=0.6)], 60, has_query=True)
        assert "d1" in shown

    def test_a_rule_that_does_not_answer_it_comes_before_a_decision_that_hardly_does(self) -> None:
        shown = filled([*self.RULES, decision(1, text="w " * 8, relevance=0.2)], 60, has_query=True)
        assert all(ref.startswith("c") for ref in shown)

    def test_what_answers_a_question_that_no_rule_is_about_takes_nearly_all_room(self) -> None:
        rules = [candidate(n, "rules", text="w " * 9, relevance=0.3) for n in range(1, 20)]
        answers = [candidate(n, text="w " * 9, relevance=0.9) for n in range(1, 20)]
        shown = filled([*rules, *answers], 100, has_query=True)
        assert [sum(ref.startswith(letter) for ref in shown) for letter in "ec"] == [8, 1]

    def test_fixes_and_notes_that_answer_it_have_room_beside_what_binds(self) -> None:
        rules = [candidate(20, "rules", text="w " * 9, relevance=0.5), *self.RULES]
        answers = [candidate(1, "errors", text="a fix", relevance=0.9), candidate(1, text="a note", relevance=0.5)]
        assert filled([*rules, *answers], 60, has_query=True)[-2:] == ["x1", "e1"]
        assert filled([*rules, candidate(1, text="a long note", relevance=0.1)], 52, has_query=True)[-1] != "e1"


@pytest.mark.parametrize("priority", [3, 2])
def test_urgent_packages_come_before_messages_others_after_everything_that_binds(priority: int) -> None:
    some = [candidate(1, "packages", text="w " * 20, priority=priority), candidate(1, "messages", text="w " * 12)]
    assert filled(some, 30) == (["p1"] if priority == 3 else ["m1"])
