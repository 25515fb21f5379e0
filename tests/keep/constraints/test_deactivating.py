from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from satchel import InvalidInput, NotFound, Satchel

if TYPE_CHECKING:
    from conftest import ManualClock


def test_a_deactivated_constraint_says_why_by_whom_and_when(satchel: Satchel, clock: ManualClock) -> None:
    added = satchel.constraints.add("x", agent="ann", tags=["api"], layer="data")
    now = clock.advance(5_000)
    ended = satchel.constraints.deactivate(added.ref, "no longer needed", agent="bob")
    assert (ended.active, ended.reason, ended.deactivated_by) == (False, "no longer needed", "bob")
    assert (ended.deactivated_at, ended.created_at, ended.agent) == (now, added.created_at, "ann")
    assert (ended.text, ended.tags, ended.layer, ended.uid) == ("x", ("api",), "data", added.uid)
    assert satchel.constraints.find().total == 0
    assert satchel.constraints.find(status="inactive").constraints == (ended,)


def test_deactivating_is_a_change_of_its_own(satchel: Satchel) -> None:
    added = satchel.constraints.add("x")
    other = satchel.constraints.add("y")
    ended = satchel.constraints.deactivate(added.ref)
    assert ended.seq > other.seq
    page = satchel.constraints.find(after_seq=other.seq, status="all")
    assert [constraint.id for constraint in page] == [added.id]


def test_the_reason_and_the_agent_may_be_left_out(satchel: Satchel) -> None:
    ended = satchel.constraints.deactivate(satchel.constraints.add("x").ref)
    assert (ended.active, ended.reason, ended.deactivated_by) == (False, None, None)


def test_the_default_agent_deactivates_where_none_is_named(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, agent="planner")
    assert satchel.constraints.deactivate(satchel.constraints.add("x").ref).deactivated_by == "planner"


def test_deactivating_again_changes_nothing_and_says_so(satchel: Satchel, clock: ManualClock) -> None:
    added = satchel.constraints.add("x")
    first = satchel.constraints.deactivate(added.ref, "first", agent="ann")
    clock.advance(1_000)
    again = satchel.constraints.deactivate(added.ref, "second", agent="bob")
    assert (again.reason, again.deactivated_by, again.deactivated_at) == ("first", "ann", first.deactivated_at)
    assert again.seq == first.seq == satchel.constraints.find().seq
    assert again.notes == (f"{added.ref} was inactive already since 2026-11-18 11:06 UTC, by ann; its reason stays",)


def test_an_inactive_constraint_is_found_below_those_that_hold(satchel: Satchel) -> None:
    old = satchel.constraints.add("gateway gateway gateway")
    satchel.constraints.deactivate(old.ref, "replaced")
    new = satchel.constraints.add("the gateway signs requests for every service behind it")
    found = satchel.finding.search("gateway")
    assert [(result.ref, result.status, result.kind) for result in found.results] == [
        (new.ref, "active", "constraint"),
        (old.ref, "inactive", "constraint"),
    ]


def test_the_reason_is_cleaned_and_redacted(satchel: Satchel) -> None:
    ended = satchel.constraints.deactivate(satchel.constraints.add("x").ref, "leaked ghp_" + "a1B2" * 9)
    assert ended.reason is not None
    assert "ghp_" not in ended.reason
    assert any("secret was redacted" in note for note in ended.notes)


@pytest.mark.parametrize("how", [str, int, "c{}".format, " c{} ".format])
def test_an_id_may_be_given_with_or_without_its_letter(satchel: Satchel, how: Callable[[int], str | int]) -> None:
    assert not satchel.constraints.deactivate(how(satchel.constraints.add("x").id)).active


@pytest.mark.parametrize("ref", ["c99", 99, "c0"])
def test_an_unknown_id_is_said(satchel: Satchel, ref: str | int) -> None:
    satchel.constraints.add("x")
    with pytest.raises(NotFound, match="there is no constraint c"):
        satchel.constraints.deactivate(ref)


def test_in_a_project_without_anything_there_is_nothing_to_deactivate(satchel: Satchel) -> None:
    with pytest.raises(NotFound, match="there is no constraint c1"):
        satchel.constraints.deactivate("c1")


@pytest.mark.parametrize("ref", ["", "e1", "d1", "c-1", "c1.5", True, None, "c²"])
def test_what_is_no_id_of_a_constraint_is_refused(satchel: Satchel, ref: str) -> None:
    with pytest.raises(InvalidInput, match="is no id of a constraint"):
        satchel.constraints.deactivate(ref)


@pytest.mark.parametrize(("reason", "agent", "problem"), [(" ", None, "reason is empty"), (None, "", "agent is empty")])
def test_an_empty_reason_or_agent_is_refused(
    satchel: Satchel, reason: str | None, agent: str | None, problem: str
) -> None:
    added = satchel.constraints.add("x")
    with pytest.raises(InvalidInput, match=problem):
        satchel.constraints.deactivate(added.ref, reason, agent=agent)
    assert satchel.constraints.find().total == 1


def test_a_constraint_of_another_project_is_not_found(open_in: Callable[..., Satchel], project: Path) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    theirs = other.constraints.add("x")
    one.housekeeping.initialise()
    with pytest.raises(NotFound):
        one.constraints.deactivate(theirs.ref)
    assert one.constraints.find(status="all").total == 0
    assert other.constraints.find().constraints == (theirs,)
