"""The state of an agent: the rules, and what brings each state about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clients_at_work import Clients
from satchel import AgentState, Conflict, Satchel
from satchel.brief.room.states import SILENT_MS, Facts, state_of
from satchel.keep import events

if TYPE_CHECKING:
    from conftest import ManualClock

MINUTE = 60_000
NOW = 1_795_000_000_000
TRIED = ("rewrite the parser by hand", "raise the timeout to a minute", "mock the whole network")

STUCK, WAITS = AgentState("stuck", NOW - 50, "T1: x"), AgentState("waiting", NOW - 40, "a.py")
PLAIN = Facts(NOW - 100, NOW - 10)
ENDED = PLAIN._replace(ended_at=NOW - 20)


def test_the_first_rule_that_applies_decides() -> None:
    cases = {
        "works": (PLAIN, AgentState("working", NOW - 100)),
        "silent": (PLAIN._replace(seen_at=NOW - SILENT_MS), AgentState("silent", NOW - SILENT_MS)),
        "at its prompt": (PLAIN._replace(turn_ended_at=NOW - 10), AgentState("idle", NOW - 10)),
        "at its prompt for long": (
            PLAIN._replace(seen_at=NOW - SILENT_MS, turn_ended_at=NOW - SILENT_MS),
            AgentState("idle", NOW - SILENT_MS),
        ),
        "on its next turn": (PLAIN._replace(turn_ended_at=NOW - 11), AgentState("working", NOW - 100)),
        "waits at its prompt": (PLAIN._replace(waits=(WAITS,), turn_ended_at=NOW - 10), WAITS),
        "got another prompt since": (
            PLAIN._replace(waits=(WAITS,), turn_ended_at=NOW - 39),
            AgentState("working", NOW - 100),
        ),
        "ended": (ENDED._replace(seen_at=NOW - SILENT_MS), AgentState("ended", NOW - 20)),
        "waits": (PLAIN._replace(seen_at=NOW - SILENT_MS, waits=(WAITS,)), WAITS),
        "ended while it waited": (ENDED._replace(waits=(WAITS,)), WAITS),
        "waits, and another went on": (
            ENDED._replace(waits=(WAITS,), is_continued=True),
            AgentState("ended", NOW - 20),
        ),
        "did something since": (PLAIN._replace(waits=(WAITS,), done_at=NOW - 39), AgentState("working", NOW - 100)),
        "stuck": (PLAIN._replace(stuck=STUCK, waits=(WAITS,)), STUCK),
        "stuck, and answered": (PLAIN._replace(stuck=STUCK, answered_at=NOW), STUCK),
        "ended stuck": (ENDED._replace(stuck=STUCK), STUCK),
        "ended stuck, answered before": (ENDED._replace(stuck=STUCK, answered_at=NOW - 60), STUCK),
        "ended stuck, then answered": (ENDED._replace(stuck=STUCK, answered_at=NOW), AgentState("ended", NOW - 20)),
        "ended stuck, continued": (ENDED._replace(stuck=STUCK, is_continued=True), AgentState("ended", NOW - 20)),
        "dismissed": (PLAIN._replace(stuck=STUCK, is_dismissed=True), AgentState("working", NOW - 100)),
    }
    assert {name: state_of(facts, NOW) for name, (facts, _) in cases.items()} == {
        name: state for name, (_, state) in cases.items()
    }


def try_thrice(agent: Satchel, clock: ManualClock) -> str:
    """Make three attempts that fail; return the id of the last."""
    for attempt in TRIED:
        clock.advance(MINUTE)
        ref = agent.entries.write(
            "scratchpad", {"done": False, "test_status": "failing", "attempted": [attempt]}, task_id="T1"
        ).ref
    return ref


def state(satchel: Satchel) -> tuple[str, int]:
    """Return the one state of an agent that every view has."""
    (one,) = satchel.sessions.team().sessions
    assert satchel.room.where().team.sessions == (one,)
    return one.state.name, one.state.since_at


def test_one_who_failed_three_times_is_stuck_until_the_session_makes_progress(
    clients: Clients, person: Satchel, clock: ManualClock
) -> None:
    agent = clients.turn_to(clients.start())
    try_thrice(agent, clock)
    assert state(person) == ("stuck", clock.now)
    with agent.workplace.engine.write() as transaction:
        (session,) = transaction.all("SELECT id FROM sessions")[0]
        events.record(transaction, 1, events.PROGRESS, clock.now, session=session, details={"what": "commit"})
    assert state(person)[0] == "working"
    assert "STUCK" not in agent.brief(task_id="T1").text
    assert person.room.needs().total == 0


def test_one_who_ended_stuck_stays_so_until_a_person_answers(
    clients: Clients, person: Satchel, clock: ManualClock
) -> None:
    agent = clients.turn_to(clients.start())
    try_thrice(agent, clock)
    name = agent.sessions.team().sessions[0].agents[0]
    clients.end()
    clock.advance(24 * 60 * MINUTE)
    assert state(person)[0] == "stuck"
    assert [one.kind for one in person.room.needs().items] == ["stuck"]
    person.messages.send("Use the library", to=name)
    assert (person.sessions.team().sessions, person.room.needs().total) == ((), 0)


def test_one_who_ended_stuck_is_dismissed_for_all(clients: Clients, person: Satchel, clock: ManualClock) -> None:
    ref = try_thrice(clients.turn_to(clients.start()), clock)
    clients.end()
    person.room.see([ref], person="human:ann")
    assert state(person)[0] == "ended"
    assert person.room.needs("human:ben").total == 0


def test_one_who_ended_stuck_is_continued_by_another_at_the_same_task(
    clients: Clients, person: Satchel, clock: ManualClock
) -> None:
    try_thrice(clients.turn_to(clients.start()), clock)
    clients.end()
    clock.advance(MINUTE)
    heir = clients.turn_to(clients.start("codex"))
    heir.entries.write("scratchpad", {"done": False, "attempted": ["use the library"]}, task_id="T1")
    assert [one.state.name for one in person.sessions.team().sessions] == ["working", "ended"]


def test_one_who_asks_waits_until_it_is_answered_or_goes_on(
    clients: Clients, person: Satchel, clock: ManualClock
) -> None:
    agent = clients.turn_to(clients.start())
    asked = agent.messages.send("Which port?", to="human").ref
    assert state(person) == ("waiting", clock.now)
    clock.advance(MINUTE)
    person.messages.send("8080", reply_to=asked)
    assert state(person)[0] == "working"
    agent.messages.send("Which host?", to="human")
    clock.advance(MINUTE)
    agent.entries.write("discovery", "it is in the docs")
    assert state(person)[0] == "working"


def test_one_who_names_a_blocker_waits_until_it_goes_on(clients: Clients, person: Satchel, clock: ManualClock) -> None:
    agent = clients.turn_to(clients.start())
    agent.entries.write("scratchpad", {"done": False, "blockers": ["no password"]}, task_id="T1")
    assert state(person) == ("waiting", clock.now)
    clock.advance(MINUTE)
    agent.files.record("a.py", "modified")
    assert state(person)[0] == "working"
    assert person.room.needs().total == 0


def test_one_who_was_refused_a_claim_waits_while_it_is_held(
    clients: Clients, person: Satchel, clock: ManualClock
) -> None:
    holder = clients.turn_to(clients.start())
    holder.files.claim(["src/"])
    agent = clients.turn_to(clients.start("codex"))
    with pytest.raises(Conflict):
        agent.files.claim(["src/a.py"])
    (one,) = (one for one in person.sessions.team().sessions if one.client == "codex")
    assert (one.state.name, one.state.since_at) == ("waiting", clock.now)
    assert 'waiting for less than 1 min: "src/a.py is held by' in clients.turn_to(holder).brief().text
    holder.files.release(["src/"])
    assert {one.state.name for one in person.sessions.team().sessions} == {"working"}


def test_one_that_nothing_was_heard_of_is_silent(clients: Clients, person: Satchel, clock: ManualClock) -> None:
    clients.turn_to(clients.start()).entries.write("discovery", "x")
    seen = clock.now
    clock.advance(SILENT_MS)
    assert state(person) == ("silent", seen)
