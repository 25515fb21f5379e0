"""What is shared, refused and unshared: items of every kind, secrets, and folders of the machine."""

from __future__ import annotations

import pytest

from keep.shared.sharing_steps import file_of, hand_over, pull, send, share_with_ben, value_of, waiting_for
from satchel.base.errors import InvalidInput, NotFound
from sharing_clones import Team


def test_paths_of_rules_and_decisions_are_shared(team: Team) -> None:
    """They are globs of the project, the same in every clone."""
    ann, ben = team.clones["ann"], team.clones["ben"]
    rule = ann.constraints.add("All endpoints check the token", paths=["src/api/**", "*.sql"])
    decision = ann.decisions.set("orm", "none", paths=["src/db/"])
    ann.shared.share([rule.ref, decision.ref])
    send(team, "ann")
    pull(team, "ben")
    team.accept("ben")
    assert [one.paths for one in ben.constraints.find()] == [("src/api/**", "*.sql")]
    assert ben.decisions.get("orm").decision.paths == ("src/db/",)


def test_unsharing_leaves_a_tombstone_and_everybodys_item(team: Team) -> None:
    """The item stays where it is, and later changes of it are written no more."""
    file = hand_over(team)
    team.unshare("ann", "db")
    assert "unshared: true" in team.files("ann")[file]
    send(team, "ann")
    pull(team, "ben")
    assert len(team.clones["ben"].shared.sync().ended) == 1
    assert value_of(team, "ben") == "SQLite"
    team.set("ben", "db", "MySQL")
    assert team.clones["ben"].shared.sync().written == ()


def test_what_was_unshared_can_be_shared_again(team: Team) -> None:
    """The tombstone becomes the item again."""
    hand_over(team)
    team.unshare("ann", "db")
    team.share("ann", "db")
    assert "unshared" not in team.files("ann")[file_of(team, "ann")]
    assert team.clones["ann"].shared.sync().in_step == 1


def test_previews_change_nothing(team: Team) -> None:
    """Neither files nor the store."""
    team.set("ann", "db", "SQLite")
    satchel = team.clones["ann"]
    assert satchel.shared.share(["d1"], dry_run=True).items[0].ref == "d1"
    assert team.files("ann") == {}
    team.share("ann", "db")
    before = team.files("ann")
    assert len(satchel.shared.unshare(["d1"], dry_run=True).items) == 1
    team.set("ann", "db", "MySQL")
    assert len(satchel.shared.sync(dry_run=True).written) == 1
    assert team.files("ann") == before
    assert len(satchel.shared.sync().written) == 1


