"""Releasing claims."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agents_here import agents
from conftest import ManualClock
from keep.files.claims_shown import SECRET, held
from satchel import InvalidInput, Released, Satchel
from satchel.keep.sessions.caller import SERVER


def test_releasing_frees_what_is_named_and_says_what_was_not_held(satchel: Satchel) -> None:
    satchel.files.claim(["a", "src/", "c"], agent="Ann")
    satchel.files.claim(["theirs"], agent="bob")
    assert satchel.files.release(["theirs", "./src/", "a", "src/x", "a", "never"], agent="ann") == Released(
        agent="Ann", released=("src/**", "a"), not_held=("theirs", "src/x", "never")
    )
    assert held(satchel) == [("Ann", "c"), ("bob", "theirs")]


def test_releasing_without_paths_frees_all_of_the_agents_own(satchel: Satchel) -> None:
    satchel.files.claim(["b", "a"], agent="ann")
    satchel.files.claim(["c"], agent="bob")
    assert satchel.files.release(agent="ann") == Released("ann", ("a", "b"), ())
    assert held(satchel) == [("bob", "c")]


def test_an_agent_that_nobody_is_holds_nothing_and_is_not_registered(satchel: Satchel) -> None:
    satchel.files.claim(["a"], agent="ann")
    assert satchel.files.release(["a"], agent="bob") == Released("bob", (), ("a",))
    assert [agent.name for agent in agents(satchel)] == ["ann"]


def test_releasing_before_the_first_write_frees_nothing(satchel: Satchel) -> None:
    assert satchel.files.release(agent="ann") == Released("ann", (), ())
    assert satchel.housekeeping.statistics().project is None


def test_the_default_agent_claims_and_releases(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, agent="ann")
    satchel.files.claim(["a", "b"])
    satchel.files.claim(["c"], agent="bob")
    assert satchel.files.release(["a", "c"]) == Released("ann", ("a",), ("c",))


def test_a_new_name_releases_what_its_session_holds(open_in: Callable[..., Satchel], project: Path) -> None:
    server = open_in(project, caller=SERVER)
    server.files.claim(["a"], agent="ann")
    assert server.files.release(agent="sub").released == ("a",)


def test_what_is_held_by_name_and_in_a_session_is_released_together(
    satchel: Satchel, open_in: Callable[..., Satchel], project: Path
) -> None:
    server = open_in(project, caller=SERVER)
    server.files.claim(shared=["a"], agent="bob")
    satchel.files.claim(shared=["a"], agent="ann")
    assert server.files.release(agent="ann").released == ("a",)
    assert held(satchel) == []


def test_releasing_with_a_description_records_what_became_of_each_file(satchel: Satchel, project: Path) -> None:
    for name in ("kept.py", "gone.py"):
        (project / name).touch()
    satchel.files.claim(["kept.py", "gone.py", "new.py", "never.py", "src/", "issue:311"], agent="ann")
    (project / "gone.py").unlink()
    (project / "new.py").touch()
    released = satchel.files.release(description="split the parser", agent="Ann")
    told = {change.file: change.change for change in released.changes}
    assert told == {"kept.py": "modified", "gone.py": "deleted", "new.py": "created"}
    assert released.notes == ()
    assert set(satchel.files.changes().items) == set(released.changes)
    assert {(change.agent, change.description) for change in released.changes} == {("ann", "split the parser")}
    assert [found.file for found in satchel.finding.search("parser new.py").results][:1] == ["new.py"]


@pytest.mark.parametrize("is_edited", [True, False])
def test_one_description_is_of_the_files_that_were_edited_or_of_all(
    satchel: Satchel, project: Path, clock: ManualClock, is_edited: bool
) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (project / name).touch()
        os.utime(project / name, (clock.now / 1_000 - 60,) * 2)
    satchel.files.claim(["a.py", "b.py", "c.py"], agent="ann")
    if is_edited:
        (project / "a.py").write_text("x")
    released = satchel.files.release(description="split", descriptions={"c.py": "looked"}, agent="ann")
    told = {change.file: change.description for change in released.changes}
    assert told == {"a.py": "split", "c.py": "looked"} | ({} if is_edited else {"b.py": "split"})
    assert released.notes == ("no change was recorded of b.py: not edited since it was claimed",) * is_edited


def test_a_renewed_claim_remembers_that_its_file_was_not_there(satchel: Satchel, project: Path) -> None:
    satchel.files.claim(["new.py"], agent="ann")
    (project / "new.py").touch()
    satchel.files.claim(["new.py"], agent="ann")
    (change,) = satchel.files.release(["new.py"], description="x", agent="ann").changes
    assert change.change == "created"


def test_what_was_not_held_is_not_recorded_and_that_is_said(satchel: Satchel, project: Path) -> None:
    (project / "theirs.py").touch()
    satchel.files.claim(["theirs.py"], agent="bob")
    satchel.files.claim(["src/"], agent="ann")
    released = satchel.files.release(["theirs.py", "src/"], description="x", agent="ann")
    assert (released.released, released.not_held, released.changes) == (("src/**",), ("theirs.py",), ())
    assert released.notes == ("no change was recorded: no file was released",)
    assert satchel.files.changes().total == 0


def test_without_a_description_nothing_is_recorded(satchel: Satchel, project: Path) -> None:
    (project / "a.py").touch()
    satchel.files.claim(["a.py"], agent="ann")
    assert satchel.files.release(agent="ann").changes == ()
    assert satchel.files.changes().total == 0


def test_a_secret_in_the_description_is_redacted_and_said(satchel: Satchel, project: Path) -> None:
    (project / "a.py").touch()
    satchel.files.claim(["a.py"], agent="ann")
    released = satchel.files.release(description=f"rotated {SECRET}", agent="ann")
    assert SECRET not in str(released.changes[0].description)
    assert ["redacted" in note for note in released.notes] == [True]


def test_a_description_that_is_not_acceptable_is_refused_and_nothing_is_released(satchel: Satchel) -> None:
    satchel.files.claim(["a.py"], agent="ann")
    with pytest.raises(InvalidInput, match="description is empty"):
        satchel.files.release(description=" ", agent="ann")
    assert held(satchel) == [("ann", "a.py")]


def test_the_release_and_its_change_stand_or_fall_together(
    satchel: Satchel, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a.py").touch()
    satchel.files.claim(["a.py"], agent="ann")

    def fail(*_: object) -> None:
        raise InvalidInput("no")

    monkeypatch.setattr("satchel.keep.files.changes.insert", fail)
    with pytest.raises(InvalidInput):
        satchel.files.release(description="x", agent="ann")
    assert held(satchel) == [("ann", "a.py")]


def test_the_changes_of_one_release_have_one_time_though_the_clock_goes_on(
    satchel: Satchel, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (project / name).write_text("1")
    satchel.files.claim(["a", "b"], agent="ann")
    monkeypatch.setattr(ManualClock, "__call__", lambda clock: clock.advance(1))
    changes = satchel.files.release(descriptions={"a": "one", "b": "other"}, agent="ann").changes
    assert len({one.created_at for one in changes}) == 1 < len(changes)
