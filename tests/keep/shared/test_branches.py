"""Branches, worktrees and old commits: which text counts, and what changes nothing."""

from __future__ import annotations

import pytest

from keep.shared.sharing_steps import file_of, hand_over, pull, send, set_and_share, value_of, waiting_for
from sharing_clones import Team


def test_bringing_back_an_old_text_by_git_is_a_change(team: Team) -> None:
    """A text that was seen before is news where somebody brought it back on the default branch."""
    hand_over(team)
    team.set("ann", "db", "MySQL")
    team.sync("ann")
    send(team, "ann")
    pull(team, "ben")
    team.accept("ben")
    team.git(team.top("ann"), "revert", "--no-edit", "HEAD")
    team.git(team.top("ann"), "push", "--quiet", "origin", "main")
    pull(team, "ben")
    assert waiting_for(team, "ben") == ["changed"]
    team.accept("ben")
    assert value_of(team, "ben") == "SQLite"


def test_where_ours_says_something_else_than_the_default_branch_is_told(team: Team) -> None:
    """What is not committed yet, what went with a branch, and what has no file at all."""
    hand_over(team)
    ben = team.clones["ben"].shared

    def told() -> list[tuple[str, str]]:
        return [(one.state, (one.why or "")[:17]) for one in ben.standing(all=True).items]

    assert told() == [("in step", "")]
    team.set("ben", "db", "MySQL")
    assert told() == [("ahead", "changed here: sat")]
    team.sync("ben")
    assert told() == [("ahead", "in its file, but ")]
    team.git(team.top("ben"), "checkout", "--quiet", "--", ".")
    assert told() == [("ahead", "the local item di")]
    team.clones["ben"].decisions.set("cache", "none")
    ben.share(["d2"])
    team.git(team.top("ben"), "clean", "--quiet", "--force", "-d")
    assert ("no file", "no file here or o") in told()


@pytest.mark.parametrize("what", ["--detach HEAD~1", "-b old HEAD~1"])
def test_checking_out_an_old_commit_changes_nothing(team: Team, what: str) -> None:
    """Neither is the old text taken nor the file written."""
    hand_over(team)
    team.set("ben", "db", "MySQL")
    team.sync("ben")
    team.commit("ben")
    team.checkout("ben", what)
    before = team.files("ben")
    done = team.clones["ben"].shared.sync()
    assert (done.written, done.waiting) == ((), ())
    assert (team.files("ben"), value_of(team, "ben")) == (before, "MySQL")


def test_moving_the_default_branch_back_changes_nothing(team: Team) -> None:
    """What it said before is an old copy."""
    hand_over(team)
    team.set("ben", "db", "MySQL")
    team.sync("ben")
    team.commit("ben")
    team.sync("ben")
    team.git(team.top("ben"), "reset", "--quiet", "--hard", "HEAD~1")
    done = team.clones["ben"].shared.sync()
    assert (done.written, done.waiting, value_of(team, "ben")) == ((), (), "MySQL")


def test_a_linked_worktree_shares_the_store_and_changes_nothing(team: Team) -> None:
    """Its files are of another commit."""
    hand_over(team)
    team.set("ben", "db", "MySQL")
    team.sync("ben")
    team.commit("ben")
    team.in_worktree("ben", "HEAD~1")
    assert value_of(team, "ben") == "MySQL"
    assert "MySQL" in team.files("ben")[file_of(team, "ben")]


def test_another_branchs_text_is_shown_as_that_and_not_taken(team: Team) -> None:
    """It is taken once it is merged."""
    hand_over(team)
    team.checkout("ann", "-b side")
    team.set("ann", "db", "MySQL")
    team.sync("ann")
    team.commit("ann")
    team.git(team.top("ann"), "push", "--quiet", "origin", "side")
    team.git(team.top("ben"), "fetch", "--quiet")
    team.checkout("ben", "side")
    assert waiting_for(team, "ben") == []
    (item,) = team.clones["ben"].shared.standing().items
    assert (item.state, item.why) == ("elsewhere", "on branch side")
    team.checkout("ben", "main")
    team.git(team.top("ben"), "merge", "--quiet", "origin/side")
    assert waiting_for(team, "ben") == ["changed"]


def test_a_new_text_of_another_branch_is_shown_as_that_and_a_waiting_one_on_an_own_branch_waits(team: Team) -> None:
    set_and_share(team)
    send(team, "ann")
    team.checkout("ann", "-b side")
    team.set("ann", "cache", "Redis")
    team.share("ann", "cache")
    team.commit("ann")
    team.git(team.top("ann"), "push", "--quiet", "origin", "side")
    pull(team, "ben")
    team.git(team.top("ben"), "fetch", "--quiet")
    team.checkout("ben", "side")
    items = team.clones["ben"].shared.standing().items
    assert {one.title: one.state for one in items} == {"db": "waits", "cache": "elsewhere"}


def test_what_was_fetched_and_not_pulled_is_read(team: Team) -> None:
    """Who works on a branch of their own learns of the default branch all the same."""
    hand_over(team)
    team.set("ann", "db", "MySQL")
    team.sync("ann")
    send(team, "ann")
    team.git(team.top("ben"), "fetch", "--quiet")
    assert waiting_for(team, "ben") == ["changed"]
