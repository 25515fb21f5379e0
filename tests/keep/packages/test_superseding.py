"""One package replaces another, once and within its run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from satchel import Conflict, NotFound, Package, Satchel
from satchel.keep import kept
from satchel.keep.packages.service import PACKAGE

if TYPE_CHECKING:
    from conftest import ManualClock


def save(satchel: Satchel, summary: str = "x", supersedes: str | None = None, run_id: str | None = None) -> Package:
    return satchel.packages.save(summary, content="y", supersedes=supersedes, run_id=run_id)


def test_the_old_one_says_by_what_and_when_it_was_superseded(satchel: Satchel, clock: ManualClock) -> None:
    old = save(satchel, "old")
    now = clock.advance(1_000)
    new = save(satchel, "new", old.ref)
    (found,) = satchel.packages.find(status="superseded").items
    assert (found.id, found.superseded_by, found.status) == (old.id, new.id, "superseded")
    assert (found.created_at, found.updated_at) == (old.created_at, now)
    assert (found.summary, found.priority) == ("old", old.priority)
    assert satchel.packages.find().items == (new,)


def test_superseding_is_a_change_of_both(satchel: Satchel) -> None:
    old = save(satchel)
    cursor = satchel.packages.find().cursor
    new = save(satchel, supersedes=old.ref)
    assert [one.id for one in satchel.packages.find(after_seq=cursor, status="all")] == [new.id, old.id]


def test_a_superseded_package_is_found_below_live_ones(satchel: Satchel) -> None:
    old = save(satchel, "gateway gateway")
    new = save(satchel, "the gateway signs every request that passes it", old.ref)
    assert [(one.ref, one.status) for one in satchel.finding.search("gateway", status="all").results] == [
        (new.ref, "live"),
        (old.ref, "superseded"),
    ]


def test_one_that_was_superseded_already_names_its_heir(satchel: Satchel) -> None:
    old = save(satchel)
    new = save(satchel, supersedes=old.ref)
    with pytest.raises(Conflict, match=f"{old.ref} was superseded by {new.ref} already. Name {new.ref} instead"):
        save(satchel, supersedes=old.ref)
    assert satchel.packages.find(status="all").total == 2


def test_one_of_another_run_is_not_superseded(satchel: Satchel) -> None:
    for run in ("r1", "r2"):
        satchel.runs.start(run)
    old = save(satchel, run_id="r1")
    with pytest.raises(Conflict, match=f"{old.ref} belongs to run r1, and this is r2. .*run_id=r1"):
        save(satchel, supersedes=old.ref, run_id="r2")
    assert satchel.packages.find(run_id="r2", status="all").total == 0
    assert satchel.packages.find(run_id="r1").items == (old,)


def test_no_run_is_made_to_supersede_in(satchel: Satchel) -> None:
    satchel.runs.start("r1")
    old = save(satchel, run_id="r1")
    satchel.runs.end("r1")
    with pytest.raises(Conflict, match=f"{old.ref} belongs to run r1, and this is main"):
        save(satchel, supersedes=old.ref)
    assert satchel.runs.list().total == 1
    assert save(satchel, supersedes=old.ref, run_id="r1").run_id == "r1"


def test_one_of_another_project_is_not_superseded(open_in: Callable[..., Satchel], project: Path) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    theirs = save(other)
    with pytest.raises(NotFound, match="there is no package"):
        save(one, supersedes=theirs.ref)
    assert [(found.id, found.status) for found in other.packages.find()] == [(theirs.id, "live")]


def test_what_a_forgotten_one_superseded_lives_again(satchel: Satchel) -> None:
    old = save(satchel, "gateway")
    new = save(satchel, supersedes=old.ref)
    cursor = satchel.packages.find().cursor
    satchel.housekeeping.forget(new.ref)
    (found,) = satchel.packages.find(after_seq=cursor).items
    assert (found.id, found.superseded_by, found.updated_at) == (old.id, None, old.updated_at)
    assert satchel.finding.search("gateway").results[0].status == "live"


def test_what_a_forgotten_one_superseded_falls_to_its_heir(satchel: Satchel) -> None:
    first = save(satchel)
    second = save(satchel, supersedes=first.ref)
    third = save(satchel, supersedes=second.ref)
    satchel.housekeeping.forget(second.ref)
    assert [(one.id, one.superseded_by) for one in satchel.packages.find(status="all", order="asc")] == [
        (first.id, third.id),
        (third.id, None),
    ]


def test_forgetting_in_one_project_leaves_that_of_another(open_in: Callable[..., Satchel], project: Path) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    theirs = save(other)
    save(one)
    with pytest.raises(NotFound):
        one.housekeeping.forget(theirs.ref)
    assert [(found.id, found.status) for found in other.packages.find()] == [(theirs.id, "live")]


def test_removing_by_number_removes_nothing_of_another_project(open_in: Callable[..., Satchel], project: Path) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    save(one)
    theirs = save(other, "gateway")
    with one.workplace.engine.write() as transaction:
        kept.delete(PACKAGE, transaction, 1, [theirs.id])
    assert [found.ref for found in other.finding.search("gateway").results] == [theirs.ref]
    assert other.packages.find().total == 1
