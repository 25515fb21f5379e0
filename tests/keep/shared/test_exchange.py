"""Sharing through git: what waits for a person, what goes there and back, and what changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from keep.shared.sharing_steps import (
    SHARED,
    hand_over,
    pull,
    replace_in_file,
    send,
    set_and_share,
    value_of,
    waiting_for,
)
from satchel import Satchel, open_satchel
from satchel.base import git_commands
from satchel.base.errors import NotFound
from satchel.keep.sessions.caller import Caller
from sharing_clones import Team


def test_git_sees_the_shared_files_and_nothing_else(team: Team) -> None:
    """The store stays out of the repository."""
    file = set_and_share(team)
    assert team.git(team.top("ann"), "status", "--short", "--untracked-files=all") == f"?? {SHARED}/{file}"


def test_what_others_wrote_waits_until_a_person_accepts_it(team: Team) -> None:
    """A pull alone makes nothing of it hold."""
    set_and_share(team)
    send(team, "ann")
    pull(team, "ben")
    assert waiting_for(team, "ben") == ["new"]
    assert team.clones["ben"].decisions.find().total == 0
    team.accept("ben")
    assert value_of(team, "ben") == "SQLite"
    assert waiting_for(team, "ben") == []


def test_what_a_person_accepts_is_news_for_a_session_that_began_before(team: Team) -> None:
    """However long ago it was written."""
    set_and_share(team)
    team.add_rule("ann", "keys rotate")
    send(team, "ann")
    pull(team, "ben")
    caller = Caller.of_hook({}, "claude", "s1", begins=True)
    with open_satchel(cwd=team.top("ben"), environ={}, clock=team.tick, caller=caller) as reader:
        reader.sessions.enter()
        assert reader.notices.line(shown_by=None) is None
        team.accept("ben")
        told = reader.notices.line(shown_by=None) or ""
    assert [line.split()[1:4] for line in told.splitlines()] == [["new", "rule", "c1"], ["new", "decision", "d1"]]


def test_a_change_goes_there_and_back_with_its_history(team: Team) -> None:
    """Each side has the other's text, and what it replaced."""
    hand_over(team)
    team.set("ben", "db", "PostgreSQL")
    team.sync("ben")
    send(team, "ben")
    pull(team, "ann")
    assert waiting_for(team, "ann") == ["changed"]
    team.accept("ann")
    found = team.clones["ann"].decisions.get("db")
    assert (found.decision.value, [state.value for state in found.history.items]) == ("PostgreSQL", ["SQLite"])


def test_syncing_again_changes_nothing(team: Team) -> None:
    """Files, store and what git says stay as they are."""
    hand_over(team)
    before = team.files("ben")
    for _ in range(2):
        done = team.clones["ben"].shared.sync()
        assert (done.written, done.waiting, done.in_step) == ((), (), 1)
    assert team.files("ben") == before


def test_a_waiting_text_is_named_by_four_characters_of_its_uid(team: Team) -> None:
    uid = set_and_share(team).removesuffix(".md").rpartition("-")[2]
    send(team, "ann")
    pull(team, "ben")
    shared = team.clones["ben"].shared
    for unknown in (uid[:3], uid[:7] + "x", "0" * 32):
        with pytest.raises(NotFound, match="matches no shared text"):
            shared.accept([unknown])
    shared.accept([uid[:4].upper()])
    assert value_of(team, "ben") == "SQLite"


def test_a_missing_file_means_nothing(team: Team) -> None:
    """Neither here nor on the default branch."""
    file = hand_over(team)
    (team.top("ann") / SHARED / file).unlink()
    send(team, "ann")
    pull(team, "ben")
    done = team.clones["ben"].shared.sync()
    assert (done.ended, done.written, done.in_step) == ((), (), 1)
    assert value_of(team, "ben") == "SQLite"


def test_the_default_branch_is_taken_unasked_where_the_user_says_so(tmp_path: Path, from_template: None) -> None:
    """What only this worktree has waits all the same."""
    team = Team(tmp_path / "team", ("ann", "ben"), accepts=True)
    try:
        set_and_share(team)
        send(team, "ann")
        pull(team, "ben")
        assert [one.title for one in team.clones["ben"].shared.sync().taken] == ["db"]
        replace_in_file(team, "ben", "SQLite", "DuckDB")
        assert len(waiting_for(team, "ben")) == 1
        assert value_of(team, "ben") == "SQLite"
    finally:
        team.close()


def test_an_item_that_is_forgotten_stays_in_its_file_and_does_not_come_back(team: Team) -> None:
    """Forgetting names the file, which git has too."""
    file = hand_over(team)
    forgotten = team.clones["ben"].housekeeping.forget("d1", dry_run=False)
    assert team.top("ben") / SHARED / file in forgotten.still_in
    assert waiting_for(team, "ben") == []
    assert team.clones["ben"].decisions.find().total == 0


def test_looking_for_news_reads_nothing_where_nothing_moved(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a session's start nor a sync starts git for that."""
    hand_over(team)
    team.sync("ben")

    def ask(*_: object, **__: object) -> bytes:
        raise AssertionError("git was asked")

    monkeypatch.setattr(git_commands, "ask_git", ask)
    team.clones["ben"].shared.read_news()
    assert team.clones["ben"].shared.sync().in_step == 1


def test_a_project_outside_of_git_is_synced_through_its_folder(open_in: Callable[..., Satchel], tmp_path: Path) -> None:
    """As where a folder is shared by other means; what somebody changes there waits."""
    (tmp_path / "plain").mkdir()
    satchel = open_in(tmp_path / "plain", here=True, caller="command")
    satchel.decisions.set("db", "SQLite")
    satchel.shared.share(["d1"])
    (file,) = (tmp_path / "plain/.satchel/shared").glob("*.md")
    file.write_text(file.read_text().replace("SQLite", "DuckDB"))
    assert len(satchel.shared.sync().waiting) == 1
    satchel.shared.accept(all=True)
    assert satchel.decisions.get("db").decision.value == "DuckDB"
    satchel.shared.sync()
    assert list(satchel.shared.standing().items) == []
    assert [one.state for one in satchel.shared.standing(all=True).items] == ["in step"]
