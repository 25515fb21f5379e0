"""Waiting for a message, by a clock that moves when the waiting call sleeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agents_here import register
from satchel import Conflict, Interrupted, InvalidInput, Satchel
from satchel.keep.messages import service
from satchel.keep.sessions.caller import SERVER, Caller
from sleeps import Sleeps


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> Sleeps:
    made = Sleeps()
    monkeypatch.setattr(service, "time", made)
    return made


@pytest.fixture
def other(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """The same store, opened by another process as it were."""
    return open_in(project)


def texts(satchel: Satchel, seconds: int) -> list[str]:
    return [one.message for one in satchel.messages.inbox(agent="ben", wait_seconds=seconds)]


def test_a_message_that_comes_ends_the_wait(satchel: Satchel, other: Satchel, sleeps: Sleeps) -> None:
    register(satchel, "ann")
    sleeps.actions = [None, lambda: other.messages.send("to all but him", to="cat", agent="ann")]
    sleeps.actions += [None, lambda: other.messages.send("here", to="ben", agent="ann")]
    assert texts(satchel, 45) == ["here"]
    assert sleeps.count == 4


def test_what_waits_already_is_not_waited_for(satchel: Satchel, sleeps: Sleeps) -> None:
    satchel.messages.send("here", to="ben", agent="ann")
    assert texts(satchel, 45) == ["here"]
    assert sleeps.count == 0


def test_what_was_read_is_waited_out(satchel: Satchel, sleeps: Sleeps) -> None:
    sent = satchel.messages.send("old", to="ben", agent="ann")
    satchel.messages.mark_read([sent.ref], agent="ben")
    began = sleeps.now
    page = satchel.messages.inbox(agent="ben", wait_seconds=3)
    assert (texts(satchel, 3), page.total, page.notes) == ([], 0, ("nothing came in 3 s; call again to go on waiting",))
    assert sleeps.now - began == pytest.approx(6)


def test_beside_what_came_nothing_is_shown_that_was_read(satchel: Satchel, other: Satchel, sleeps: Sleeps) -> None:
    sent = satchel.messages.send("old", to="ben", agent="ann")
    satchel.messages.mark_read([sent.ref], agent="ben")
    sleeps.actions = [lambda: other.messages.send("new", to="ben", agent="ann")]
    assert texts(satchel, 45) == ["new"]
    assert texts(satchel, 0) == ["new", "old"]


def test_before_anything_is_written_it_is_waited_too(satchel: Satchel, other: Satchel, sleeps: Sleeps) -> None:
    sleeps.actions = [lambda: other.messages.send("first", to="ben", agent="ann")]
    assert texts(satchel, 45) == ["first"]


def test_a_cancelled_wait_ends_at_once(satchel: Satchel, sleeps: Sleeps) -> None:
    register(satchel, "ann")
    sleeps.actions = [None, satchel.interrupter()]
    with pytest.raises(Interrupted):
        texts(satchel, 45)
    assert sleeps.count == 2


def test_no_more_calls_wait_than_there_are_seats(satchel: Satchel, sleeps: Sleeps) -> None:
    register(satchel, "ann")
    asked, refused = [], []

    def ask_too() -> None:
        asked.append(sleeps.now)
        sleeps.actions = [ask_too]
        try:
            texts(satchel, 1)
        except Conflict as error:
            refused.append(error.problem)
            sleeps.actions = []

    ask_too()
    assert (len(asked), len(refused)) == (5, 1)


@pytest.mark.parametrize("seconds", [-1, 46, True])
def test_how_long_is_bounded(satchel: Satchel, seconds: int) -> None:
    with pytest.raises(InvalidInput, match="wait_seconds"):
        texts(satchel, seconds)


def test_who_waits_in_vain_learns_who_is_done(
    satchel: Satchel, open_in: Callable[..., Satchel], project: Path, sleeps: Sleeps
) -> None:
    ann = open_in(project, environ={"SATCHEL_AGENT": "ann"}, caller=Caller(SERVER, {}))
    pad = ann.entries.write("scratchpad", {"iteration": 1, "done": True, "next_step": "none"}).ref
    (note,) = satchel.messages.inbox(agent="ben", wait_seconds=3).notes
    assert f"ann is done ({pad}) and was last heard of less than 1 min ago" in note
