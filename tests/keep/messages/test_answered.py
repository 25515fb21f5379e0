"""What a sender learns of its messages: who read them, and what answers them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from keep.messages.inboxes import texts
from satchel import Message, Satchel
from satchel.keep.sessions.caller import SERVER


def sent(satchel: Satchel, agent: str) -> list[Message]:
    return list(satchel.messages.inbox(sender=agent, agent=agent))


def test_its_own_name_lists_what_an_agent_sent(satchel: Satchel) -> None:
    satchel.messages.send("to Bob", to="Bob", agent="Ann")
    satchel.messages.send("to all", agent="Ann")
    satchel.messages.send("to Ann", to="Ann", agent="Bob")
    page = satchel.messages.inbox(sender="ANN", agent="Ann")
    assert (texts(page), page.total) == (["to all", "to Bob"], 2)
    assert texts(satchel.messages.inbox(sender="Ann", query="Bob", agent="Ann")) == ["to Bob"]
    assert texts(satchel.messages.inbox(sender="Ann", agent="Bob")) == ["to all", "to Bob"]
    assert not satchel.messages.inbox(sender="Ann", unread=True, agent="Ann").total


def test_who_read_a_message_is_told_to_its_sender_alone(satchel: Satchel) -> None:
    satchel.messages.send("to all", agent="Ann")
    satchel.messages.mark_read(["m1"], agent="Cid")
    satchel.messages.mark_read(["m1"], agent="Bob")
    assert [one.read_by for one in sent(satchel, "Ann")] == [("Bob", "Cid")]
    assert [one.read_by for one in satchel.messages.inbox(agent="Bob")] == [()]


def test_a_message_in_a_briefing_counts_as_read_by_whom_it_was_delivered_to(satchel: Satchel) -> None:
    satchel.messages.send("The schema has changed", to="Bob", agent="Ann")
    assert [one.read_by for one in sent(satchel, "Ann")] == [()]
    satchel.brief(agent="Bob")
    assert [one.read_by for one in sent(satchel, "Ann")] == [("Bob",)]


def test_a_message_names_the_last_that_answers_it(satchel: Satchel) -> None:
    satchel.messages.send("May I?", to="Bob", agent="Ann")
    satchel.messages.send("Wait", reply_to="m1", agent="Bob")
    satchel.messages.send("You may", reply_to="m1", agent="Bob")
    assert [one.answered_by for one in sent(satchel, "Ann")] == [3]
    assert [(one.id, one.answered_by) for one in satchel.messages.inbox(agent="Bob")] == [(1, 3)]


def test_a_reply_of_its_own_sender_answers_no_message(satchel: Satchel) -> None:
    satchel.messages.send("May I?", to="Bob", agent="Ann")
    satchel.messages.send("I go on", reply_to="m1", agent="Ann")
    assert {one.ref: one.answered_by for one in sent(satchel, "Ann")} == {"m1": None, "m2": None}


def test_an_answer_that_has_expired_answers_no_more(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, caller=SERVER)
    satchel.messages.send("May I?", to="Bob", agent="Ann")
    satchel.messages.send("You may", reply_to="m1", agent="Bob")
    with satchel.workplace.engine.write() as transaction:
        transaction.run("UPDATE agent_messages SET expires_at = 0 WHERE id = 2")
    assert [one.answered_by for one in sent(satchel, "Ann")] == [None]


def test_who_answers_a_message_has_read_it(satchel: Satchel) -> None:
    satchel.messages.send("which port?", to="ben", agent="ann")
    satchel.messages.send("and why?", agent="ann")
    satchel.messages.send("80", reply_to="m1", agent="ben")
    page = satchel.messages.inbox(agent="ben")
    assert [(message.message, message.read_at is None) for message in page.items] == [
        ("and why?", True),
        ("which port?", False),
    ]
    assert page.unread == 1


def test_a_question_to_a_person_is_answered_by_a_person_only(satchel: Satchel) -> None:
    satchel.messages.send("may I drop it?", to="human:ann", agent="Bob")
    satchel.messages.send("go on", reply_to="m1", agent="Cat")
    satchel.messages.send("I will", to="human:ann", reply_to="m1", agent="Bob")
    assert [one.answered_by for one in sent(satchel, "Bob") if one.ref == "m1"] == [None]
    satchel.messages.send("no", reply_to="m1", agent="human:ann")
    assert [one.answered_by for one in sent(satchel, "Bob") if one.ref == "m1"] == [4]
