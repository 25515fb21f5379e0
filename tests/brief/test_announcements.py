from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from held_stores import refusing_rows
from satchel import Conflict, Message, NewDecision, Satchel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import ManualClock


def told(satchel: Satchel, agent: str) -> tuple[Message, ...]:
    return satchel.messages.inbox(agent=agent).items


def all_messages(satchel: Satchel) -> int:
    with satchel.workplace.engine.read() as transaction:
        row = transaction.one("SELECT count(*) FROM agent_messages")
    assert row is not None
    return int(row[0])


def test_whoever_set_a_decision_learns_that_another_changed_it(satchel: Satchel, clock: ManualClock) -> None:
    satchel.decisions.set("cache", "redis", agent="Ann")
    now = clock.advance(60_000)
    satchel.decisions.set("cache", "memcached", rationale="half the price", agent="Bob")
    (message,) = told(satchel, "Ann")
    assert (message.sender, message.to, message.type, message.priority) == ("Bob", "Ann", "decision", "medium")
    assert message.message == (
        "Decision d1 cache, which Ann had set, was changed (value, rationale): "
        "revision 1 is now 2, get_items ids=decision:cache shows both"
    )
    assert (message.created_at, message.read_at) == (now, None)
    assert told(satchel, "Bob") == ()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"value": "300"}, "value"),
        ({"value": 5.5, "status": "deprecated"}, "value, status deprecated"),
        ({"version": "2"}, "version"),
        ({"layer": None}, "layer"),
        ({"tags": []}, "tags"),
        ({"scopes": ["x"], "rationale": None}, "scopes, rationale"),
    ],
)
def test_the_message_says_what_was_changed(satchel: Satchel, changed: dict[str, Any], said: str) -> None:
    satchel.decisions.set("limit", 300, layer="data", tags=["api"], rationale="why not", agent="Ann")
    satchel.decisions.set("limit", agent="Bob", **changed)
    (message,) = told(satchel, "Ann")
    assert f"was changed ({said}): revision 1 is now 2" in message.message


def test_the_message_repeats_nothing_of_what_was_decided(satchel: Satchel) -> None:
    satchel.decisions.set("note", "oldtext", rationale="oldreason", tags=["oldtag"], agent="Ann")
    satchel.decisions.set("note", "newtext", rationale="newreason", tags=["newtag"], agent="Bob")
    (message,) = told(satchel, "Ann")
    assert not {"old", "new"} & {word[:3] for word in message.message.split()}


@pytest.mark.parametrize("again", ["Ann", "ANN", " ann "])
def test_nobody_is_told_of_a_change_of_their_own(satchel: Satchel, again: str) -> None:
    satchel.decisions.set("cache", "redis", agent="Ann")
    satchel.decisions.set("cache", "memcached", agent=again)
    assert all_messages(satchel) == 0


def test_nobody_is_told_where_nothing_was_changed(satchel: Satchel) -> None:
    satchel.decisions.set("cache", "redis", tags=["api"], agent="Ann")
    satchel.decisions.set("cache", "redis", tags=["API"], agent="Bob")
    assert all_messages(satchel) == 0


def test_nobody_is_told_where_nobody_had_signed(satchel: Satchel) -> None:
    satchel.decisions.set("cache", "redis")
    satchel.decisions.set("cache", "memcached", agent="Bob")
    assert all_messages(satchel) == 0


def test_nobody_is_told_of_a_new_decision(satchel: Satchel) -> None:
    satchel.decisions.set("cache", "redis", agent="Ann")
    satchel.decisions.set("cache_backend", "redis", agent="Bob")
    assert all_messages(satchel) == 0


def test_a_change_by_nobody_in_particular_is_told_too(satchel: Satchel) -> None:
    satchel.decisions.set("cache", "redis", agent="Ann")
    satchel.decisions.set("cache", "memcached")
    (message,) = told(satchel, "Ann")
    assert message.sender is None


def test_only_the_last_to_set_it_is_told(satchel: Satchel) -> None:
    for value, agent in (("redis", "Ann"), ("memcached", "Bob"), ("local", "Cid")):
        satchel.decisions.set("cache", value, agent=agent)
    assert [len(told(satchel, name)) for name in ("Ann", "Bob", "Cid")] == [1, 1, 0]
    assert "revision 2 is now 3" in told(satchel, "Bob")[0].message


def test_the_default_agent_is_told_as_any_other(open_in: Callable[..., Satchel], project: Path) -> None:
    planner, other = open_in(project, agent="planner"), open_in(project, agent="other")
    planner.decisions.set("cache", "redis")
    planner.decisions.set("cache", "memcached")
    assert planner.messages.inbox().total == 0
    other.decisions.set("cache", "local")
    assert [message.sender for message in planner.messages.inbox()] == ["other"]


def test_of_a_batch_each_change_is_told(satchel: Satchel) -> None:
    satchel.decisions.set_many([NewDecision("a", 1), NewDecision("b", 1), NewDecision("c", 1)], agent="Ann")
    satchel.decisions.set_many([NewDecision("a", 2), NewDecision("b", 1), NewDecision("c", 3)], agent="Bob")
    assert [message.message[:13] for message in told(satchel, "Ann")] == ["Decision d3 c", "Decision d1 a"]


