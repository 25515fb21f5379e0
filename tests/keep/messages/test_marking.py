from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agents_here import agents, register
from satchel import InvalidInput, MarkedRead, Satchel
from satchel.keep.messages.visibility import Reader, unread_by_sender

if TYPE_CHECKING:
    from conftest import ManualClock


@pytest.fixture
def sent(satchel: Satchel) -> Satchel:
    """m1 and m2 to Ann, m3 to all by Bob, m4 to Bob, m5 to all by Ann."""
    satchel.messages.send("one", to="Ann", agent="Bob")
    satchel.messages.send("two", to="Ann", agent="Bob")
    satchel.messages.send("three", agent="Bob")
    satchel.messages.send("four", to="Bob", agent="Cid")
    satchel.messages.send("five", agent="Ann")
    return satchel


def test_each_id_is_sorted_out(sent: Satchel) -> None:
    sent.messages.mark_read(["m2"], agent="Ann")
    marked = sent.messages.mark_read(["m3", "m1", "m2", "m4", "m5", "m99"], agent="Ann")
    assert marked == MarkedRead("Ann", ("m3", "m1"), ("m2",), ("m99",), ("m4", "m5"), 0)


def test_what_was_marked_is_read_with_its_time(sent: Satchel, clock: ManualClock) -> None:
    clock.advance(77)
    sent.messages.mark_read(["m1"], agent="Ann")
    clock.advance(77)
    sent.messages.mark_read(["m1"], agent="Ann")
    read_at = {message.ref: message.read_at for message in sent.messages.inbox(agent="Ann")}
    assert read_at == {"m1": clock.now - 77, "m2": None, "m3": None}


def test_numbers_and_ids_without_a_letter_are_ids_too_and_repetitions_count_once(sent: Satchel) -> None:
    assert sent.messages.mark_read([1, "2", "m1", "m2", 1], agent="Ann").marked == ("m1", "m2")


def test_everything_marks_all_that_is_unread_and_visible(sent: Satchel) -> None:
    sent.messages.mark_read(["m2"], agent="Ann")
    assert sent.messages.mark_read(everything=True, agent="Ann") == MarkedRead("Ann", ("m1", "m3"), (), (), (), 0)
    assert sent.messages.mark_read(everything=True, agent="Ann").marked == ()
    assert sent.messages.inbox(agent="Bob").unread == 2


def test_the_answer_says_how_many_are_left(sent: Satchel) -> None:
    assert sent.messages.mark_read(["m1"], agent="Ann").unread == 2


def test_a_broadcast_read_by_one_stays_unread_for_the_others(sent: Satchel) -> None:
    sent.messages.mark_read(["m3"], agent="Ann")
    (three,) = sent.messages.inbox(agent="Dora", sender="Bob")
    assert three.read_at is None
    assert sent.messages.inbox(agent="Dora").unread == 2


def test_a_name_in_another_case_is_the_same_reader(sent: Satchel) -> None:
    assert sent.messages.mark_read(["m1"], agent="ANN").agent == "Ann"
    assert sent.messages.mark_read(["m1"], agent="ann").already == ("m1",)


def test_the_default_agent_marks_its_own(open_in: Callable[..., Satchel], project: Path) -> None:
    satchel = open_in(project, agent="Ann")
    satchel.messages.send("one", to="Ann")
    assert satchel.messages.mark_read(["m1"]).marked == ("m1",)


def test_a_reader_that_was_never_heard_of_is_registered_by_marking(sent: Satchel) -> None:
    assert sent.messages.mark_read(["m3"], agent="Dora") == MarkedRead("Dora", ("m3",), (), (), (), 1)
    assert sent.messages.mark_read(["m3"], agent="dora").already == ("m3",)
    assert "Dora" in [agent.name for agent in agents(sent)]


def test_an_addressee_that_marks_has_acted(satchel: Satchel) -> None:
    satchel.messages.send("one", to="Bob", agent="Ann")
    satchel.messages.mark_read(["m1"], agent="Bob")
    assert satchel.messages.send("two", to="Bob", agent="Ann").notes == ()


def test_whoever_marks_nothing_is_not_registered(sent: Satchel) -> None:
    assert sent.messages.mark_read(["m1", "m99"], agent="Dora").foreign == ("m1",)
    assert "Dora" not in [agent.name for agent in agents(sent)]


