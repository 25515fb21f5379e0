"""Recording changes of files: what is kept of one, how long, and in the index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from days_of_use import vouch_in
from keep.files.claims_shown import SECRET, numbers
from kept_bytes import kept_bytes
from satchel import FileChange, Found, InvalidInput, Satchel, StoreDamaged, TooLarge
from satchel.base.clock import iso
from satchel.find.index import index_of
from satchel.keep import kept as kept_items
from satchel.keep.files import changes as file_changes
from satchel.keep.files.kind import FILE_CHANGE
from satchel.keep.files.records import CHANGES
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock

HOUR = 3_600_000


def test_every_field_of_a_change_comes_back(open_in: Callable[..., Satchel], project: Path, clock: ManualClock) -> None:
    satchel = open_in(project, settings={"retention.file_changes_hours": 5})
    kept = satchel.files.record(
        f"{project}/src/./a.py", "deleted", description="moved to b.py", layer="Business", agent="Ann"
    )
    assert satchel.files.changes().items == (kept,)
    assert kept == FileChange(
        id=kept.id,
        uid=kept.uid,
        seq=satchel.housekeeping.statistics().seq,
        file="src/a.py",
        change="deleted",
        agent="Ann",
        worktree=None,
        layer="business",
        description="moved to b.py",
        created_at=clock.now,
        expires_at=clock.now + 5 * HOUR,
    )
    assert (kept.ref, len(bytes.fromhex(kept.uid))) == (f"f{kept.id}", 16)


def test_a_change_needs_no_more_than_a_file_and_what_happened(satchel: Satchel) -> None:
    kept = satchel.files.record("a.py", "created")
    assert satchel.files.changes().items == (kept,)
    assert (kept.agent, kept.layer, kept.description, kept.worktree) == (None, None, None, None)


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_comes_back_as_it_was_given(satchel: Satchel, change: str) -> None:
    assert satchel.files.record("a.py", change).change == change
    assert [one.change for one in satchel.files.changes(change=change)] == [change]


def test_the_default_agent_made_a_change_that_names_none(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, agent="ann")
    assert satchel.files.record("a.py", "created").agent == "ann"
    assert satchel.files.record("a.py", "created", agent="bob").agent == "bob"


def test_two_edits_of_one_file_are_two_changes_of_the_same_file(satchel: Satchel) -> None:
    first, second = (satchel.files.record(file, "modified") for file in ("src/a.py", "./src/a.py"))
    assert numbers(satchel.files.changes(file="src/a.py")) == [second.id, first.id]
    assert second.seq > first.seq
    with satchel.workplace.engine.read() as transaction:
        assert transaction.all("SELECT path FROM files") == [("src/a.py",)]


def test_a_secret_in_a_description_is_redacted_and_said(satchel: Satchel) -> None:
    kept = satchel.files.record("a.py", "modified", description=f"rotated {SECRET}\x07")
    assert SECRET not in str(kept.description)
    assert len(kept.notes) == 2
    assert [one.description for one in satchel.files.changes()] == [kept.description]


@pytest.fixture
def known(satchel: Satchel) -> Satchel:
    satchel.files.record("known.py", "created")
    return satchel


@in_one_test(
    ("arguments", "problem"),
    [
        ({"file": "../x"}, "names no file of the project"),
        ({"file": "/etc/passwd"}, "outside the project"),
        ({"file": "x" * 10_000}, "file has 10000 characters"),
        ({"file": f"keys/{SECRET}"}, "file looks like a secret"),
        ({"file": ""}, "file is empty"),
        ({"file": None}, "file must be text"),
        ({"change": "modify"}, "unknown change 'modify'. Did you mean 'modified'"),
        ({"change": None}, "Valid: created, modified, deleted"),
        ({"change": ["created"]}, "Valid: created, modified, deleted"),
        ({"layer": "busines"}, "Did you mean 'business'"),
        ({"layer": " "}, "layer is empty"),
        ({"agent": "{{agent}}"}, "unresolved placeholder"),
        ({"agent": ""}, "agent is empty"),
        ({"description": " "}, "description is empty"),
        ({"description": 5}, "description must be text"),
    ],
)
def test_a_change_that_is_not_acceptable_is_refused_and_nothing_is_written(
    known: Satchel, arguments: dict[str, Any], problem: str
) -> None:
    before = kept_bytes(known)
    with pytest.raises(InvalidInput) as refused:
        known.files.record(**{"file": "a.py", "change": "created", "agent": "new", **arguments})
    assert problem in str(refused.value)
    assert kept_bytes(known) == before
    assert known.files.changes().total == 1


def test_a_description_above_the_limit_is_refused(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, settings={"context.max_content_kib": 1})
    with pytest.raises(TooLarge, match=r"^description has"):
        satchel.files.record("a.py", "created", description="x" * 1_100)


def test_a_new_layer_is_recorded_only_where_layers_are_open(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, settings={"layers.open": True})
    assert satchel.files.record("a.py", "created", layer="Edge").layer == "Edge"
    assert satchel.files.changes(layer="edge").total == 1


def test_an_expired_change_is_hidden_at_once_from_every_way_of_reading(satchel: Satchel, clock: ManualClock) -> None:
    old = satchel.files.record("a.py", "modified", description="note")
    clock.advance(1_000)
    new = satchel.files.record("a.py", "modified", description="note")
    clock.now = old.expires_at - 1
    assert satchel.files.changes().total == 2
    clock.now = old.expires_at
    for filters in ({}, {"query": "note"}, {"file": "a.py"}, {"file": "."}, {"after_seq": 0}, {"change": "modified"}):
        assert numbers(satchel.files.changes(**filters)) == [new.id]
    assert [one.ref for one in satchel.finding.search("note").results] == [new.ref]


def test_what_has_expired_leaves_the_store_when_something_is_recorded(satchel: Satchel, clock: ManualClock) -> None:
    old = satchel.files.record("a.py", "modified")
    clock.now = old.expires_at
    vouch_in(satchel, clock.now)
    new = satchel.files.record("b.py", "modified")
    with satchel.workplace.engine.read() as transaction:
        assert transaction.all("SELECT id FROM file_changes") == [(new.id,)]
        assert transaction.all("SELECT item_id FROM documents") == [(new.id,)]


def test_weekends_are_passed_over_where_that_is_configured(open_in: Callable[..., Satchel], project: Path) -> None:
    friday_noon = 1_795_176_000_000  # 2026-11-20T12:00Z
    satchel = open_in(
        project,
        clock=lambda: friday_noon,
        settings={"retention.skip_weekends": True, "retention.file_changes_hours": 24},
    )
    kept = satchel.files.record("a.py", "created")
    assert iso(kept.expires_at) == "2026-11-23T12:00:00.000Z"


def unscored(satchel: Satchel) -> list[Found]:
    return [replace(one, score=0) for one in satchel.finding.search("note").results]


def test_the_index_of_changes_can_be_made_anew(satchel: Satchel, clock: ManualClock) -> None:
    expiring = satchel.files.record("src/a.py", "created", description="note", agent="ann")
    clock.advance(1_000)
    other = satchel.files.record("src/b.py", "deleted", description="note")
    before = unscored(satchel)
    with satchel.workplace.engine.write() as transaction:
        transaction.run("DELETE FROM documents")
        index_of(transaction).empty()
    assert satchel.finding.search("note").total == 0
    satchel.finding.rebuild(lambda done, total: None)  # noqa: ARG005 -- nobody watches
    assert unscored(satchel) == before
    assert numbers(satchel.files.changes(query="note", author="ann", change="created", file="src/a.py")) == [
        expiring.id
    ]
    clock.now = expiring.expires_at
    assert [one.ref for one in satchel.finding.search("note").results] == [other.ref]


def test_deleted_changes_leave_the_index_too(satchel: Satchel) -> None:
    gone, kept = (satchel.files.record("a.py", "modified", description="note") for _ in range(2))
    with satchel.workplace.engine.write() as transaction:
        kept_items.delete(FILE_CHANGE, transaction, 1, [gone.id])
        assert file_changes.DOCUMENTS.texts(transaction, [gone.id, kept.id]) == {kept.id: "a.py\nnote"}
    assert numbers(satchel.files.changes()) == numbers(satchel.files.changes(query="note")) == [kept.id]
    checks = {check.name: check.status for check in satchel.housekeeping.doctor()}
    assert checks[satchel.workplace.engine.upkeep.soundness[0]] == checks["index"] == "ok"


def test_a_search_that_finds_what_is_not_kept_is_reported_as_damage(satchel: Satchel) -> None:
    kept = satchel.files.record("a.py", "modified", description="note")
    with satchel.workplace.engine.write() as transaction:
        transaction.run("DELETE FROM file_changes WHERE id = :id", {"id": kept.id})
    with pytest.raises(StoreDamaged, match="satchel doctor --rebuild"):
        satchel.files.changes(query="note")