def test_texts_name_no_folder_of_this_machine(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths of the project are relative, homes are not told."""
    monkeypatch.setenv("HOME", str(team.folder))
    top = team.top("ann")
    team.set("ann", "db", f"see {top}/src/a.py in {top}, {team.folder}/x, /home/joe/y and C:\\Users\\joe\\z; /usr/bin")
    team.share("ann", "db")
    (text,) = team.files("ann").values()
    assert "see src/a.py in ., ~/x, ~/y and ~\\z; /usr/bin" in text


def test_an_item_with_a_secret_is_not_shared(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """What slipped into the store, as by an older program, does not slip into the repository."""
    satchel = team.clones["ann"]
    satchel.decisions.set("db", "SQLite")
    token = "ghp_" + "A1b2C3d4" * 4 + "Zz9Y"
    with satchel.workplace.engine.write() as transaction:
        transaction.run("UPDATE decisions SET value_text = :text, seq = seq + 1", {"text": f"use {token}"})
    done = satchel.shared.share(["d1"])
    assert (done.items, done.refused[0][0]) == ((), "d1")
    assert "secret" in done.refused[0][1]
    assert team.files("ann") == {}


def test_every_kind_goes_through_git(team: Team) -> None:
    """Rules, notes, errors with their solutions and strategies arrive as what they are."""
    ann, ben = team.clones["ann"], team.clones["ben"]
    ann.constraints.add("no eval", category="security", priority="high", tags=["api"])
    ann.entries.write("discovery", "the cache is cold at start", file="src/a.py", line=3)
    ann.patterns.report("ValueError", "bad thing 3", solution="check it first", lang="python", agent="builder")
    ann.strategies.save("caching", "warm it before the first request", lang="python")
    done = ann.shared.share(["c1", "e1", "x1", "s1"])
    assert done.refused == ()
    send(team, "ann")
    pull(team, "ben")
    assert not ben.shared.accept(all=True).failed
    rule = ben.constraints.find().items[0]
    assert (rule.text, rule.category, rule.priority, rule.tags) == ("no eval", "security", "high", ("api",))
    note = ben.entries.read().entries[0]
    assert (note.content, note.type, note.file, note.line) == ("the cache is cold at start", "discovery", "src/a.py", 3)
    error = ben.patterns.find().items[0]
    assert (error.error_type, [one.text for one in error.solutions]) == ("ValueError", ["check it first"])
    strategy = ben.strategies.find().items[0]
    assert (strategy.topic, strategy.insight) == ("caching", "warm it before the first request")
    assert ben.shared.sync().written == ()


@pytest.mark.parametrize(
    ("refs", "error", "problem"),
    [
        ([], InvalidInput, "is named"),
        (["d9"], NotFound, "no d9"),
        (["m1"], InvalidInput, "not an item that can be shared"),
        (["zz"], InvalidInput, "no item's id"),
    ],
)
def test_what_cannot_be_shared_is_refused(team: Team, refs: list[str], error: type[Exception], problem: str) -> None:
    """Nothing is written."""
    team.set("ann", "db", "SQLite")
    with pytest.raises(error, match=problem):
        team.clones["ann"].shared.share(refs)
    assert team.files("ann") == {}


def test_what_belongs_to_one_task_or_has_no_solution_is_not_shared(team: Team) -> None:
    """The others of the call are."""
    ann = team.clones["ann"]
    ann.entries.write("scratchpad", {"iteration": 1, "attempted": ["x"]})
    ann.patterns.report("ValueError", "bad thing")
    ann.decisions.set("db", "SQLite")
    done = ann.shared.share(["e1", "x1", "d1"])
    assert [one.ref for one in done.items] == ["d1"]
    assert [ref for ref, _ in done.refused] == ["e1", "x1"]


def test_a_rule_shares_all_that_it_names(team: Team) -> None:
    """Of decisions those that hold."""
    team.set("ann", "a", "1")
    team.set("ann", "b", "2")
    team.clones["ann"].decisions.set("b", status="deprecated")
    assert [one.title for one in team.clones["ann"].shared.share(rule=["decisions"]).items] == ["a"]
    with pytest.raises(InvalidInput, match="unknown rule"):
        team.clones["ann"].shared.share(rule=["all"])


def test_the_end_of_a_rule_is_shared(team: Team) -> None:
    """Who retracts a rule and syncs tells the others."""
    team.clones["ann"].constraints.add("no eval")
    team.clones["ann"].shared.share(["c1"])
    send(team, "ann")
    pull(team, "ben")
    team.accept("ben")
    team.clones["ann"].corrections.retract("c1", "it is fine in tests")
    team.sync("ann")
    send(team, "ann")
    pull(team, "ben")
    assert waiting_for(team, "ben") == ["changed"]
    team.accept("ben")
    rule = team.clones["ben"].items.read(["c1"]).items[0].record
    assert (rule.active, rule.reason) == (False, "it is fine in tests")  # type: ignore[attr-defined]


def test_a_note_that_was_replaced_says_so_to_others(team: Team) -> None:
    """It is found there no more than here."""
    ann, ben = team.clones["ann"], team.clones["ben"]
    ann.entries.write("discovery", "the cache is cold at the start of each day")
    share_with_ben(team, "e1")
    ann.corrections.retract("e1")
    team.sync("ann")
    send(team, "ann")
    pull(team, "ben")
    team.accept("ben")
    assert ben.entries.read().total == 0
