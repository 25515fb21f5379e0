"""Shared files that somebody edited by hand: what is taken, and what is not written over."""

from __future__ import annotations

import pytest

from keep.shared.sharing_steps import (
    SHARED,
    file_of,
    hand_over,
    pull,
    replace_in_file,
    send,
    share_with_ben,
    waiting_for,
)
from satchel.base.errors import Conflict
from sharing_clones import Team


def test_what_a_person_edited_by_hand_is_theirs_as_git_has_it(team: Team) -> None:
    """The revision has git's author and time, and sync brings the front matter up to date."""
    hand_over(team)
    replace_in_file(team, "ann", "SQLite", "DuckDB")
    send(team, "ann")
    pull(team, "ben")
    team.accept("ben")
    decision = team.clones["ben"].decisions.get("db").decision
    assert (decision.value, decision.agent) == ("DuckDB", "ann")
    team.sync("ben")
    assert "author: ann" in team.files("ben")[file_of(team, "ben")]


def test_an_edit_that_is_not_committed_waits_too(team: Team) -> None:
    """It may be an agent's, and is never overwritten."""
    hand_over(team)
    replace_in_file(team, "ben", "SQLite", "DuckDB")
    team.set("ben", "db", "MySQL")
    done = team.clones["ben"].shared.sync()
    assert next(one.why for one in done.waiting if one.why).endswith("edited here and not committed")
    assert "DuckDB" in team.files("ben")[file_of(team, "ben")]


def _edited_by_ann(team: Team, old: str, new: str) -> None:
    replace_in_file(team, "ann", old, new)
    send(team, "ann")
    pull(team, "ben")
    assert waiting_for(team, "ben") == ["changed"]
    team.accept("ben")


def test_a_rule_that_was_edited_by_hand_keeps_what_it_said_before(team: Team) -> None:
    """Beside the item, since rules have no history; the next sync writes its author."""
    team.clones["ann"].constraints.add("no eval")
    share_with_ben(team, "c1")
    _edited_by_ann(team, "no eval", "no eval, nor exec")
    ben = team.clones["ben"]
    rule = ben.constraints.find().items[0]
    assert (rule.text, rule.agent) == ("no eval, nor exec", "ann")
    assert rule.created_at > team.clones["ann"].constraints.find().items[0].created_at
    (item,) = ben.items.read(["c1"]).items
    assert [(kept.source, kept.line["text"]) for kept in item.kept_states] == [("shared", "no eval")]
    assert len(ben.shared.sync().written) == 1
    send(team, "ben")
    team.settle()
    assert team.clones["ann"].constraints.find().items[0].text == "no eval, nor exec"


def test_a_solution_that_was_edited_by_hand_is_the_later_one(team: Team) -> None:
    """Though its counters moved here meanwhile; a section that was added is another solution."""
    ann, ben = team.clones["ann"], team.clones["ben"]
    ann.patterns.report("ValueError", "bad thing 3", solution="check it first", agent="builder")
    share_with_ben(team, "x1")
    ben.patterns.outcome("y1", helped=True, agent="tester")
    _edited_by_ann(team, "check it first", "check it last")
    (error,) = ben.patterns.find().items
    assert [(one.text, one.confirmed) for one in error.solutions] == [("check it last", 1)]


def test_sharing_writes_over_nothing_that_was_not_seen(team: Team) -> None:
    """Neither over an edit on another branch, nor over a file that an edit has broken."""
    file = hand_over(team)
    path = team.top("ben") / SHARED / file
    for new, problem in (("DuckDB", "has unseen changes"), ("\0", "cannot be read")):
        team.checkout("ben", "main")
        team.checkout_branch("ben", "side")
        before = path.read_text().replace("SQLite", new)
        path.write_text(before)
        (refusal,) = team.clones["ben"].shared.share(["d1"]).refused
        assert problem in refusal[1]
        assert path.read_text() == before
        team.git(team.top("ben"), "checkout", "--quiet", "--", ".")


def test_unsharing_does_not_write_over_a_broken_file(team: Team) -> None:
    """It may be an edit with a slip."""
    file = hand_over(team)
    path = team.top("ben") / SHARED / file
    team.git(team.top("ben"), "update-ref", "-d", "refs/remotes/origin/main")
    team.checkout("ben", "--orphan other")
    path.write_text("broken")
    team.git(team.top("ben"), "branch", "-D", "main")
    with pytest.raises(Conflict, match="cannot be read"):
        team.clones["ben"].shared.unshare(["d1"])
    assert path.read_text() == "broken"
