"""What becomes of a fix that is known already: who confirms it, and how sure it gets."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from brief.learning.loops import ERROR, only, pad
from satchel import Satchel


class TestAKnownFix:
    def test_an_independent_agent_confirms_it(self, open_in: Callable[..., Satchel], project: Path) -> None:
        for agent in ("Ann", "Bob"):
            satchel = open_in(project, agent=agent)
            satchel.patterns.report(*ERROR, loop_id=agent)
            entry = pad(satchel, 1, "Call it by NAME" if agent == "Bob" else "call it by name", loop=agent, done=True)
        assert (only(satchel).confidence, only(satchel).confirmed, only(satchel).agent) == (6, 1, "Ann")
        assert entry.notes == ("x1 TypeError: y1 already records this fix: it is now confirmed",)

    def test_the_same_agent_does_not(self, dev: Satchel) -> None:
        pad(dev, 1, "call it by name", done=True)
        dev.patterns.report(*ERROR, loop_id="M")
        entry = pad(dev, 1, "call it by name", loop="M", done=True)
        assert only(dev).confirmed == 0
        assert entry.notes == ("x1 TypeError: y1 already records this fix; only another agent can confirm it",)

    def test_agents_that_succeed_at_once_lose_no_confirmation(
        self, open_in: Callable[..., Satchel], project: Path, dev: Satchel
    ) -> None:
        pad(dev, 1, "call it by name", done=True)

        def succeed(number: int) -> None:
            satchel = agents[number]
            for turn in range(5):
                loop = f"{number}-{turn}"
                satchel.patterns.report(*ERROR, loop_id=loop)
                pad(satchel, 1, "call it by name", loop=loop, done=True)

        agents = [open_in(project, agent=f"agent-{number}") for number in range(4)]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(succeed, range(4)))
        assert (only(dev).confirmed, dev.patterns.get("x1").occurrences) == (4, 21)


# what happens to an error in turn: S and T, the loops of two agents succeed by the same fix; + and -, an agent says
# that it helped or did not; then the confidence, the confirmations, and the state of the solution
LIFE = [
    ("S", 5, 0, "active"),
    ("SS", 5, 0, "active"),
    ("ST", 6, 1, "confirmed"),
    ("STT", 6, 1, "confirmed"),
    ("STS", 6, 1, "confirmed"),
    ("S+", 6, 1, "confirmed"),
    ("ST+", 7, 2, "confirmed"),
    ("ST++T", 8, 3, "confirmed"),
    ("ST+++++", 10, 6, "confirmed"),
    ("S-", 3, 0, "demoted"),
    ("S-T", 4, 1, "demoted"),
    ("S-T+", 5, 2, "confirmed"),
    ("S--", 1, 0, "demoted"),
    ("S---", 1, 0, "demoted"),
    ("ST-", 4, 1, "demoted"),
    ("ST+-", 5, 2, "confirmed"),
]


@pytest.mark.parametrize(("events", "confidence", "confirmed", "state"), LIFE)
def test_the_life_of_what_a_loop_taught(
    open_in: Callable[..., Satchel], project: Path, events: str, confidence: int, confirmed: int, state: str
) -> None:
    satchel = open_in(project, agent="judge")
    for number, event in enumerate(events):
        if event in "ST":
            satchel.patterns.report(*ERROR, loop_id=f"L{number}", agent=event)
            content = {"iteration": 1, "attempted": ["call it by name"], "test_status": "passing"}
            satchel.entries.write("scratchpad", content, loop_id=f"L{number}", agent=event)
        else:
            satchel.patterns.outcome("y1", event == "+", agent=f"judge {number}")
    fix = only(satchel)
    assert (fix.confidence, fix.confirmed, fix.failed, fix.state) == (confidence, confirmed, events.count("-"), state)
