"""What a client tells of its own session: that it ends, that its window is new, what it calls it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from satchel import InvalidInput, Satchel
from satchel.keep import events
from satchel.keep.sessions.caller import SERVER
from satchel.keep.sessions.clients import VARIABLE

if TYPE_CHECKING:
    from conftest import ManualClock


@pytest.fixture
def server(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """The server of a client, which has written nothing yet."""
    satchel = open_in(project, caller=SERVER, agent="ann")
    assert satchel.workplace.caller is not None
    satchel.workplace.caller.set_client("claude-code", "2.1.0")
    return satchel


@pytest.fixture
def hook(server: Satchel, open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """A program that is told the session of the server, which has begun."""
    server.entries.write("discovery", "the gateway's clock is ahead")
    (session,) = server.sessions.team().sessions
    return open_in(project, environ={VARIABLE: session.uid})


def rows(satchel: Satchel, sql: str) -> list[tuple[Any, ...]]:
    with satchel.workplace.engine.read() as transaction:
        return transaction.all(sql)


def window(satchel: Satchel) -> int:
    entered = satchel.sessions.enter(opens_window=True)
    assert entered is not None
    return entered.window


ENDED = f"SELECT session_id, agent_id, details, created_at FROM events WHERE kind = {events.SESSION_ENDED}"


def test_the_end_of_a_session_is_recorded_once(server: Satchel, hook: Satchel, clock: ManualClock) -> None:
    at = clock.advance(1_000)
    assert hook.sessions.end("logout")
    clock.advance(1_000)
    assert hook.sessions.end()
    assert [(one.ended_at, one.seen_at) for one in server.sessions.team().sessions] == [(at, at)]
    assert rows(server, ENDED) == [(1, 1, '{"reason":"logout"}', at)]


def test_an_end_needs_no_reason_and_refuses_one_that_is_none(hook: Satchel) -> None:
    with pytest.raises(InvalidInput, match="reason"):
        hook.sessions.end("\u200b")
    assert rows(hook, ENDED) == []
    assert hook.sessions.end()
    assert [row[2] for row in rows(hook, ENDED)] == [None]


def test_in_a_new_window_what_was_delivered_comes_again(server: Satchel, hook: Satchel) -> None:
    note = "the cache is cold"
    server.entries.write("discovery", note, agent="sub")
    assert note in server.brief().text
    assert note not in server.brief().text
    assert window(hook) == 2
    assert note in server.brief().text
    assert window(hook) == 3


def test_a_session_begins_with_its_first_window_and_goes_on_with_the_next(server: Satchel) -> None:
    assert window(server) == 1
    assert server.sessions.end()
    assert window(server) == 2
    assert [one.ended_at for one in server.sessions.team().sessions] == [None]


def test_entering_a_session_opens_no_window_unasked_and_says_when_it_was_seen(
    server: Satchel, clock: ManualClock
) -> None:
    first = server.sessions.enter()
    at = clock()
    clock.advance(90_000)
    again = server.sessions.enter()
    assert first is not None
    assert again is not None
    assert (first.seen_at, again.seen_at) == (None, at)
    assert (again.session, again.agent, again.window) == (first.session, "ann", 1)


def test_who_calls_in_it_without_a_name_gets_one_by_entering(open_in: Callable[..., Satchel], project: Path) -> None:
    server = open_in(project, caller=SERVER)
    entered = server.sessions.enter()
    assert entered is not None
    assert entered.agent == f"agent-{entered.session[:4]}"
    assert server.entries.write("discovery", "x").agent == entered.agent


def test_who_has_no_session_has_nothing_to_end_or_to_open(
    satchel: Satchel, server: Satchel, open_in: Callable[..., Satchel], project: Path
) -> None:
    for one in (satchel, open_in(project, environ={VARIABLE: "ff" * 16}), open_in(project, caller="command")):
        assert (one.sessions.end(), one.sessions.enter(opens_window=True)) == (False, None)
    assert not server.sessions.end()
