"""What a person does about what they see: answering and releasing, unless another was first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clients_at_work import Clients
from satchel import Conflict, InvalidInput, NotFound, Refused, Satchel
from satchel.brief.room.records import Released
from satchel.keep.sessions.caller import COMMAND

if TYPE_CHECKING:
    from conftest import ManualClock


@pytest.fixture
def person(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    return open_in(project, caller=COMMAND, agent="human:ann", environ={})


def test_a_message_is_answered_by_the_person_and_needs_nobody_then(person: Satchel, satchel: Satchel) -> None:
    asked = satchel.messages.send("Which port?", to="human", agent="dev")
    sent = person.room.answer(asked.ref, "7347")
    assert (sent.sender, sent.to, sent.reply_to) == ("human:ann", "dev", asked.id)
    assert person.room.needs().total == 0


def test_what_was_answered_meanwhile_is_answered_only_by_who_has_seen_that(person: Satchel, satchel: Satchel) -> None:
    asked = satchel.messages.send("Which port?", to="human", agent="dev")
    first = satchel.messages.send("80", reply_to=asked.ref, agent="human:ben")
    with pytest.raises(Conflict, match=f"human:ben answered {asked.ref} first, with {first.ref}"):
        person.room.answer(asked.ref, "7347")
    assert satchel.messages.inbox(agent="dev").total == 1
    second = person.room.answer(asked.ref, "7347", answered_by=first.ref)
    with pytest.raises(Conflict, match=f"human:ann answered {asked.ref} first, with {second.ref}"):
        person.room.answer(asked.ref, "No", answered_by=first.ref)


def test_what_is_no_message_is_not_answered(person: Satchel) -> None:
    with pytest.raises(NotFound):
        person.room.answer("m99", "Yes")
    with pytest.raises(InvalidInput):
        person.room.answer("d1", "Yes")


def test_a_claim_is_released_once_and_its_holder_told(clients: Clients, person: Satchel) -> None:
    agent = clients.turn_to(clients.start())
    agent.files.claim(["src/a.py"], agent="holder")
    (session,) = person.room.where().team.sessions
    (claim,) = session.claims
    with pytest.raises(Conflict, match="holder has renewed the claim on src/a"):
        person.room.release(session.uid, claim.path, claim.expires_at - 1)
    released = person.room.release(session.uid, claim.path, claim.expires_at)
    assert (released.path, released.agent) == ("src/a.py", "holder")
    assert person.room.where().team.sessions[0].claims == ()
    told = agent.messages.inbox(agent="holder").items
    assert [(one.ref, one.sender, one.message) for one in told] == [
        (released.message, "human:ann", "I released your claim on src/a.py")
    ]
    with pytest.raises(Conflict, match="has already ended"):
        person.room.release(session.uid, claim.path, claim.expires_at)
    assert len(agent.messages.inbox(agent="holder").items) == 1


def test_a_claim_that_is_waited_for_is_released_by_what_the_need_says_of_it(clients: Clients, person: Satchel) -> None:
    agent = clients.turn_to(clients.start())
    agent.files.claim(["src/"], agent="holder")
    other = clients.turn_to(clients.start())
    with pytest.raises(Conflict):
        other.files.claim(["src/a.py"], agent="waiter")
    (need,) = person.room.needs().items
    assert (need.place, need.held_path) == ("src/a.py", "src/**")
    assert need.holder_session
    assert need.held_until
    person.room.release(need.holder_session, "src/**", need.held_until)
    assert person.room.needs().total == 0


def test_how_far_the_project_has_come_differs_after_a_change_and_after_an_event(clients: Clients) -> None:
    agent = clients.turn_to(clients.start())
    before = agent.room.reached()
    assert agent.room.reached() == before
    agent.messages.send("hello", agent="dev")
    changed = agent.room.reached()
    agent.files.claim(["a.py"], agent="dev")
    assert len({before, changed, agent.room.reached()}) == 3


def test_an_agent_neither_answers_nor_releases_for_a_person(clients: Clients) -> None:
    agent = clients.turn_to(clients.start())
    asked = agent.messages.send("Which port?", to="human", agent="dev")
    with pytest.raises(Refused):
        agent.room.answer(asked.ref, "80")
    with pytest.raises(Refused):
        agent.room.release("00" * 16, "a.py", 1)


def _end(person: Satchel) -> Released:
    (session,) = person.room.where().team.sessions
    (claim,) = session.claims
    return person.room.release(session.uid, claim.path, claim.expires_at)


def test_an_ended_claim_is_restored_as_it_was(clients: Clients, person: Satchel) -> None:
    agent = clients.turn_to(clients.start())
    agent.files.claim(["src/**"], agent="holder", minutes=90, reason="rotation")
    before = agent.files.claims().items[0]
    restored = person.room.restore_claim(_end(person).ending)
    after = agent.files.claims().items[0]
    kept = ("path", "agent", "expires_at", "created_at", "reason", "exclusive", "automatic")
    assert [getattr(after, one) for one in kept] == [getattr(before, one) for one in kept]
    texts = [one.message for one in agent.messages.inbox(agent="holder")]
    assert texts == ["Your claim on src/** is yours again", "I released your claim on src/**"]
    with pytest.raises(Conflict, match=r"src/\*\* was restored before"):
        person.room.restore_claim(restored.ending)


def test_an_ended_claim_is_not_restored_over_the_claim_of_another(clients: Clients, person: Satchel) -> None:
    agent = clients.turn_to(clients.start())
    agent.files.claim(["src/a.py"], agent="holder")
    ended = _end(person)
    other = clients.turn_to(clients.start())
    other.files.claim(["src/"], agent="next")
    with pytest.raises(Conflict, match=r"next has claimed src/\*\* since"):
        person.room.restore_claim(ended.ending)


@pytest.mark.parametrize("how", ["ended", "killed"])
def test_an_ended_claim_is_not_restored_to_a_session_that_has_ended_since(
    clients: Clients, person: Satchel, clock: ManualClock, how: str
) -> None:
    agent = clients.turn_to(clients.start())
    agent.files.claim(["src/a.py"], agent="holder", minutes=60)
    ended = _end(person)
    if how == "ended":
        assert agent.sessions.end()
    else:
        clients.end(agent)
    clock.advance(60_000)
    with pytest.raises(Conflict, match="the session of holder has ended since"):
        person.room.restore_claim(ended.ending)
    assert person.files.claims().total == 0
    texts = [one.message for one in person.messages.inbox(agent="holder")]
    assert texts == ["I released your claim on src/a.py"]


def test_an_ended_claim_is_not_restored_after_ten_minutes(
    clients: Clients, person: Satchel, clock: ManualClock
) -> None:
    agent = clients.turn_to(clients.start())
    agent.files.claim(["src/a.py"], agent="holder", minutes=60)
    ended = _end(person)
    clock.advance(10 * 60_000 + 1)
    with pytest.raises(Conflict, match="more than 10 minutes ago"):
        person.room.restore_claim(ended.ending)


def test_only_what_a_person_ended_is_restored(clients: Clients, person: Satchel) -> None:
    agent = clients.turn_to(clients.start())
    agent.files.claim(["a.py"], agent="holder")
    agent.files.release(["a.py"], agent="holder")
    for number in range(1, 6):
        with pytest.raises(NotFound):
            person.room.restore_claim(number)
