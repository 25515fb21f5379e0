"""Confirming: another agent has seen that it holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from satchel import Conflict, InvalidInput, NotFound, Satchel
from satchel.keep.sessions.caller import SERVER


@pytest.fixture(params=["note", "rule"])
def ref(request: pytest.FixtureRequest, satchel: Satchel) -> str:
    """A note, or a rule, by ann."""
    if request.param == "note":
        return satchel.entries.write("discovery", "the gateway signs requests", agent="ann").ref
    return satchel.constraints.add("the gateway signs requests", agent="ann").ref


def test_each_agent_counts_once(satchel: Satchel, ref: str) -> None:
    assert satchel.corrections.confirm(ref, agent="ben").by == ("ben",)
    assert satchel.corrections.confirm(ref, agent="cat").by == ("ben", "cat")
    again = satchel.corrections.confirm(ref, agent="BEN")
    assert (again.by, again.notes) == (("ben", "cat"), ("you had confirmed it before",))
    assert satchel.items.read([ref]).items[0].notes == ("confirmed by ben, cat",)


def test_its_author_does_not_confirm_it(satchel: Satchel, ref: str) -> None:
    answer = satchel.corrections.confirm(ref, agent="Ann")
    assert (answer.by, answer.notes) == ((), (f"you wrote {ref}: only others can confirm it",))
    assert satchel.items.read([ref]).items[0].notes == ()


def test_what_holds_no_more_is_not_confirmed(satchel: Satchel, ref: str) -> None:
    satchel.corrections.retract(ref, "no", agent="ann")
    with pytest.raises(Conflict, match=f"{ref} is no longer valid: retracted by ann: no. Read what replaced it"):
        satchel.corrections.confirm(ref, agent="ben")


def test_nobody_confirms_nothing(satchel: Satchel, ref: str) -> None:
    with pytest.raises(InvalidInput, match="confirming needs an agent"):
        satchel.corrections.confirm(ref)


def test_an_unknown_item_is_said(satchel: Satchel, ref: str) -> None:
    with pytest.raises(NotFound):
        satchel.corrections.confirm(f"{ref[0]}99", agent="ben")


@pytest.mark.parametrize("made", [lambda satchel: satchel.strategies.save("t", "refresh", agent="ann").ref])
def test_a_strategy_is_judged_by_its_outcome(satchel: Satchel, made: Callable[[Satchel], str]) -> None:
    with pytest.raises(InvalidInput, match="report_outcome id=s1"):
        satchel.corrections.confirm(made(satchel), agent="ben")


def test_without_a_name_it_is_confirmed_by_the_agent_of_the_session(
    open_in: Callable[..., Satchel], project: Path
) -> None:
    one, other = (open_in(project, caller=SERVER) for _ in range(2))
    ref = one.entries.write("discovery", "x", agent="ann").ref
    other.entries.write("discovery", "y", agent="ben")
    assert one.corrections.confirm(ref).by == ()
    other.corrections.confirm(ref)
    assert other.corrections.confirm(ref, agent="ben").by == ("ben",)


def test_who_reported_an_issue_confirms_that_it_was_fixed_and_who_closed_it_does_not(satchel: Satchel) -> None:
    satchel.entries.write("review_issue", {"description": "no example"}, agent="ann")
    satchel.files.record("a.py", "modified", description="fixes e1", agent="ben")
    assert satchel.corrections.confirm("e1", agent="ben").notes == ("you closed e1: only others can confirm it",)
    assert satchel.corrections.confirm("e1", "the example runs", agent="ann").by == ("ann",)
    assert satchel.items.read(["e1"]).items[0].notes == (
        "closed by ben: fixed by f1",
        "confirmed by ann (the example runs)",
    )
