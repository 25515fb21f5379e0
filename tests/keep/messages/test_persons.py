"""Persons: ``human`` addresses all of them, ``human:NAME`` one, and each has read what they have read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agents_here import register
from satchel import Refused, Satchel
from satchel.base.clock import DAY_MS
from satchel.keep.names import is_persons
from satchel.keep.sessions.caller import COMMAND, SERVER, Caller

if TYPE_CHECKING:
    from conftest import ManualClock

PERSONS = ("human:ann", "Human:BOB", "human")


def inbox(satchel: Satchel, person: str, **filters: bool) -> list[str]:
    page = satchel.messages.inbox(agent=person, **filters)  # type: ignore[arg-type]
    assert page.total == len(page.items)
    return [one.message for one in page]


def unread(satchel: Satchel, person: str) -> int:
    page = satchel.messages.inbox(agent=person)
    assert page.unread == satchel.messages.inbox(agent=person, unread=True).total
    return page.unread


@pytest.fixture
def known(satchel: Satchel) -> Satchel:
    """Where each of the persons has acted."""
    for person in PERSONS:
        register(satchel, person)
    return satchel


@pytest.mark.parametrize(
    ("name", "is_so"),
    [("human", True), ("Human:Ann", True), ("humans", False), ("humanist:ann", False), ("dev", False), (None, False)],
)
def test_a_person_is_known_by_the_name(name: str | None, is_so: bool) -> None:
    assert is_persons(name) is is_so


def test_human_addresses_all_persons_and_no_agent(known: Satchel) -> None:
    known.messages.send("to all persons", to="human", agent="dev")
    assert [inbox(known, person) for person in PERSONS] == [["to all persons"]] * 3
    assert (inbox(known, "dev"), inbox(known, "qa")) == ([], [])


def test_a_person_by_name_is_addressed_alone(known: Satchel) -> None:
    known.messages.send("to ann", to="human:ann", agent="dev")
    assert [inbox(known, person) for person in PERSONS] == [["to ann"], [], []]


def test_a_person_of_a_new_name_reads_what_all_persons_do(satchel: Satchel) -> None:
    ref = satchel.messages.send("to all persons", to="human", agent="dev").ref
    assert (inbox(satchel, "human:new"), unread(satchel, "human:new")) == (["to all persons"], 1)
    assert satchel.messages.mark_read([ref], agent="human:new").marked == (ref,)
    assert (unread(satchel, "human:new"), unread(satchel, "human"), unread(satchel, "human:other")) == (0, 1, 1)


@pytest.mark.parametrize("reader", PERSONS)
def test_what_one_has_read_the_others_have_not(known: Satchel, clock: ManualClock, reader: str) -> None:
    ref = known.messages.send("to all persons", to="human", agent="dev").ref
    known.messages.mark_read([ref], agent=reader)
    clock.advance(2 * DAY_MS)
    assert {person: unread(known, person) for person in PERSONS} == {
        person: int(person != reader) for person in PERSONS
    }
    assert known.messages.mark_read(everything=True, agent=reader).marked == ()


def test_what_a_person_sends_to_all_is_not_theirs_to_read(known: Satchel) -> None:
    ref = known.messages.send("I am away", to="human", agent="human:ann").ref
    assert ([unread(known, person) for person in PERSONS], inbox(known, "human:ann")) == ([0, 1, 1], [])
    assert known.messages.mark_read([ref], agent="human:ann").foreign == (ref,)


def test_an_answer_goes_to_the_person_who_asked(known: Satchel) -> None:
    ref = known.messages.send("which port?", to="dev", agent="human:ann").ref
    known.messages.send("8080", reply_to=ref, agent="dev")
    assert [inbox(known, person) for person in PERSONS] == [["8080"], [], []]


def test_what_a_person_wrote_only_a_person_retracts(open_in: Callable[..., Satchel], project: Path) -> None:
    agent, person = open_in(project), open_in(project, caller=COMMAND)
    note = agent.entries.write("discovery", "the gateway signs requests", agent="human:ann")
    assert not agent.corrections.retract(note.ref, agent="dev").done
    assert [len(inbox(agent, name)) for name in ("human:ann", "human")] == [1, 1]
    with pytest.raises(Refused):
        agent.entries.write("discovery", "it does not sign them", supersedes=note.ref, agent="dev")
    assert person.corrections.retract(note.ref, agent="human:bob").done


@pytest.mark.parametrize("name", ["human", "HUMAN:Ann", "\uff48\uff55\uff4d\uff41\uff4e\uff1aann"])
def test_no_agent_speaks_as_a_person(open_in: Callable[..., Satchel], project: Path, name: str) -> None:
    agents = (
        open_in(project, caller=SERVER),
        open_in(project, caller=SERVER, agent=name),
        open_in(project, caller=Caller.of_request("t1", None)),
        open_in(project, caller=COMMAND, environ={"CLAUDECODE": "1"}),
    )
    for satchel in agents:
        with pytest.raises(Refused, match="only a person can act as"):
            satchel.messages.send("stop", agent=name)
        with pytest.raises(Refused):
            satchel.messages.inbox(agent=name)
        with pytest.raises(Refused):
            register(satchel, name)
    with pytest.raises(Refused):
        agents[1].messages.send("stop")


@pytest.mark.parametrize("is_remote", [False, True])
def test_a_person_speaks_as_one(open_in: Callable[..., Satchel], project: Path, is_remote: bool) -> None:
    caller = Caller.of_request("t1", None, is_of_person=True) if is_remote else COMMAND
    assert open_in(project, caller=caller).messages.send("stop", agent="human:ann").sender == "human:ann"