def test_marking_takes_no_seq(sent: Satchel) -> None:
    seq = sent.housekeeping.statistics().seq
    sent.messages.mark_read(everything=True, agent="Ann")
    assert sent.housekeeping.statistics().seq == seq


def test_ids_of_another_project_are_unknown(sent: Satchel, open_in: Callable[..., Satchel], project: Path) -> None:
    other = open_in(project, project="other")
    assert other.messages.mark_read(["m1"], agent="Ann") == MarkedRead("Ann", (), (), ("m1",), (), 0)
    register(other, "Ann")
    assert other.messages.mark_read(["m1", "m3", "m4"], agent="Ann").unknown == ("m1", "m3", "m4")
    assert other.messages.mark_read(everything=True, agent="Ann").marked == ()
    assert sent.messages.inbox(agent="Ann").unread == 3


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "give either the ids of messages or everything"),
        ({"refs": ["m1"], "everything": True}, "give either the ids of messages or everything"),
        ({"refs": []}, "0 ids were given"),
        ({"refs": ["m1"] * 501}, "501 ids were given"),
        ({"refs": "m1"}, "refs is no list of ids"),
        ({"refs": 1}, "refs is no list of ids"),
        ({"refs": ["m1", "e5"]}, "'e5' is no id of a message"),
        ({"refs": ["m1", None]}, "None is no id of a message"),
        ({"everything": "yes"}, "everything 'yes' is neither true nor false"),
        ({"refs": ["m1"], "agent": ""}, "agent is empty"),
        ({"refs": ["m1"], "agent": None}, "needs an agent"),
    ],
)
def test_bad_input_marks_nothing(sent: Satchel, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        sent.messages.mark_read(**{"agent": "Ann", **options})
    assert sent.messages.inbox(agent="Ann").unread == 3


def test_500_ids_can_be_marked_at_once(sent: Satchel) -> None:
    marked = sent.messages.mark_read(list(range(1, 501)), agent="Ann")
    assert (len(marked.marked), len(marked.foreign), len(marked.unknown)) == (3, 2, 495)


class TestUnreadBySender:
    def count(self, satchel: Satchel, name: str, now: int) -> int:
        """Count the critical ones."""
        (number,) = [agent.id for agent in agents(satchel) if agent.name == name]
        with satchel.workplace.engine.read() as transaction:
            told = unread_by_sender(transaction, Reader(1, number, now), "FALSE", {}, 100)
        return sum(critical for _, _, critical in told)

    def test_only_unread_messages_of_the_agent_count(self, sent: Satchel, clock: ManualClock) -> None:
        assert self.count(sent, "Ann", clock.now) == 0
        sent.messages.send("to Ann", to="Ann", priority="critical", agent="Bob")
        sent.messages.send("to all", priority="critical", agent="Bob")
        sent.messages.send("high", to="Ann", priority="high", agent="Bob")
        sent.messages.send("to Cid", to="Cid", priority="critical", agent="Bob")
        assert {name: self.count(sent, name, clock.now) for name in ("Ann", "Bob", "Cid")} == {
            "Ann": 2,
            "Bob": 0,
            "Cid": 2,
        }

    def test_what_was_read_does_not_count(self, sent: Satchel, clock: ManualClock) -> None:
        one = sent.messages.send("to Ann", to="Ann", priority="critical", agent="Bob")
        sent.messages.send("to all", priority="critical", agent="Bob")
        sent.messages.mark_read([one.ref], agent="Ann")
        assert self.count(sent, "Ann", clock.now) == 1
        sent.messages.mark_read(everything=True, agent="Ann")
        assert self.count(sent, "Ann", clock.now) == 0

    def test_what_has_expired_does_not_count(self, sent: Satchel) -> None:
        message = sent.messages.send("to Ann", to="Ann", priority="critical", agent="Bob")
        assert self.count(sent, "Ann", message.expires_at - 1) == 1
        assert self.count(sent, "Ann", message.expires_at) == 0

    def test_another_project_does_not_count(
        self, sent: Satchel, open_in: Callable[..., Satchel], project: Path, clock: ManualClock
    ) -> None:
        open_in(project, project="other").messages.send("to all", priority="critical", agent="Bob")
        assert self.count(sent, "Ann", clock.now) == 0
