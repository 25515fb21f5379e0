"""What a prompt counts: sessions at work, those that are stuck, messages that wait."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from clients_at_work import Clients
from satchel import Satchel
from satchel.brief.at_work import AtWork, count
from satchel.keep import projects

TRIED = ("rewrite the parser by hand", "raise the timeout to a minute", "mock the whole network")


@pytest.fixture
def clients(open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch) -> Clients:
    return Clients(partial(open_in, project), monkeypatch)


def counted(satchel: Satchel, agent: str | None = None) -> AtWork:
    work = satchel.workplace
    with work.engine.read() as transaction:
        project = projects.find(transaction, work)
        return count(transaction, project.id, agent, None, work.clock(), lambda: "human")


def fail(satchel: Satchel, *tried: str, done: bool = False) -> None:
    for number, attempt in enumerate(tried, 1):
        pad = {"iteration": number, "done": done, "test_status": "failing", "attempted": [attempt]}
        satchel.entries.write("scratchpad", pad, task_id="T1")


def test_live_sessions_are_counted(clients: Clients) -> None:
    ann, ben = clients.start(), clients.start()
    assert counted(ann).sessions == 2
    clients.end(ben)
    assert counted(ann).sessions == 1


def test_a_session_is_stuck_as_its_briefing_says(clients: Clients) -> None:
    ann = clients.turn_to(clients.start())
    fail(ann, *TRIED[:2])
    assert (counted(ann).stuck, "STUCK" in ann.brief(task_id="T1").text) == (0, False)
    fail(ann, TRIED[2])
    assert (counted(ann).stuck, "STUCK" in ann.brief(task_id="T1").text) == (1, True)


def test_a_loop_that_succeeded_is_not_stuck(clients: Clients) -> None:
    ann = clients.turn_to(clients.start())
    fail(ann, *TRIED)
    ann.entries.write("scratchpad", {"iteration": 4, "done": True, "test_status": "passing"}, task_id="T1")
    assert counted(ann).stuck == 0


def test_the_messages_are_those_of_a_person_unless_an_agent_is_named(clients: Clients) -> None:
    ann = clients.start()
    ann.messages.send("look", to="human", agent="ann")
    ann.messages.send("look", to="ben", agent="ann")
    ann.messages.send("look, all", agent="ben")
    assert (counted(ann).unread, counted(ann, "Ben").unread, counted(ann, "nobody").unread) == (2, 1, 1)