def test_a_batch_that_fails_tells_nobody(satchel: Satchel) -> None:
    satchel.decisions.set_many([NewDecision("a", 1), NewDecision("b", 1)], agent="Ann")
    with pytest.raises(Conflict):
        satchel.decisions.set_many([NewDecision("a", 2), NewDecision("b", 2, expected_revision=7)], agent="Bob")
    assert all_messages(satchel) == 0


def test_a_change_that_cannot_be_told_is_not_made(satchel: Satchel) -> None:
    satchel.decisions.set("cache", "redis", agent="Ann")
    before = satchel.decisions.get("cache")
    with refusing_rows(satchel, "agent_messages") as said, pytest.raises(Exception, match=said):
        satchel.decisions.set("cache", "memcached", agent="Bob")
    assert satchel.decisions.get("cache") == before


def test_the_message_is_there_as_soon_as_the_change_is(satchel: Satchel) -> None:
    """A reader who follows by cursor sees both or neither: they lie between the same two numbers."""
    before = satchel.decisions.set("cache", "redis", agent="Ann").seq
    after = satchel.decisions.set("cache", "memcached", agent="Bob").seq
    (message,) = told(satchel, "Ann")
    assert before < after < message.seq == satchel.decisions.find().seq


def test_a_secret_of_either_value_is_not_in_the_message(satchel: Satchel) -> None:
    secret = "ghp_" + "a1B2" * 9
    satchel.decisions.set("token", f"first {secret}", agent="Ann")
    satchel.decisions.set("token", f"then {secret}", rationale=secret, agent="Bob")
    (message,) = told(satchel, "Ann")
    assert "ghp_" not in message.message


def test_what_a_release_fixes_is_fixed_by_the_change_of_its_file_or_by_all(satchel: Satchel, project: Path) -> None:
    paths = ["a.py", "b.py", "c.py"]
    for path in paths:
        (project / path).write_text("1\n")
    satchel.entries.write("bug", {"description": "no type"}, file="b.py", agent="ann")
    satchel.entries.write("bug", {"description": "no order"}, file="d.py", agent="ann")
    satchel.files.claim(paths, agent="ben")
    for path in paths:
        (project / path).write_text("22\n")
    released = satchel.files.release(description="fixes e1 and fixes e2", agent="ben")
    assert released.notes == (
        "bug e1 is closed: fixed by f2; a message tells ann",
        "bug e2 is closed: fixed by f1 to f3; a message tells ann",
    )
    assert [one.message for one in told(satchel, "ann")] == [
        "Your bug e2 is closed: fixed by f1 to f3",
        "Your bug e1 is closed: fixed by f2",
    ]


def test_a_change_closes_the_review_issue_that_it_names_and_says_what_it_cannot_close(satchel: Satchel) -> None:
    satchel.entries.write("review_issue", {"description": "no example"}, agent="ann")
    satchel.entries.write("discovery", "keys rotate", agent="ann")
    change = satchel.files.record("a.py", "modified", description="fixes e1, closes e2, fixed e9", agent="ben")
    assert change.notes == (
        "review_issue e1 is closed: fixed by f1; a message tells ann",
        "e2 is a discovery: a change closes bugs and review issues",
        "e9 is not here: a change closes bugs and review issues",
    )
    assert satchel.items.read(["e1"]).items[0].notes == ("closed by ben: fixed by f1",)
    again = satchel.files.record("a.py", "modified", description="fixes e1", agent="ben")
    assert again.notes == ()


def test_a_description_with_numbers_too_long_or_too_many_is_recorded(satchel: Satchel) -> None:
    long = satchel.files.record("a.py", "modified", description=f"fixes e{'9' * 19}, fixes e{'9' * 18}", agent="ben")
    assert (long.ref, len(long.notes)) == ("f1", 1)
    many = " ".join(f"fixes e{number}" for number in range(1, 1_000))
    assert len(satchel.files.record("a.py", "modified", description=many, agent="ben").notes) == 50


def test_an_agents_change_closes_no_bug_of_a_person_and_none_that_it_says_is_not_fixed(satchel: Satchel) -> None:
    satchel.entries.write("bug", "it hangs", agent="human:ann")
    satchel.entries.write("bug", "it crashes", agent="ben")
    change = satchel.files.record(
        "a.py", "modified", description="fixes e1; does not fix e2, TODO: fix e2", agent="ben"
    )
    assert change.notes == ("e1 is ann's and stays open: tell them that f1 fixes it",)
    assert [one.ref for one in satchel.entries.read(types=["bug"], order="asc")] == ["e1", "e2"]
    satchel.files.record("a.py", "modified", description="closes e1", agent="human:ann")
    assert [one.ref for one in satchel.entries.read(types=["bug"])] == ["e2"]


def test_a_message_that_only_begins_like_a_notice_needs_a_person_and_stays_when_a_proposal_is_settled(
    satchel: Satchel,
) -> None:
    satchel.decisions.set("cache", "redis", agent="human:ann")
    satchel.decisions.set("cache", "valkey", agent="bob")
    quoting = "Decision cache, which ann had set, stays as it is; an agent proposes a change: see the draft d2 but wait"
    for text in (quoting, "Your proposal deletes data: may I?"):
        satchel.messages.send(text, to="human", type="request", agent="cat")
    satchel.decisions.set("cache_draft", status="deprecated", agent="human:ann")
    left = [message.message for message in satchel.messages.inbox(agent="human:ann").items if message.type == "request"]
    assert left == ["Your proposal deletes data: may I?", quoting]
    assert "Your proposal deletes data" in str(satchel.room.needs())
