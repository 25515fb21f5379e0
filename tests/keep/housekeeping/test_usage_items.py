"""What became of what was briefed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from satchel import Satchel
from satchel.base.clock import DAY_MS
from satchel.base.tokens import estimate

if TYPE_CHECKING:
    from conftest import ManualClock

DONE = {"iteration": 1, "done": True, "attempted": ["the parser"]}


def brief(satchel: Satchel, *agents: str) -> None:
    for agent in agents:
        satchel.briefings.brief(agent=agent, run_id="main")


@pytest.fixture
def kept(satchel: Satchel) -> Satchel:
    """A note and a rule by ann."""
    satchel.entries.write("discovery", "the parser reads twice", agent="ann")
    satchel.constraints.add("never log a token", agent="ann")
    return satchel


def test_before_the_first_briefing_nothing_is_counted(kept: Satchel) -> None:
    use = kept.housekeeping.memory_use()
    assert (use.items, use.deliveries, use.useful, use.unused) == (0, 0, (), ())


def test_deliveries_are_counted_by_item(kept: Satchel) -> None:
    brief(kept, "ben", "cat")
    use = kept.housekeeping.memory_use()
    assert (use.items, use.deliveries, use.confirmed, use.succeeded, use.corrected) == (2, 4, 0, 0, 0)


def test_tokens_of_briefings_are_beside_those_of_the_whole_items(kept: Satchel) -> None:
    long = kept.entries.write("discovery", "the parser holds every line of the file in memory. " * 60, agent="ann")
    briefings = [kept.briefings.brief(agent=agent, run_id="main", budget=300) for agent in ("ben", "cat")]
    assert all(long.ref in briefing.text for briefing in briefings)
    use = kept.housekeeping.memory_use()
    assert use.tokens == sum(briefing.tokens for briefing in briefings)
    assert use.whole_tokens == pytest.approx(2 * estimate(long.content), rel=0.1)


def test_what_was_confirmed_is_useful(kept: Satchel) -> None:
    brief(kept, "ben")
    kept.corrections.confirm("e1", agent="ben")
    (one,) = kept.housekeeping.memory_use().useful
    assert (one.ref, one.delivered, one.confirmed, one.text) == ("e1", 1, 1, "the parser reads twice")


def test_what_was_followed_by_success_within_a_day_is_useful(kept: Satchel, clock: ManualClock) -> None:
    brief(kept, "ben", "cat", "dan")
    clock.advance(DAY_MS)
    kept.entries.write("scratchpad", DONE, agent="ben")
    kept.entries.write("scratchpad", {**DONE, "done": False}, agent="cat")
    clock.advance(1)
    kept.entries.write("scratchpad", DONE, agent="dan")
    use = kept.housekeeping.memory_use()
    assert [(one.ref, one.succeeded) for one in use.useful] == [("e1", 1), ("c1", 1)]
    assert use.succeeded == 2


def test_what_is_done_before_a_briefing_says_nothing_of_it(kept: Satchel, clock: ManualClock) -> None:
    kept.entries.write("scratchpad", DONE, agent="ben")
    clock.advance(1)
    brief(kept, "ben")
    assert kept.housekeeping.memory_use().useful == ()


def test_a_note_that_nobody_confirmed_is_named_after_three_briefings_and_a_week(
    kept: Satchel, clock: ManualClock
) -> None:
    brief(kept, "ben", "cat")
    clock.advance(7 * DAY_MS)
    assert kept.housekeeping.memory_use().unused == ()
    brief(kept, "dan")
    use = kept.housekeeping.memory_use()
    assert ([(one.ref, one.delivered) for one in use.unused], use.unused_total) == ([("e1", 3)], 1)


def test_nothing_is_called_unconfirmed_in_its_first_week(kept: Satchel, clock: ManualClock) -> None:
    brief(kept, "ben", "cat", "dan")
    clock.advance(7 * DAY_MS - 1)
    assert kept.housekeeping.memory_use().unused == ()


def test_what_was_corrected_after_its_delivery_is_counted(kept: Satchel, clock: ManualClock) -> None:
    kept.entries.write("discovery", "the lexer reads twice", agent="ann")
    kept.corrections.retract("e2", agent="ann")
    clock.advance(1)
    brief(kept, "ben")
    clock.advance(1)
    kept.corrections.retract("e1", agent="ben")
    use = kept.housekeeping.memory_use()
    assert use.corrected == 1
    kept.corrections.undo(agent="ben")
    assert kept.housekeeping.memory_use().corrected == 0


def test_what_is_forgotten_is_not_counted(kept: Satchel) -> None:
    brief(kept, "ben")
    kept.housekeeping.forget("e1")
    assert kept.housekeeping.memory_use().items == 1
