"""Whose inbox holds what, threads, and the search over everything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agents_here import agents, register
from keep.messages.inboxes import HOUR, texts
from satchel import InvalidInput, Satchel
from satchel.find.index import index_of

if TYPE_CHECKING:
    from conftest import ManualClock


class TestWhoSeesWhat:
    def test_two_agents_over_one_connection_have_two_inboxes(self, satchel: Satchel) -> None:
        satchel.messages.send("to Bob", to="Bob", agent="Ann")
        satchel.messages.send("to Ann", to="Ann", agent="Bob")
        assert texts(satchel.messages.inbox(agent="Ann")) == ["to Ann"]
        assert texts(satchel.messages.inbox(agent="Bob")) == ["to Bob"]

    def test_a_broadcast_reaches_everyone_but_its_sender(self, satchel: Satchel) -> None:
        satchel.messages.send("hear", agent="Ann")
        assert {name: satchel.messages.inbox(agent=name).total for name in ("Ann", "Bob", "Cid")} == {
            "Ann": 0,
            "Bob": 1,
            "Cid": 1,
        }

    def test_a_name_in_another_case_has_the_same_inbox(self, satchel: Satchel) -> None:
        satchel.messages.send("to Bob", to="Bob", agent="Ann")
        page = satchel.messages.inbox(agent="bOB")
        assert (page.agent, page.total) == ("Bob", 1)

    def test_an_agent_that_was_never_heard_of_sees_the_broadcasts(self, satchel: Satchel) -> None:
        satchel.messages.send("hear", agent="Ann")
        satchel.messages.send("secretly", to="Bob", agent="Ann")
        page = satchel.messages.inbox(agent="Newcomer")
        assert (page.agent, page.unread, texts(page)) == ("Newcomer", 1, ["hear"])

    def test_projects_of_one_store_are_apart(self, open_in: Callable[..., Satchel], project: Path) -> None:
        mine, other = open_in(project, project="mine"), open_in(project, project="other")
        other.messages.send("to all", agent="Ann")
        other.messages.send("to Bob", to="Bob", agent="Ann")
        mine.messages.send("hello", agent="Cid")
        assert texts(mine.messages.inbox(agent="Bob")) == ["hello"]
        assert mine.messages.inbox(agent="Bob").unread == 1

    def test_the_default_agent_reads_its_own_and_another_may_be_named(
        self, open_in: Callable[..., Satchel], project: Path
    ) -> None:
        satchel = open_in(project, agent="Ann")
        satchel.messages.send("to Bob", to="Bob")
        satchel.messages.send("to Ann", to="Ann")
        assert texts(satchel.messages.inbox()) == ["to Ann"]
        assert texts(satchel.messages.inbox(agent="Bob")) == ["to Bob"]

    def test_without_an_agent_the_answer_says_how_to_give_one(self, satchel: Satchel) -> None:
        with pytest.raises(InvalidInput, match=r"needs an agent.*--agent or SATCHEL_AGENT"):
            satchel.messages.inbox()


class TestReadingWritesNothing:
    @pytest.mark.no_store
    def test_reading_makes_no_store(self, satchel: Satchel, project: Path) -> None:
        page = satchel.messages.inbox(agent="Ann")
        assert (page.items, page.total, page.unread, page.seq, page.agent) == ((), 0, 0, 0, "Ann")
        assert page.notes == ("nothing was written for this project yet",)
        assert not satchel.workplace.engine.exists()
        assert not (project / ".satchel").exists()

    def test_reading_registers_nobody_and_marks_nothing(self, satchel: Satchel) -> None:
        satchel.messages.send("hear", agent="Ann")
        seq = satchel.housekeeping.statistics().seq
        satchel.messages.inbox(agent="Bob", sender="Cid")
        assert satchel.messages.inbox(agent="Bob").unread == 1
        assert [agent.name for agent in agents(satchel)] == ["Ann"]
        assert satchel.housekeeping.statistics().seq == seq

    def test_reading_works_where_nothing_can_be_written(self, open_in: Callable[..., Satchel], project: Path) -> None:
        open_in(project).messages.send("hear", agent="Ann")
        assert open_in(project, read_only=True).messages.inbox(agent="Bob").total == 1


class TestThreads:
    @pytest.fixture
    def talk(self, satchel: Satchel) -> Satchel:
        """m1 Ann to Bob, m2 Bob to Ann, m3 Ann to Cid, m4 Bob to all, all in one thread; m5 Ann to Bob in another."""
        send = satchel.messages.send
        send("m1 cat", to="Bob", agent="Ann")
        send("m2", reply_to="m1", agent="Bob")
        send("m3", reply_to="m2", to="Cid", type="warning", agent="Ann")
        send("m4 cat", reply_to="m1", to="all", priority="high", agent="Bob")
        send("m5", to="Bob", agent="Ann")
        return satchel

    @pytest.mark.parametrize("ref", ["m1", "m2", 3, "4"])
    def test_any_message_of_a_thread_names_it(self, talk: Satchel, ref: str | int) -> None:
        assert texts(talk.messages.inbox(agent="Ann", thread=ref)) == ["m4 cat", "m3", "m2", "m1 cat"]

    def test_each_sees_what_it_sent_or_got(self, talk: Satchel) -> None:
        assert texts(talk.messages.inbox(agent="Bob", thread="m1")) == ["m4 cat", "m2", "m1 cat"]
        assert texts(talk.messages.inbox(agent="Cid", thread="m1")) == ["m4 cat", "m3"]
        assert texts(talk.messages.inbox(agent="Dora", thread="m1")) == ["m4 cat"]

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({"order": "asc"}, ["m1 cat", "m2", "m3", "m4 cat"]),
            ({"unread": True}, ["m4 cat"]),
            ({"types": ["warning"]}, ["m3"]),
            ({"priority": "high"}, ["m4 cat"]),
            ({"sender": "Ann"}, ["m3", "m1 cat"]),
            ({"query": "cat"}, ["m4 cat", "m1 cat"]),
            ({"after_seq": 0, "limit": 2}, ["m1 cat", "m2"]),
            ({"limit": 1, "offset": 2}, ["m2"]),
        ],
    )
    def test_filters_hold_in_a_thread(self, talk: Satchel, options: dict[str, Any], expected: list[str]) -> None:
        talk.messages.mark_read(["m2"], agent="Ann")
        assert texts(talk.messages.inbox(agent="Ann", thread="m1", **options)) == expected

    def test_a_thread_outlives_the_message_that_began_it(self, talk: Satchel, clock: ManualClock) -> None:
        clock.advance(160 * HOUR)
        talk.messages.send("m6", reply_to="m4", agent="Ann")
        clock.advance(10 * HOUR)
        assert texts(talk.messages.inbox(agent="Bob", thread="m1")) == ["m6"]
        talk.messages.send("m7", reply_to="m6", agent="Bob")
        assert texts(talk.messages.inbox(agent="Bob", thread="m7")) == ["m7", "m6"]
        assert talk.messages.inbox(agent="Bob", thread="m2").notes[0].startswith("there is no message m2")

    def test_an_unknown_thread_gives_an_empty_page_and_says_so(self, talk: Satchel) -> None:
        page = talk.messages.inbox(agent="Ann", thread="m99")
        assert (page.items, page.total) == ((), 0)
        assert page.notes[0] == "there is no message m99 in this project, or it has expired"

    @pytest.mark.usefixtures("talk")
    def test_a_thread_of_another_project_is_unknown(self, open_in: Callable[..., Satchel], project: Path) -> None:
        other = open_in(project, project="other")
        register(other, "Ann")
        page = other.messages.inbox(agent="Ann", thread="m1")
        assert (page.total, len(page.notes)) == (0, 1)


def test_a_payload_that_other_means_broke_is_shown_as_text_and_said(satchel: Satchel) -> None:
    satchel.messages.send("fine", payload={"a": 1}, agent="Bob")
    broken = satchel.messages.send("broken", payload={"a": "needle"}, agent="Bob")
    with satchel.workplace.engine.write() as transaction:
        transaction.run("UPDATE agent_messages SET payload = '{needle' WHERE id = :id", {"id": broken.id})
    shown, fine = satchel.messages.inbox(agent="Ann")
    assert (shown.payload, shown.notes) == (
        "{needle",
        (f"the payload of {broken.ref} is not JSON, so it is shown as text",),
    )
    assert (fine.payload, fine.notes) == ({"a": 1}, ())
    assert satchel.finding.search("needle").total == 1


def test_everything_finds_a_message_with_its_type_and_sender(satchel: Satchel) -> None:
    sent = satchel.messages.send("the gateway is down", to="Ann", type="warning", payload=["port 8080"], agent="Bob")
    (found,) = satchel.finding.search("gateway", kinds=["message"], types=["warning"], author="Bob").results
    assert (found.ref, found.kind, found.type, found.agent, found.status) == (
        sent.ref,
        "message",
        "warning",
        "Bob",
        "live",
    )
    assert satchel.finding.search("8080").total == 1


def test_a_rebuilt_index_finds_the_same(satchel: Satchel, clock: ManualClock) -> None:
    satchel.messages.send("read cat", to="Ann", agent="Bob")
    satchel.messages.send("unread cat", to="Ann", payload=["dog"], type="warning", agent="Bob")
    satchel.messages.mark_read(["m1"], agent="Ann")
    with satchel.workplace.engine.write() as transaction:
        transaction.run("DELETE FROM documents")
        index_of(transaction).empty()
    assert satchel.finding.rebuild(lambda *_: None) == 2
    assert satchel.messages.inbox(agent="Ann", query="cat").total == 2
    assert [found.ref for found in satchel.finding.search("dog", types=["warning"], kinds=["message"]).results] == [
        "m2"
    ]
    clock.advance(24 * HOUR)
    assert [found.ref for found in satchel.finding.search("cat", author="Bob").results] == ["m2"]
