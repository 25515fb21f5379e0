from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import apsw
import pytest

from kept_bytes import kept_bytes
from satchel import NotFound, Satchel
from satchel.find.kind import KIND_OF
from satchel.keep.kinds import KINDS
from tables import in_one_test

Fill = Callable[[Satchel, str], Mapping[str, str]]
Deliver = Callable[[Satchel, str], None]

WORD = "xylophonist"
KIND_NAMES = [thing.name.replace("_", " ") for thing in KINDS.values()]


def test_there_is_an_item_of_every_kind_to_forget(satchel: Satchel, fill: Fill) -> None:
    assert sorted(fill(satchel, "x")) == sorted(KIND_NAMES)


def test_an_item_of_any_kind_can_be_forgotten(satchel: Satchel, fill: Fill) -> None:
    refs = fill(satchel, "alpha")
    kept = fill(satchel, "omega")
    left = set(refs.values())

    @in_one_test("kind", KIND_NAMES)
    def forget(kind: str) -> None:
        result = satchel.housekeeping.forget(refs[kind])
        left.remove(refs[kind])
        assert (result.ref, result.kind.replace("_", " "), result.done) == (refs[kind], kind, True)
        assert "alpha" in result.text
        assert {one.ref for one in satchel.finding.search("alpha", limit=500).results} == left
        assert {one.ref for one in satchel.finding.search("omega", limit=500).results} == set(kept.values())
        failed = [check for check in satchel.housekeeping.doctor() if check.status == "failed"]
        assert failed == []

    forget()


def test_nothing_of_what_was_forgotten_stays_in_any_byte(satchel: Satchel, fill: Fill) -> None:
    refs = fill(satchel, WORD)
    assert WORD.encode() in kept_bytes(satchel)
    for ref in refs.values():
        satchel.housekeeping.forget(ref)
    assert WORD[:9].encode() not in kept_bytes(satchel)


def test_a_solution_can_be_forgotten_and_its_error_stays(satchel: Satchel) -> None:
    satchel.patterns.report("KeyError", "no id", solution="alpha first")
    kept = satchel.patterns.report("KeyError", "no id", solution="omega then").recorded
    result = satchel.housekeeping.forget("y1")
    assert (result.ref, result.kind, result.text, result.done) == ("y1", "solution", "alpha first", True)
    (pattern,) = satchel.patterns.find().items
    assert [one.ref for one in pattern.solutions] == [kept.ref if kept else None]
    assert satchel.finding.search("alpha").total == 0
    assert [one.ref for one in satchel.finding.search("omega").results] == [pattern.ref]
    assert [check for check in satchel.housekeeping.doctor() if check.status == "failed"] == []


def test_a_forgotten_solution_counts_as_a_change_of_its_error(satchel: Satchel) -> None:
    before = satchel.patterns.report("KeyError", "no id", solution="alpha").pattern.seq
    satchel.housekeeping.forget("y1")
    assert [one.solutions for one in satchel.patterns.find(after_seq=before).items] == [()]


def test_nothing_of_a_forgotten_solution_stays_in_any_byte(satchel: Satchel) -> None:
    satchel.patterns.report("KeyError", "no id", solution=f"{WORD} first", agent="ann")
    satchel.patterns.report("KeyError", "no id", solution=f"{WORD} first", agent="bob")
    satchel.housekeeping.forget("y1")
    assert WORD[:9].encode() not in kept_bytes(satchel)


def test_a_preview_of_a_solution_removes_nothing(satchel: Satchel) -> None:
    satchel.patterns.report("KeyError", "no id", solution="alpha first")
    result = satchel.housekeeping.forget("y1", dry_run=True)
    assert (result.text, result.done) == ("alpha first", False)
    assert satchel.finding.search("alpha").total == 1


@pytest.mark.parametrize("written", [True, False])
def test_a_solution_that_there_is_none_of_is_said(satchel: Satchel, written: bool) -> None:
    if written:
        satchel.housekeeping.initialise()
    with pytest.raises(NotFound, match="there is no solution y7 in this project"):
        satchel.housekeeping.forget("y7")


def test_a_solution_of_another_project_is_not_found(open_in: Callable[..., Satchel], project: Path) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    other.patterns.report("KeyError", "no id", solution="alpha")
    one.housekeeping.initialise()
    with pytest.raises(NotFound):
        one.housekeeping.forget("y1")
    assert other.finding.search("alpha").total == 1


