"""Who is where, and when they were at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clients_at_work import Clients
from satchel import Conflict, Satchel
from satchel.brief.room.where import QUARTER_MS

MINUTE = 60_000

if TYPE_CHECKING:
    from conftest import ManualClock


def test_before_anything_is_written_nobody_is_anywhere(satchel: Satchel) -> None:
    found = satchel.room.where()
    assert (found.team.sessions, found.timeline) == ((), ())
    assert found.ended_at - found.began_at == 96 * QUARTER_MS


def test_sessions_are_shown_as_the_team_is(clients: Clients) -> None:
    ann = clients.start()
    assert ann.room.where().team.sessions == ann.sessions.team().sessions


def test_a_timeline_has_the_quarters_in_which_something_was_done(clients: Clients, clock: ManualClock) -> None:
    clock.now -= clock.now % QUARTER_MS
    start = clock.now
    ann = clients.turn_to(clients.start())
    for quarters in (1, 3, 1):
        clock.advance(quarters * QUARTER_MS)
        ann.entries.write("scratchpad", {"done": False, "next_step": "go on"})
    (day,) = ann.room.where().timeline
    assert [((one.began_at - start) / QUARTER_MS, (one.ended_at - start) / QUARTER_MS) for one in day.spans] == [
        (0, 2),
        (4, 5),
    ]


def test_it_goes_back_a_day(clients: Clients, clock: ManualClock) -> None:
    ann = clients.turn_to(clients.start())
    for _ in range(120):
        clock.advance(QUARTER_MS)
        ann.files.claim(["a.py"], minutes=5)
        ann.files.release(["a.py"])
    found = ann.room.where()
    (day,) = found.timeline
    assert [(one.began_at, one.ended_at) for one in day.spans] == [(found.began_at, clock.now)]
    clock.advance(97 * QUARTER_MS)
    assert ann.room.where().timeline == ()


def test_a_timeline_has_what_a_session_did_and_its_claims(clients: Clients, clock: ManualClock) -> None:
    ann = clients.turn_to(clients.start())
    ann.files.claim(["a.py"], agent="ann", minutes=30, reason="cart")
    began = clock.now
    ben = clients.turn_to(clients.start())
    with pytest.raises(Conflict):
        ben.files.claim(["a.py"], agent="ben")
    decision = ben.decisions.set("port", 80, agent="ben")
    first = ben.messages.send("May I?", to="ann", agent="ben")
    clock.advance(60_000)
    second = ben.messages.send("Hello?", to="ann", agent="ben")
    clients.turn_to(ann)
    ann.files.claim(["a.py"], agent="ann", minutes=60)
    extended = clock.now
    clock.advance(60_000)
    ann.files.release(["a.py"], agent="ann")
    ann.files.claim(["b.py"], agent="ann")
    days = {one.agent: one for one in ann.room.where().timeline}
    assert [(one.kind, one.text, one.ref, one.count) for one in days["ben"].marks] == [
        ("decision", "port: 80", decision.ref, 1),
        ("message", "to ann: Hello?", second.ref, 2),
        ("refusal", "a.py, held by ann", None, 1),
    ]
    assert days["ben"].marks[1].at == first.created_at
    bars = [(one.path, one.began_at, one.ended_at, one.end, one.reason, one.extended_at) for one in days["ann"].claims]
    assert bars == [
        ("a.py", began, clock.now, "released", "cart", (extended,)),
        ("b.py", clock.now, None, "held", None, ()),
    ]


def test_the_last_step_of_a_session_is_what_it_edited_or_did_last(clients: Clients, clock: ManualClock) -> None:
    ann = clients.turn_to(clients.start(environ={"CLAUDE_CODE_SESSION_ID": "s1"}))

    def last() -> str | None:
        return {one.agent: one.last_step for one in ann.room.where().timeline}["ann"]

    ann.files.claim(["src/a.py"], agent="ann")
    assert last() is None
    clock.advance(60_000)
    ann.files.record("src/a.py", "modified", agent="ann")
    clock.advance(60_000)
    ann.files.record("src/b.py", "modified", agent="ann")
    clock.advance(60_000)
    assert last() == "edited src/b.py"
    ann.decisions.set("port", 80, agent="ann")
    clock.advance(60_000)
    assert last() == "set port: 80"
    ann.sessions.end_turn()
    assert last() == "set port: 80"
    clock.advance(60_000)
    ann.files.claim(["src/c.py"], agent="ann")
    assert last() == "got another prompt"


def test_a_decision_that_was_changed_stands_at_the_session_that_set_it_first(
    clients: Clients, clock: ManualClock
) -> None:
    ann, ben = clients.start(), clients.start()
    for one, value in ((ann, 80), (ben, 443)):
        clients.turn_to(one).decisions.set("port", value, agent="ann" if one is ann else "ben")
        clock.advance(1_000)
    marks = {one.agent: [mark.text for mark in one.marks] for one in ann.room.where().timeline}
    assert marks == {"ann": ["port: 80"], "ben": ["port: 443"]}


def test_a_message_that_a_later_session_took_over_keeps_its_addressee(clients: Clients, satchel: Satchel) -> None:
    first = clients.turn_to(clients.start())
    name = first.entries.write("discovery", "the gateway signs").agent
    satchel.messages.send("which port?", to=name, agent="human:ann")
    clients.end(first)
    heir = clients.turn_to(clients.start())
    assert heir.messages.inbox().total == 1
    assert [one.to for one in satchel.room.sent(person="human:ann").items] == [name]


NAMED = {"CLAUDE_CODE_SESSION_ID": "s1"}
"""What names the session of a client, so that a hook's event finds it."""


def test_a_session_was_at_work_from_its_start_to_the_end_of_its_turn(clients: Clients, clock: ManualClock) -> None:
    clock.now += 7 * MINUTE - clock.now % QUARTER_MS
    ann, began = clients.start(environ=NAMED), clock.now
    clock.advance(4 * MINUTE)
    ann.sessions.end_turn()
    stopped = clock.now
    clock.advance(20 * MINUTE)
    for ends in (lambda: None, ann.sessions.end):
        ends()
        (day,) = ann.room.where().timeline
        assert ([(one.began_at, one.ended_at) for one in day.spans], day.idle_at) == ([(began, stopped)], stopped)
    clock.advance(MINUTE)
    ann.entries.write("discovery", "the port is 8080")
    (day,) = ann.room.where().timeline
    assert (day.spans[-1].ended_at, day.idle_at) == (clock.now, None)


def test_a_session_with_turns_that_another_continues_is_there_for_a_day(clients: Clients, clock: ManualClock) -> None:
    ann = clients.start(environ=NAMED)
    ann.sessions.end_turn()
    (own,) = ann.sessions.team().sessions
    clients.turn_to(clients.start("codex")).entries.write("discovery", "the port is 8080")
    clock.advance(MINUTE)
    clients.end()
    heirs = [clients.start(), clients.start("codex")]
    assert len(heirs[0].sessions.team().sessions) == len(heirs)
    clock.advance(9 * 60 * MINUTE)
    clients.turn_to(heirs[0]).entries.write("discovery", "the port is 8081")
    listed = [one.uid for one in heirs[0].room.where().team.sessions]
    assert (len(listed), listed[-1]) == (len(heirs) + 1, own.uid)
    clock.advance(24 * 60 * MINUTE)
    assert len(heirs[0].room.where().team.sessions) == len(heirs)
