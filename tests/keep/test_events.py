"""What is recorded of what happens, and for how long."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock
from days_of_use import vouch_in
from satchel import Conflict, Satchel
from satchel.base.clock import DAY_MS
from satchel.keep import events
from satchel.keep.sessions.caller import SERVER


@pytest.fixture
def server(open_in: Callable[..., Satchel], project: Path) -> Satchel:
    """The server of a client."""
    return open_in(project, caller=SERVER)


def recorded(satchel: Satchel) -> list[tuple[str, Any]]:
    """Return the kinds of all events, in their order, with their details."""
    with satchel.workplace.engine.read() as transaction:
        rows = transaction.all("SELECT kind, details FROM events ORDER BY seq")
    return [(events.KINDS[kind - 1], None if details is None else json.loads(details)) for kind, details in rows]


def test_a_session_starts_once_and_ends_once(server: Satchel) -> None:
    for text in ("one", "two"):
        server.entries.write("discovery", text)
    assert recorded(server) == [("session_started", None)]
    server.sessions.end("logout")
    server.sessions.end("logout")
    assert recorded(server)[1:] == [("session_ended", {"reason": "logout"})]


def test_a_briefing_is_a_delivery_with_what_it_cost(satchel: Satchel) -> None:
    satchel.entries.write("discovery", "the pool holds 5 connections", agent="ann")
    briefing = satchel.brief(agent="ann")
    kind, details = recorded(satchel)[0]
    assert (kind, details | {"held": None}) == (
        "delivery",
        {"moment": "briefing", "items": 1, "tokens": briefing.tokens, "held": None},
    )
    satchel.brief(agent="ann", dry_run=True)
    assert len(recorded(satchel)) == 1


def test_claims_are_refused_released_and_expire(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["a.py", "b.py"], minutes=5, agent="ann")
    with pytest.raises(Conflict):
        satchel.files.claim(["b.py"], agent="ben")
    satchel.files.release(["a.py"], agent="ann")
    clock.advance(5 * 60_000)
    satchel.files.claim(["c.py"], agent="ben")
    refusal, release, expiry = recorded(satchel)
    assert refusal == ("refusal", {"paths": ["b.py"], "worktree": None, "holders": ["ann"]})
    assert (release[0], release[1]["path"]) == ("release", "a.py")
    assert (expiry[0], expiry[1]["path"]) == ("expiry", "b.py")


def test_an_outcome_changes_a_confidence(satchel: Satchel) -> None:
    satchel.patterns.report("KeyError", "'x'", solution="give a default", agent="ann")
    satchel.patterns.outcome("y1", helped=False, agent="ben")
    satchel.patterns.outcome("y1", helped=False, agent="ben")
    assert recorded(satchel) == [("confidence", {"solution": "y1", "helped": False, "confidence": 3})]


def test_events_go_after_90_days(satchel: Satchel, clock: ManualClock) -> None:
    satchel.files.claim(["a.py"], agent="ann")
    satchel.files.release(agent="ann")
    vouch_in(satchel, clock.advance(90 * DAY_MS - 1))
    satchel.files.record("a.py", "modified")
    assert len(recorded(satchel)) == 1
    vouch_in(satchel, clock.advance(60_000))
    satchel.files.record("a.py", "modified")
    assert recorded(satchel) == []