def test_backups_that_hold_a_solution_are_named(satchel: Satchel) -> None:
    satchel.patterns.report("KeyError", "no id", solution="alpha")
    backup = satchel.housekeeping.backup()
    assert satchel.housekeeping.forget("y1").still_in == (backup.file,)


def test_who_was_given_an_item_is_forgotten_with_it(satchel: Satchel, fill: Fill, deliver: Deliver) -> None:
    refs = fill(satchel, "alpha")
    for ref in refs.values():
        deliver(satchel, ref)
    left = set(refs.values())

    @in_one_test("kind", KIND_NAMES)
    def forget(kind: str) -> None:
        satchel.housekeeping.forget(refs[kind])
        left.remove(refs[kind])
        with satchel.workplace.engine.read() as transaction:
            given = transaction.all("SELECT kind, item_id FROM deliveries")
        assert {KIND_OF[number].ref(item) for number, item in given} == left

    forget()


def test_where_an_error_was_met_is_forgotten_with_it(satchel: Satchel) -> None:
    told = satchel.patterns.report("KeyError", "no id", loop_id="loop-1", agent="ann", solution="alpha")
    satchel.patterns.report("KeyError", "no id", agent="bob", solution="alpha")
    satchel.housekeeping.forget(told.pattern.ref)
    with satchel.workplace.engine.read() as transaction:
        for table in ("error_reports", "error_solutions", "solution_confirmations"):
            assert transaction.all(f"SELECT * FROM {table}") == []


def test_a_decision_goes_with_its_whole_history(satchel: Satchel) -> None:
    decision = satchel.decisions.set("key", "first")
    satchel.decisions.set("key", "second")
    satchel.housekeeping.forget(decision.ref)
    with satchel.workplace.engine.read() as transaction:
        assert transaction.all("SELECT 1 FROM decision_history") == []
    with pytest.raises(NotFound):
        satchel.decisions.get("key")


def test_a_preview_removes_nothing(satchel: Satchel, fill: Fill) -> None:
    refs = fill(satchel, "alpha")

    @in_one_test("kind", KIND_NAMES)
    def preview(kind: str) -> None:
        result = satchel.housekeeping.forget(refs[kind], dry_run=True)
        assert (result.ref, result.done, result.wal_emptied) == (refs[kind], False, False)
        assert satchel.finding.search("alpha", limit=0).total == len(KINDS)

    preview()


@in_one_test("letter", [kind.letter for kind in KINDS])
def test_an_item_that_there_is_none_of_is_said(satchel: Satchel, letter: str) -> None:
    satchel.housekeeping.initialise()
    with pytest.raises(NotFound, match=f"there is no .* {letter}7 in this project"):
        satchel.housekeeping.forget(f"{letter}7")


def test_an_item_of_another_project_is_not_found(open_in: Callable[..., Satchel], project: Path, fill: Fill) -> None:
    one, other = open_in(project, project="one"), open_in(project, project="other")
    theirs = fill(other, "alpha")
    one.housekeeping.initialise()

    @in_one_test("kind", KIND_NAMES)
    def forget(kind: str) -> None:
        with pytest.raises(NotFound):
            one.housekeeping.forget(theirs[kind])
        assert other.finding.search("alpha", limit=0).total == len(KINDS)

    forget()


def test_backups_that_hold_the_item_are_named(satchel: Satchel, fill: Fill) -> None:
    satchel.housekeeping.initialise()
    satchel.housekeeping.backup()
    refs = fill(satchel, "alpha")
    after = satchel.housekeeping.backup()
    still_in = {kind: satchel.housekeeping.forget(refs[kind]).still_in for kind in KIND_NAMES}
    assert still_in == dict.fromkeys(KIND_NAMES, (after.file,))


def test_a_backup_from_before_there_were_constraints_does_not_hold_one(satchel: Satchel) -> None:
    added = satchel.constraints.add("x")
    backup = satchel.housekeeping.backup()
    with apsw.Connection(str(backup.file)) as old:
        old.execute("PRAGMA foreign_keys = OFF")
        for (view,) in list(old.execute("SELECT name FROM sqlite_schema WHERE type = 'view'")):
            old.execute(f"DROP VIEW {view}")
        old.execute("DROP TABLE constraints")
    old.close()
    result = satchel.housekeeping.forget(added.ref)
    assert (result.still_in, result.unreadable) == ((), ())
