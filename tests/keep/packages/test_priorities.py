"""How urgent a package is changes by hand and by rule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import Conflict, InvalidInput, NotFound, Package, ReadOnly, Satchel
from satchel.base.vocabulary import PRIORITIES
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock

RULES = [
    ("error", "low", "critical"),
    ("error", "medium", "critical"),
    ("error", "high", "critical"),
    ("blocker", "low", "critical"),
    ("blocker", "medium", "critical"),
    ("blocker", "high", "critical"),
    ("finding", "low", "high"),
    ("finding", "medium", "high"),
    ("resolved", "medium", "low"),
    ("resolved", "high", "low"),
    ("resolved", "critical", "low"),
    ("stale", "medium", "low"),
    ("stale", "high", "low"),
    ("stale", "critical", "low"),
]
"""Event, priority before, priority after."""

UNCHANGED = [
    ("error", "critical"),
    ("blocker", "critical"),
    ("finding", "high"),
    ("finding", "critical"),
    ("resolved", "low"),
    ("stale", "low"),
]


def save(satchel: Satchel, priority: str = "medium") -> Package:
    return satchel.packages.save("x", content="y", priority=priority)


@pytest.mark.parametrize(("event", "before", "after"), RULES)
def test_what_happens_changes_the_priority_by_rule(
    satchel: Satchel, clock: ManualClock, event: str, before: str, after: str
) -> None:
    saved = save(satchel, before)
    now = clock.advance(1_000)
    changed = satchel.packages.react(saved.ref, event)
    assert (changed.priority, changed.updated_at, changed.created_at) == (after, now, saved.created_at)
    assert (changed.seq, changed.notes) == (saved.seq + 1, ())
    assert satchel.packages.find().items == (changed,)


@pytest.mark.parametrize(("event", "before"), UNCHANGED)
def test_what_changes_nothing_says_so(satchel: Satchel, clock: ManualClock, event: str, before: str) -> None:
    saved = save(satchel, before)
    clock.advance(1_000)
    same = satchel.packages.react(saved.ref, event)
    assert same.notes == (f"{saved.ref} is {before} already; {event} does not change that",)
    assert (same.priority, same.updated_at, same.seq) == (before, saved.updated_at, saved.seq)
    assert satchel.packages.find().seq == saved.seq


@pytest.mark.parametrize("before", PRIORITIES)
@pytest.mark.parametrize("after", PRIORITIES)
def test_any_priority_can_be_set_by_hand(satchel: Satchel, clock: ManualClock, before: str, after: str) -> None:
    saved = save(satchel, before)
    now = clock.advance(1_000)
    changed = satchel.packages.set_priority(saved.ref, after)
    is_same = before == after
    assert (changed.priority, changed.updated_at) == (after, saved.updated_at if is_same else now)
    assert changed.notes == ((f"{saved.ref} is {before} already",) if is_same else ())
    assert changed.seq == saved.seq + (not is_same) == satchel.packages.find().seq


def test_a_change_of_priority_is_read_after_a_cursor(satchel: Satchel) -> None:
    first, second = save(satchel), save(satchel)
    cursor = satchel.packages.find().cursor
    satchel.packages.set_priority(second.ref, "low")
    satchel.packages.react(first.ref, "error")
    page = satchel.packages.find(after_seq=cursor)
    assert [(one.id, one.priority) for one in page] == [(second.id, "low"), (first.id, "critical")]


CHANGES: list[Callable[[Satchel, Any], Package]] = [
    lambda satchel, ref: satchel.packages.set_priority(ref, "critical"),
    lambda satchel, ref: satchel.packages.react(ref, "error"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_superseded_package_keeps_its_priority(satchel: Satchel, change: Callable[[Satchel, Any], Package]) -> None:
    old = save(satchel)
    new = satchel.packages.save("x", content="y", supersedes=old.ref)
    with pytest.raises(Conflict, match=f"{old.ref} was superseded by {new.ref} already"):
        change(satchel, old.ref)
    assert satchel.packages.find(status="superseded").items[0].priority == "medium"


@pytest.mark.parametrize("change", CHANGES)
def test_a_package_that_is_not_there_is_said(
    open_in: Callable[..., Satchel], project: Path, change: Callable[[Satchel, Any], Package]
) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    for satchel in (one, other):
        with pytest.raises(NotFound, match="there is no package p1"):
            change(satchel, "p1")
    theirs = save(other)
    with pytest.raises(NotFound):
        change(one, theirs.ref)
    assert other.packages.find().items[0].priority == "medium"


@in_one_test("change", CHANGES)
@in_one_test("ref", ["x1", "", None, True])
def test_what_is_no_id_is_refused(satchel: Satchel, change: Callable[[Satchel, Any], Package], ref: Any) -> None:
    with pytest.raises(InvalidInput, match="is no id of a package"):
        change(satchel, ref)


@in_one_test("priority", ["urgent", "", None, 4])
def test_an_unknown_priority_is_refused(satchel: Satchel, priority: Any) -> None:
    saved = save(satchel)
    with pytest.raises(InvalidInput, match=r"unknown priority .*Valid: low, medium, high, critical"):
        satchel.packages.set_priority(saved.ref, priority)


@in_one_test("event", ["eror", "", None, ["error"]])
def test_an_unknown_event_is_refused(satchel: Satchel, event: Any) -> None:
    saved = save(satchel)
    with pytest.raises(InvalidInput, match=r"unknown event .*Valid: error, blocker, finding, resolved, stale"):
        satchel.packages.react(saved.ref, event)


@pytest.mark.parametrize("change", CHANGES)
def test_a_reader_cannot_change_it(
    open_in: Callable[..., Satchel], project: Path, change: Callable[[Satchel, Any], Package]
) -> None:
    saved = save(open_in(project))
    with pytest.raises(ReadOnly):
        change(open_in(project, read_only=True), saved.ref)
