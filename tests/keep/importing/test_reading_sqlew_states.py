"""The states that a sqlew decision went through, put together from where sqlew keeps them."""

from __future__ import annotations

import pytest

from keep.importing.read import NOW, at, read_sqlew, values
from satchel.keep.moving.records import Trouble
from sqlew_databases import Made


def test_a_rationale_belongs_to_the_state_of_its_time(made: Made) -> None:
    database = made("3.5")
    database.add("decision_history", key_id=1, version="1", value="memory", ts=NOW)
    database.add("decisions", key_id=1, value="redis", version="2", ts=NOW + 100)
    database.add("decision_context", decision_key_id=1, rationale="quick to do", ts=NOW + 10)
    database.add("decision_context", decision_key_id=1, rationale="survives", ts=NOW + 110)
    database.add("decision_context", decision_key_id=1, rationale="and is shared", ts=NOW + 120)
    states = read_sqlew(database.close()).decision.states
    assert [state.rationale for state in states] == ["quick to do", "survives\n\nand is shared"]


def test_the_current_state_without_a_rationale_of_its_own_has_the_one_before(made: Made) -> None:
    database = made("3.5")
    database.add("decision_history", key_id=1, version="1", value="memory", ts=NOW)
    database.add("decisions", key_id=1, value="redis", version="2", ts=NOW + 100)
    database.add("decision_context", decision_key_id=1, rationale="it has to be fast", ts=NOW)
    assert {state.rationale for state in read_sqlew(database.close()).decision.states} == {"it has to be fast"}


def test_history_that_the_next_state_repeats_is_dropped_and_counted(made: Made) -> None:
    database = made()
    for ts in (NOW, NOW + 10):
        database.add("decision_history", key_id=1, version="1.0.0", value="redis", agent_id=1, ts=ts)
    database.add("decisions", key_id=1, value="redis", agent_id=1, version="1.0.0", ts=NOW + 20)
    store = read_sqlew(database.close())
    decision = store.decision
    assert [(state.value, state.set_at) for state in decision.states] == [("redis", at(NOW + 20))]
    assert decision.created_at == at(NOW)
    assert "earlier states of decisions equal to the next state, dropped: 2" in store.notes


def test_history_of_one_second_is_in_the_order_it_was_written(made: Made) -> None:
    database = made()
    for value in ("zebra", "ant", "mole"):
        database.add("decision_history", key_id=1, version="1", value=value, ts=NOW)
    database.add("decisions", key_id=1, value="owl", version="2", ts=NOW)
    assert values(read_sqlew(database.close()).decision) == ["zebra", "ant", "mole", "owl"]


def test_the_history_of_a_number_holds_numbers(made: Made) -> None:
    database = made()
    for place, value in enumerate(("60", "1e+3", "unlimited")):
        database.add("decision_history", key_id=2, version="1", value=value, ts=NOW + place)
    database.add("decisions_numeric", key_id=2, value=300, version="2", ts=NOW + 10)
    assert values(read_sqlew(database.close()).decision) == [60.0, 1000.0, "unlimited", 300.0]


def test_digits_in_the_history_of_a_text_stay_text(made: Made) -> None:
    database = made()
    database.add("decision_history", key_id=1, version="1", value="007", ts=NOW)
    database.add("decisions", key_id=1, value="bond", version="2", ts=NOW + 10)
    assert values(read_sqlew(database.close()).decision) == ["007", "bond"]


@pytest.mark.parametrize(
    ("text_at", "number_at", "order"), [(0, 10, ["sum", 7.0]), (10, 0, [7.0, "sum"]), (0, 0, [7.0, "sum"])]
)
def test_of_a_text_and_a_number_of_one_key_the_newer_is_current(
    made: Made, text_at: int, number_at: int, order: list[str | float]
) -> None:
    database = made()
    database.add("decisions", key_id=1, value="sum", version="1", ts=NOW + text_at)
    database.add("decisions_numeric", key_id=1, value=7, version="1", ts=NOW + number_at)
    store = read_sqlew(database.close())
    assert values(store.decision) == order
    (trouble,) = store.troubles
    assert "has both a number and a text" in trouble.reason
    assert not trouble.left_out


def test_the_empty_text_beside_a_number_is_no_second_value(made: Made) -> None:
    database = made("3.9")
    database.add("decisions", key_id=2, value="", version="1", ts=NOW)
    database.add("decisions_numeric", key_id=2, value=300, version="1", ts=NOW)
    store = read_sqlew(database.close())
    assert (values(store.decision), store.troubles) == ([300.0], ())


@pytest.mark.parametrize(("status", "name"), [(4, "in_progress"), (5, "in_review"), (6, "implemented")])
def test_the_later_statuses_are_active_and_reported(made: Made, status: int, name: str) -> None:
    database = made("5")
    database.add("decisions", key_id=1, value="redis", status=status, ts=NOW)
    store = read_sqlew(database.close())
    assert [state.status for state in store.decision.states] == ["active"]
    assert store.troubles == (
        Trouble("t_decisions", "key_id 1", f"its status is {name}, which is active here", left_out=False),
    )


def test_a_number_beyond_what_is_kept_exactly_is_a_text_and_that_is_said(made: Made) -> None:
    database = made()
    database.add("decision_history", key_id=2, version="1", value="9007199254740993", ts=NOW)
    database.add("decisions_numeric", key_id=2, value=2.0**60, version="2", ts=NOW + 10)
    store = read_sqlew(database.close())
    assert values(store.decision) == ["9007199254740993", "1152921504606846976"]
    assert [(one.row, "beyond 2^53" in one.reason, one.left_out) for one in store.troubles] == [
        ("key_id 2", True, False)
    ]
