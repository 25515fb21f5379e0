"""The timeline of agents: where it begins."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clients_at_work import Clients
from satchel import Satchel
from satchel.interfaces.web import timeline

if TYPE_CHECKING:
    from conftest import ManualClock

MINUTE = 60_000


@pytest.fixture
def at_work(open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch) -> Satchel:
    """The session of a client that has just done something."""
    clients = Clients(partial(open_in, project), monkeypatch)
    satchel = clients.turn_to(clients.start())
    satchel.entries.write("discovery", "The port is 8080", agent="ann")
    return satchel


def drawn(satchel: Satchel, hours: int | None = None) -> timeline.Timeline:
    where = satchel.room.where()
    of_team = timeline.of_team(where, hours)
    assert timeline.of_session(where, where.team.sessions[0], hours).span == of_team.span
    return of_team


def test_a_timeline_begins_with_the_first_event_but_shows_five_minutes(at_work: Satchel, clock: ManualClock) -> None:
    assert (drawn(at_work).hours, drawn(at_work).span) == (None, "5 min")
    clock.advance(100 * MINUTE)
    later = drawn(at_work)
    assert (later.hours, later.span, later.lanes[0].bars[0].x) == (None, "100 min", 0)
    assert {at % (30 * MINUTE) for _, at in later.ticks} == {0}


@pytest.mark.parametrize("hours", timeline.HOURS)
def test_a_timeline_shows_the_hours_that_were_chosen(at_work: Satchel, hours: int) -> None:
    chosen = drawn(at_work, timeline.chosen_hours({"hours": str(hours)}))
    assert chosen.hours == hours
    assert chosen.lanes[0].bars[0].x == pytest.approx(100, abs=30 / hours)


def test_a_timeline_of_a_longer_day_shows_the_last_eight_hours(at_work: Satchel, clock: ManualClock) -> None:
    clock.advance(9 * 60 * MINUTE)
    at_work.entries.write("discovery", "The port is 8081", agent="ann")
    assert (drawn(at_work).hours, drawn(at_work).span) == (8, "8 h")


def bars(satchel: Satchel) -> list[tuple[str, int, int]]:
    """Return the state, beginning and end of each bar of the only lane."""
    (lane,) = drawn(satchel).lanes
    return [(bar.state, bar.began_at, bar.ended_at) for bar in lane.bars]


def test_a_bar_ends_when_the_session_was_last_heard_of(at_work: Satchel, clock: ManualClock) -> None:
    began = clock.now
    assert bars(at_work) == [("working", began, began)]
    clock.advance(MINUTE)
    at_work.entries.write("discovery", "The port is 8081", agent="ann")
    heard = clock.advance(MINUTE // 2) - MINUTE // 2
    assert bars(at_work) == [("working", began, clock.now)]
    clock.advance(5 * MINUTE)
    assert bars(at_work) == [("silent", began, clock.now), ("working", began, heard)]


def test_an_agent_at_its_prompt_is_idle_until_its_session_ends(
    open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch, clock: ManualClock
) -> None:
    clients, began = Clients(partial(open_in, project), monkeypatch), clock.now
    agent, other = clients.start(environ={"CLAUDE_CODE_SESSION_ID": "s1"}), open_in(project)
    stopped = clock.advance(2 * MINUTE)
    agent.sessions.end_turn()
    clock.advance(2 * MINUTE)
    assert bars(other) == [("working", began, stopped), ("idle", stopped, clock.now)]
    ended = clock.now
    agent.sessions.end()
    clock.advance(2 * MINUTE)
    assert bars(other) == [("working", began, stopped), ("idle", stopped, ended)]


def test_a_time_at_the_prompt_stays_idle_once_the_agent_goes_on(
    open_in: Callable[..., Satchel], project: Path, monkeypatch: pytest.MonkeyPatch, clock: ManualClock
) -> None:
    clients, began = Clients(partial(open_in, project), monkeypatch), clock.now
    agent, other = clients.start(environ={"CLAUDE_CODE_SESSION_ID": "s1"}), open_in(project)
    expected = []
    for _ in range(2):
        stopped = clock.advance(2 * MINUTE)
        agent.sessions.end_turn()
        went_on = clock.advance(3 * MINUTE)
        agent.entries.write("discovery", f"The port is {stopped}", agent="ann")
        expected += [("working", began, stopped), ("idle", stopped, went_on)]
        began = went_on
    assert bars(other) == [*expected, ("working", began, clock.now)]
    stopped = clock.advance(MINUTE)
    agent.sessions.end_turn()
    clock.advance(MINUTE)
    assert bars(other) == [*expected, ("working", began, stopped), ("idle", stopped, clock.now)]


def test_marks_of_one_moment_stand_beside_each_other(at_work: Satchel, clock: ManualClock) -> None:
    at_work.messages.send("May I?", to="ben", agent="ann")
    at_work.decisions.set("port", 80, agent="ann")
    for _ in range(2):
        (lane,) = drawn(at_work).lanes
        first, second = (point.x for point in lane.points)
        assert first + 1 < second <= 100
        clock.advance(MINUTE)


def test_a_state_that_began_at_work_replaces_the_rest_of_it(at_work: Satchel, clock: ManualClock) -> None:
    began = clock.now
    since = clock.advance(2 * MINUTE)
    at_work.entries.write("scratchpad", {"done": False, "blockers": ["no password"]}, agent="ann")
    clock.advance(2 * MINUTE)
    assert bars(at_work) == [("working", began, since), ("waiting", since, clock.now)]
