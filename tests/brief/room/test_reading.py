"""What a person looks up: a thread, what became of items and of fixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel import Satchel

if TYPE_CHECKING:
    from conftest import ManualClock


def test_an_error_has_what_agents_reported_about_its_solutions(satchel: Satchel, clock: ManualClock) -> None:
    met = satchel.patterns.report("KeyError", "'a'", solution="look before", agent="a")
    assert met.recorded is not None
    for agent in ("b", "c"):
        clock.advance(60_000)
        satchel.patterns.outcome(met.recorded.ref, True, agent=agent)
    words = satchel.room.error(met.pattern.ref).words
    assert [(one.agent, one.helped) for one in words] == [("c", True), ("b", True)]


def test_a_message_has_its_whole_thread_in_order(satchel: Satchel) -> None:
    first = satchel.messages.send("?", to="b", agent="a")
    answer = satchel.messages.send("one", reply_to=first.ref, agent="b")
    below = satchel.messages.send("of one", reply_to=answer.ref, agent="a")
    satchel.messages.send("another", to="b", agent="a")
    thread = satchel.room.thread(answer.ref)
    assert (thread.thread, thread.total) == (first.ref, 3)
    assert [one.ref for one in thread.messages] == [first.ref, answer.ref, below.ref]


def test_a_package_names_what_it_replaces(satchel: Satchel) -> None:
    old = satchel.packages.save("old", content="x", agent="a")
    new = satchel.packages.save("new", content="y", supersedes=old.ref, agent="a")
    assert satchel.room.history(old.ref).replaced_by == new.ref
    assert satchel.room.history(new.ref).replaces == (old.ref,)


def test_a_past_briefing_has_the_items_it_held_as_they_were(satchel: Satchel) -> None:
    note = satchel.entries.write("discovery", "The gateway caches a 401", agent="dev")
    decision = satchel.decisions.set("port", 80, agent="dev")
    satchel.brief(agent="cat", query="gateway")
    satchel.decisions.set("port", 443, agent="dev")
    (briefing,) = satchel.room.briefings().items
    assert (briefing.agent, briefing.moment) == ("cat", "briefing")
    held = {one.ref: (one.text, one.is_changed) for one in briefing.items}
    assert held == {note.ref: ("The gateway caches a 401", False), decision.ref: ("port: 443", True)}


def test_messages_sent_by_a_person_tell_who_got_and_read_and_answered_them(
    satchel: Satchel, clock: ManualClock
) -> None:
    first = satchel.messages.send("Keep it small", to="dev", agent="human:ann")
    second = satchel.messages.send("Use the fake clock", to="ben", agent="human:ann")
    satchel.messages.send("Not hers", to="dev", agent="human:zoe")
    clock.advance(1_000)
    satchel.brief(agent="dev")
    delivered = clock.now
    clock.advance(1_000)
    answer = satchel.messages.send("I will", reply_to=first.ref, agent="dev")
    sent = satchel.room.sent(person="human:ann").items
    assert [(one.ref, one.to, one.answer, one.answered_by) for one in sent] == [
        (second.ref, "ben", None, None),
        (first.ref, "dev", answer.ref, "dev"),
    ]
    assert [(one.agent, one.delivered_at, one.read_at) for one in sent[1].receipts] == [("dev", delivered, clock.now)]
    assert sent[0].receipts == ()
