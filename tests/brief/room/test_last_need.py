"""Where nothing needs a person, since when: the end of the last need."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from brief.room.conftest import needs, only, verdict, write_pad
from clients_at_work import Clients
from satchel import Conflict, Satchel

if TYPE_CHECKING:
    from conftest import ManualClock

MINUTE = 60_000


def _ask(satchel: Satchel) -> None:
    satchel.messages.send("which port?", to="human", agent="dev")


def _read(satchel: Satchel) -> None:
    satchel.messages.mark_read(everything=True, agent="human")


def _answer(satchel: Satchel) -> None:
    satchel.messages.send("8080", reply_to=only(satchel).ref, agent="human")


def _overtake(satchel: Satchel) -> None:
    for agent in ("ann", "ben"):
        satchel.decisions.set("port", agent, agent=agent)


def _fail(satchel: Satchel) -> None:
    verdict(satchel, "T1", passed=False)


def _meet(satchel: Satchel) -> None:
    for agent in ("ann", "ben"):
        satchel.patterns.report("KeyError", "no key", agent=agent)


def _refuse(satchel: Satchel) -> None:
    satchel.files.claim(["src/"], agent="ann")
    with suppress(Conflict):
        satchel.files.claim(["src/a.py"], agent="ben")


def _see(satchel: Satchel) -> None:
    satchel.room.see([str(only(satchel).ref)])


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        (_ask, _read),
        (_ask, _answer),
        (_overtake, _see),
        (_overtake, lambda satchel: satchel.room.see()),
        (_overtake, lambda satchel: satchel.decisions.set("port", 443, agent="human:bob")),
        (
            lambda satchel: satchel.decisions.set("port", 80, status="draft", agent="ann"),
            lambda satchel: satchel.decisions.set("port", status="active", agent="human"),
        ),
        (_fail, lambda satchel: satchel.entries.write("review_verdict", {"passed": True}, task_id="T1", agent="qa")),
        (_fail, _see),
        (_meet, lambda satchel: satchel.patterns.report("KeyError", "no key", solution="use get", agent="ben")),
        (_meet, _see),
        (_refuse, lambda satchel: satchel.files.release(["src/"], agent="ann")),
        (
            lambda satchel: satchel.sessions.record_hooks(
                [("claude Stop", "ValueError", 1, satchel.workplace.clock())]
            ),
            lambda satchel: satchel.sessions.record_hooks([], ["claude Stop"]),
        ),
    ],
)
def test_where_nothing_is_left_it_is_said_since_when(
    satchel: Satchel, clock: ManualClock, begin: Callable[[Satchel], object], end: Callable[[Satchel], object]
) -> None:
    begin(satchel)
    assert satchel.room.needs().quiet_since_at is None
    ended_at = clock.advance(5 * MINUTE)
    end(satchel)
    assert needs(satchel) == []
    clock.advance(MINUTE)
    _go_on(satchel)
    assert satchel.room.needs().quiet_since_at == ended_at


def _go_on(satchel: Satchel) -> None:
    """Write what needs nobody."""
    write_pad(satchel, next_step="push")
    verdict(satchel, "T9", passed=True)
    satchel.decisions.set("host", "a", agent="ann")
    satchel.patterns.report("OSError", "no disk", solution="buy one", agent="ann")
    satchel.files.claim(["b.py"], agent="ann")
    satchel.files.release(["b.py"], agent="ann")
    satchel.room.see(["rule"])


def test_since_an_agent_goes_on_nothing_needs_anybody(clients: Clients, person: Satchel, clock: ManualClock) -> None:
    ann = clients.turn_to(clients.start())
    write_pad(ann, blockers=["no password"])
    ended_at = clock.advance(MINUTE)
    for _ in range(2):
        write_pad(ann, next_step="push")
        clock.advance(MINUTE)
    assert ann.room.needs().quiet_since_at == ended_at
    write_pad(ann, blockers=["no password"])
    clock.advance(MINUTE)
    name = ann.sessions.team().sessions[0].agents[0]
    clients.end(ann)
    answered_at = clock.advance(MINUTE)
    person.messages.send("it is in the vault", to=name)
    assert ann.room.needs().quiet_since_at == answered_at
