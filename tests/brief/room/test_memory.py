"""What memory is worth: the tokens put into windows, and what came of the items."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel import InvalidInput, Satchel
from satchel.base.clock import DAY_MS
from satchel.brief.briefing.collecting import Deadline
from satchel.brief.moments import CLEAR, START, Moment
from satchel.brief.room.memory_records import SPENT_BY, Worths
from satchel.keep import deliveries, events
from satchel.keep.deliveries import MOMENTS, Window
from satchel.keep.entries import NewEntry
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
        rows = transaction.all(
            "SELECT json_extract(details, '$.moment'), json_extract(details, '$.tokens') FROM events "
            "WHERE kind = :kind",
            {"kind": events.DELIVERY},
        )
    return [(moment, tokens) for moment, tokens in rows]


def refs(worths: Worths) -> list[str]:
    return [one.ref for one in worths.items]


def test_where_nothing_was_put_in_every_day_is_empty(satchel: Satchel) -> None:
    found = satchel.room.memory(30)
    assert [(sum(day.tokens), day.deliveries) for day in found.spending.days] == [(0, 0)] * 30
    assert (found.spending.names, found.spending.per_session, found.helped.total) == ((), None, 0)


@pytest.mark.parametrize("wrong", [{"days": 0}, {"days": 91}, {"by": "colour"}])
def test_other_questions_are_refused(satchel: Satchel, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        satchel.room.memory(**wrong)  # type: ignore[arg-type]


def test_what_hooks_and_briefings_put_in_is_counted_by_moment_and_agent(session: Session, project: Path) -> None:
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
    spending = satchel.room.memory().spending
    assert {one.name for one in spending.names} == {"start", "briefing", "clear", "edit"}
    assert sum(tokens for _, tokens in recorded(satchel)) == spending.tokens > 0
    for one in spending.names:
        assert [one.tokens, one.deliveries] == [
            sum(tokens for moment, tokens in recorded(satchel) if moment == one.name),
            sum(moment == one.name for moment, _ in recorded(satchel)),
        ]
    by_agent = satchel.room.memory(by="agent").spending
    assert "bob" in {one.name for one in by_agent.names}
    assert by_agent.tokens == spending.tokens
    assert (spending.sessions, spending.per_session) == (1, spending.tokens)


Deliveries = st.lists(
    st.tuples(st.integers(0, 20), st.sampled_from(MOMENTS), st.integers(0, 12), st.integers(0, 5_000)), max_size=40
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(Deliveries)
def test_the_sum_over_days_is_that_of_what_was_recorded(
    satchel: Satchel, clock: ManualClock, some: list[tuple[int, str, int, int]]
) -> None:
    agents = [satchel.agents.register(f"agent-{number}").id for number in range(12)]
    with satchel.workplace.engine.write() as transaction:
        transaction.run("DELETE FROM delivery_days")
        transaction.run("DELETE FROM events")
        for days, moment, agent, tokens in some:
            window = Window(1, None, 0, agents[agent - 1] if agent else None, 0)
            at = clock.now - days * DAY_MS
            deliveries.deliver(transaction, window, [(1, 1, 1)], at, moment=moment, tokens=tokens)
    assert sorted(recorded(satchel)) == sorted((moment, tokens) for _, moment, _, tokens in some)
    for by in SPENT_BY:
        for days in (14, 90):
            within = [(tokens, ago) for ago, _, _, tokens in some if ago < days]
            spending = satchel.room.memory(days, by).spending
            assert sum(sum(day.tokens) for day in spending.days) == spending.tokens == sum(one for one, _ in within)
            assert sum(one.tokens for one in spending.names) == spending.tokens
            assert sum(day.deliveries for day in spending.days) == spending.deliveries == len(within)
            today = spending.days[-1]
            assert sum(today.tokens) == sum(tokens for tokens, ago in within if ago == 0)
            assert len(spending.names) <= 8


def test_what_was_counted_goes_with_the_events(session: Session, clock: ManualClock) -> None:
    session.begin()
    with session.satchel.workplace.engine.write() as transaction:
        deliveries.sweep(transaction, 1, clock.now + 89 * DAY_MS)
        assert transaction.one("SELECT count(*) FROM delivery_days") == (1,)
        deliveries.sweep(transaction, 1, clock.now + 91 * DAY_MS)
        assert transaction.one("SELECT count(*) FROM delivery_days") == (0,)


def test_what_agents_confirmed_and_reported_as_helping_helped(session: Session) -> None:
    satchel = session.satchel
    satchel.corrections.confirm("e1", agent="bob")
    satchel.corrections.confirm("e1", agent="cleo")
    error = satchel.patterns.report("KeyError", "no such session", solution="ask for a new one", agent="ann")
    satchel.patterns.report("KeyError", "no such session", solution="ask for a new one", agent="bob")
    found = satchel.room.memory().helped
    facts = {one.ref: " ".join(one.facts) for one in found.items}
    assert "confirmed by 2 agents" in facts["e1"]
    assert "helped once" in facts[error.pattern.ref]
    assert found.total == 2


def test_what_was_delivered_before_success_helped_and_what_never_was_did_not(
    satchel: Satchel, open_in: Callable[..., Satchel], project: Path, clock: ManualClock
) -> None:
    satchel.entries.write("discovery", NOTE, agent="ann")
    for number in range(3):
        Session(open_in, project, f"in-vain-{number}").begin()
    assert refs(satchel.room.memory().unused) == ["e1"]
    assert refs(satchel.room.memory().delivered) == ["e1"]
    clock.advance(10 * DAY_MS)
    one = Session(open_in, project, "done")
    one.begin()
    one.satchel.entries.write("scratchpad", {"done": True}, agent="bob")
    found = satchel.room.memory()
    assert "e1" in refs(found.helped)
    assert "in 1 of 4 windows" in " ".join(found.helped.items[0].facts)
    assert found.unused.total == 0


def test_of_several_that_were_delivered_in_vain_the_confirmed_one_counts_as_used(
    satchel: Satchel, open_in: Callable[..., Satchel], project: Path
) -> None:
    satchel.entries.write_many([NewEntry("discovery", f"{NOTE} {number}") for number in ("one", "two", "three")])
    for number in range(3):
        Session(open_in, project, f"in-vain-{number}").begin()
    assert sorted(refs(satchel.room.memory().unused)) == ["e1", "e2", "e3"]
    satchel.corrections.confirm("e2", agent="bob")
    assert sorted(refs(satchel.room.memory().unused)) == ["e1", "e3"]


def test_a_note_on_a_file_that_was_edited_later_may_be_stale(session: Session, clock: ManualClock) -> None:
    satchel = session.satchel
    assert satchel.room.memory().stale.total == 0
    clock.advance(60_000)
    satchel.files.record("src/gateway.py", "modified", agent="bob")
    (one,) = satchel.room.memory().stale.items
    assert (one.ref, one.facts[0].startswith("its file was modified by bob")) == ("e1", True)
    clock.advance(60_000)
    satchel.entries.write("discovery", "the gateway has a clock of its own", agent="bob", file="src/gateway.py")
    assert refs(satchel.room.memory().stale) == ["e1"]


def test_what_several_wrote_says_who(session: Session) -> None:
    for name in ("bob", "cleo"):
        session.satchel.entries.write("discovery", NOTE, agent=name, file="src/gateway.py")
    (one,) = session.satchel.room.memory().sighted.items
    assert one.facts == ("seen 3 times, by ann, bob, cleo",)


def test_lists_say_how_many_more_there_are(satchel: Satchel, open_in: Callable[..., Satchel], project: Path) -> None:
    satchel.entries.write_many([NewEntry("discovery", f"note {number} of many that are kept") for number in range(30)])
    satchel.brief(agent="ann", budget=4_000)
    found = satchel.room.memory().delivered
    assert (len(found.items), found.total) == (20, 30)
