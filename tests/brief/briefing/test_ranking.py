"""The score of an item, by the formula of the design, in Python and in SQL."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from briefing_parts import NOW, candidate
from satchel import Satchel
from satchel.brief.briefing.page import in_order
from satchel.brief.briefing.ranking import base_score_sql, score
from satchel.keep.citations import Citation
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock

DAY = 86_400_000


@in_one_test(
    ("given", "expected"),
    [
        ({"priority": 1}, 4 + 1),
        ({"priority": 4}, 16 + 1),
        ({"is_of_task": True}, 8 + 1 + 2),
        ({"is_for_role": True}, 8 + 1 + 1.5),
        ({"is_own": True}, 8 + 1),
        ({"changed_at": NOW - DAY + 1}, 8 + 1),
        ({"changed_at": NOW - DAY}, 8 + 1 / 2),
        ({"changed_at": NOW - 9 * DAY}, 8 + 1 / 10),
        ({"changed_at": NOW + 5 * DAY}, 8 + 1),
        ({"relevance": 1.0}, 8 + 1 + 8),
        ({"relevance": 0.5}, 8 + 1 + 8 * 0.5),
        ({"relevance": 1.0, "citation": Citation("changed", None, None, None, None)}, 8 + 1 + 8 - 4),
        ({"citation": Citation("gone", None, None, None, None)}, 8 + 1 - 4),
        ({"times": 4}, 8 + 1 + 2),
        ({"citation": Citation("moved", 3, None, None, None)}, 8 + 1),
        ({"priority": 3, "is_of_task": True, "is_for_role": True, "changed_at": NOW - DAY}, 12 + 2 + 1.5 + 0.5),
    ],
)
def test_the_score_is_the_designs(given: dict[str, Any], expected: float) -> None:
    assert score(candidate(**given), NOW) == pytest.approx(expected)


@given(st.integers(1, 4), st.booleans(), st.booleans(), st.integers(-400 * DAY, 4_000 * DAY))
def test_sql_scores_as_python_does(priority: int, of_task: bool, for_role: bool, age: int) -> None:
    one = candidate(priority=priority, is_of_task=of_task, is_for_role=for_role, changed_at=NOW - age)
    with closing(apsw.Connection(":memory:")) as connection:
        sql = base_score_sql(":priority", ":task", ":role", ":changed")
        values = {"priority": priority, "task": of_task, "role": for_role, "changed": NOW - age, "now": NOW}
        ((found,),) = connection.execute(f"SELECT {sql}", values)
    assert found == pytest.approx(score(one, NOW))


def test_of_equals_what_changed_last_comes_first_and_then_the_order_is_that_of_numbers() -> None:
    some = [candidate(3), candidate(1), candidate(2, changed_at=NOW - 5), candidate(4, changed_at=NOW + 5)]
    assert [one.number for one in in_order(some, NOW)] == [4, 1, 3, 2]


def test_a_draft_stands_behind_the_decisions_that_hold(
    store: Satchel, refs: Callable[..., list[str]], clock: ManualClock
) -> None:
    store.decisions.set("currency", "EUR", agent="human:ann")
    clock.advance(3 * DAY)
    store.decisions.set("currency_draft", "USD", status="draft", agent="ben")
    assert refs() == ["d1", "d2"]
