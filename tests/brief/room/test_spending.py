"""Tokens added to context, by day and moment."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents_here import register
from examples import examples
from satchel import InvalidInput, Satchel
from satchel.base.clock import DAY_MS
from satchel.brief.briefing.collecting import Deadline
from satchel.brief.moments import CLEAR, START, Moment
from satchel.keep import deliveries, events
from satchel.keep.deliveries import MOMENTS, Window
from satchel.keep.sessions.caller import Caller

if TYPE_CHECKING:
    from conftest import ManualClock

NOTE = "the gateway's clock is 30 s ahead"


class Session:
    """One session of a client, as its hooks see it."""

    def __init__(self, open_in: Callable[..., Satchel], folder: Path, identity: str = "s1") -> None:
        self.satchel = open_in(folder, caller=Caller.of_hook({}, "claude", identity, begins=False))

    def begin(self, moment: Moment = START) -> str:
        """Let a window open, and take what is put into it."""
        made = self.satchel.moments.make(moment, Deadline(60_000))
        self.satchel.moments.record(moment, made)
        return made.text


@pytest.fixture
def session(satchel: Satchel, open_in: Callable[..., Satchel], project: Path) -> Session:
    satchel.entries.write("discovery", NOTE, agent="ann", file="src/gateway.py")
    return Session(open_in, project)


def recorded(satchel: Satchel) -> list[tuple[str, int]]:
    """Return the moment and the tokens of every event of a delivery."""
    with satchel.workplace.engine.read() as transaction:
        rows = transaction.all("SELECT details FROM events WHERE kind = :kind ORDER BY seq", {"kind": events.DELIVERY})
    details = [json.loads(text) for (text,) in rows]
    return [(one["moment"], one["tokens"]) for one in details]


def test_without_deliveries_every_day_is_empty(satchel: Satchel) -> None:
    spending = satchel.room.spending(30)
    assert [day.tokens for day in spending.days] == [0] * 30
    assert (spending.deliveries, spending.per_session) == (0, None)


@pytest.mark.parametrize("days", [0, 91])
def test_other_numbers_of_days_are_refused(satchel: Satchel, days: int) -> None:
    with pytest.raises(InvalidInput):
        satchel.room.spending(days)


def test_what_hooks_and_briefings_add_is_counted(session: Session, project: Path) -> None:
    satchel = session.satchel
    session.begin()
    satchel.brief(agent="bob", query="clock of the gateway")
    session.begin(CLEAR)
    (project / "src").mkdir()
    (project / "src" / "gateway.py").touch()
    session.begin(CLEAR)
    satchel.entries.write("discovery", "the parser keeps comments of unknown keys", agent="ann", file="src/parser.py")
    (project / "src" / "parser.py").touch()
    said = satchel.working.after_edit(str(project), [("src/parser.py", "modified")])
    assert "comments" in said.text
    satchel.working.record(said)
    spending = satchel.room.spending()
    assert {moment for moment, _ in recorded(satchel)} == {"start", "briefing", "clear", "edit"}
    assert sum(tokens for _, tokens in recorded(satchel)) == spending.tokens > 0
    assert (spending.deliveries, spending.per_session) == (len(recorded(satchel)), spending.tokens)


Deliveries = st.lists(
    st.tuples(st.integers(0, 20), st.sampled_from(MOMENTS), st.integers(0, 12), st.integers(0, 5_000)), max_size=40
)


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(Deliveries)
def test_the_sum_over_days_is_that_of_what_was_recorded(
    satchel: Satchel, clock: ManualClock, some: list[tuple[int, str, int, int]]
) -> None:
    agents = [register(satchel, f"agent-{number}").id for number in range(12)]
    with satchel.workplace.engine.write() as transaction:
        transaction.run("DELETE FROM delivery_days")
        transaction.run("DELETE FROM events")
        for days, moment, agent, tokens in some:
            window = Window(1, None, 0, agents[agent - 1] if agent else None, 0)
            at = clock.now - days * DAY_MS
            deliveries.deliver(transaction, window, [(1, 1, 1)], at, moment=moment, tokens=tokens)
    assert sorted(recorded(satchel)) == sorted((moment, tokens) for _, moment, _, tokens in some)
    for days in (14, 90):
        within = [(tokens, ago) for ago, _, _, tokens in some if ago < days]
        spending = satchel.room.spending(days)
        assert sum(day.tokens for day in spending.days) == spending.tokens == sum(one for one, _ in within)
        assert spending.deliveries == len(within)
        today = spending.days[-1]
        assert today.tokens == sum(tokens for tokens, ago in within if ago == 0)


def test_what_was_counted_goes_with_the_events(session: Session, clock: ManualClock) -> None:
    session.begin()
    with session.satchel.workplace.engine.write() as transaction:
        deliveries.sweep(transaction, 1, clock.now + 89 * DAY_MS)
        assert transaction.one("SELECT count(*) FROM delivery_days") == (1,)
        deliveries.sweep(transaction, 1, clock.now + 91 * DAY_MS)
        assert transaction.one("SELECT count(*) FROM delivery_days") == (0,)
