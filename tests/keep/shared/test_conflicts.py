"""Texts that both sides changed, conflict markers, and two items that are one."""

from __future__ import annotations

from pathlib import Path

import pytest

from keep.shared.sharing_steps import SHARED, hand_over, pull, send, set_and_share, value_of, waiting_for
from satchel.base.errors import Conflict
from sharing_clones import Team


def test_both_sides_changed_is_a_conflict_that_keeps_both(team: Team) -> None:
    """Accepting theirs keeps ours in the history, and nothing is written before a person has said so."""
    hand_over(team)
    team.set("ann", "db", "MySQL")
    team.sync("ann")
    send(team, "ann")
    team.set("ben", "db", "PostgreSQL")
    pull(team, "ben")
    done = team.clones["ben"].shared.sync()
    assert [(one.why or "")[:21] for one in done.waiting] == ["changed on both sides"]
    assert done.written == ()
    team.accept("ben")
    found = team.clones["ben"].decisions.get("db")
    assert found.decision.value == "MySQL"
    assert "PostgreSQL" in [state.value for state in found.history.items]


def test_rejecting_keeps_ours_and_asks_no_more(team: Team) -> None:
    """Until the text changes again."""
    hand_over(team)
    team.set("ann", "db", "MySQL")
    team.sync("ann")
    send(team, "ann")
    pull(team, "ben")
    team.clones["ben"].shared.reject(all=True)
    assert value_of(team, "ben") == "SQLite"
    assert waiting_for(team, "ben") == []
    team.set("ann", "db", "DuckDB")
    team.sync("ann")
    send(team, "ann")
    pull(team, "ben")
    assert waiting_for(team, "ben") == ["changed"]


def test_two_items_of_one_key_become_one_and_the_later_text_holds(team: Team) -> None:
    """Both clones choose the same uid and the same text, and the other is kept."""
    set_and_share(team, "ann", value="SQLite")
    send(team, "ann")
    set_and_share(team, "ben", value="MySQL")
    team.commit("ben")
    pull(team, "ben")
    assert [(one or "")[:16] for one in waiting_for(team, "ben")] == ["another item has"]
    team.settle()
    assert {value_of(team, name) for name in team.clones} == {"MySQL"}
    assert [sum("unshared" not in text for text in team.files(name).values()) for name in team.clones] == [1, 1]
    assert team.lost() == []


@pytest.mark.parametrize(("way", "value"), [("ours", "PostgreSQL"), ("theirs", "MySQL"), ("both", "PostgreSQL")])
def test_conflict_markers_are_explained_and_resolved(team: Team, way: str, value: str) -> None:
    """Both keeps the other text below the later one."""
    file = hand_over(team)
    team.set("ann", "db", "MySQL")
    team.sync("ann")
    send(team, "ann")
    team.set("ben", "db", "PostgreSQL")
    team.sync("ben")
    team.commit("ben")
    team.git(team.top("ben"), "fetch", "--quiet")
    team.git(team.top("ben"), "merge", "origin/main", check=False)
    (problem,) = team.clones["ben"].shared.sync().problems
    assert (problem.file, "merge conflict" in problem.problem) == (f"{SHARED}/{file}", True)
    assert team.clones["ben"].shared.sync(resolve=way).resolved == (f"{SHARED}/{file}",)
    text = team.files("ben")[file]
    assert f"\n\n{value}\n" in text
    assert ("Also written by human" in text) == (way == "both")
    assert "MySQL" in text or way == "ours"


def test_broken_markers_are_left_to_an_editor(team: Team) -> None:
    """Nothing is guessed, and nothing written."""
    file = hand_over(team)
    path = team.top("ben") / SHARED / file
    path.write_text(f"{path.read_text()}<<<<<<< HEAD\nx\n")
    before = path.read_text()
    with pytest.raises(Conflict, match="are incomplete"):
        team.clones["ben"].shared.sync(resolve="ours")
    assert path.read_text() == before


def test_the_same_error_met_by_two_is_one(team: Team) -> None:
    """With the solutions of both."""
    for name, solution in (("ann", "check it first"), ("ben", "catch it")):
        team.clones[name].patterns.report("ValueError", "bad thing 3", solution=solution, agent="builder")
        team.clones[name].shared.share(["x1"])
        team.commit(name)
    team.push("ann")
    pull(team, "ben")
    assert [(one or "")[:16] for one in waiting_for(team, "ben")] == ["another item has"]
    team.settle()
    for name in team.clones:
        (error,) = team.clones[name].patterns.find().items
        assert sorted(one.text for one in error.solutions) == ["catch it", "check it first"]
    assert team.files("ann") == team.files("ben")


def test_a_session_takes_what_is_let_in_and_leaves_conflicts_to_a_person(tmp_path: Path, from_template: None) -> None:
    """Nobody would hear from a server that both sides were changed."""
    team = Team(tmp_path / "team", ("ann", "ben"), accepts=True)
    try:
        set_and_share(team)
        send(team, "ann")
        pull(team, "ben")
        team.clones["ben"].shared.read_news()
        assert value_of(team, "ben") == "SQLite"
        team.set("ann", "db", "MySQL")
        team.sync("ann")
        send(team, "ann")
        team.set("ben", "db", "DuckDB")
        pull(team, "ben")
        team.clones["ben"].shared.read_news()
        assert value_of(team, "ben") == "DuckDB"
        assert "1 shared text waits" in team.clones["ben"].brief(budget=1_000).text
        assert "theirs wins, the local state is kept" in team.clones["ben"].shared.sync().notes[0]
        assert value_of(team, "ben") == "MySQL"
    finally:
        team.close()
