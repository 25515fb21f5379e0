"""A clock that jumps in the middle of anything: nothing is lost, heads a list for good, or is held for too long."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from satchel import Satchel, open_satchel
from satchel.base.clock import DAY_MS
from satchel.keep import jumps
from state_machines import short_and_long

if TYPE_CHECKING:
    from conftest import ManualClock

MINUTE = 60_000
HALF_AN_HOUR = 30 * MINUTE
WEEK = 7 * DAY_MS
IN_2038, IN_2999 = 2_147_483_648_000, 32_472_144_000_000
JUMPS: dict[str, Callable[[int], int]] = {
    "a day back": lambda now: now - DAY_MS,
    "a day": lambda now: now + DAY_MS,
    "400 days": lambda now: now + 400 * DAY_MS,
    "2038": lambda _: IN_2038,
    "2999": lambda _: IN_2999,
}


class Jumping(RuleBasedStateMachine):
    """A store whose clock is right, or jumps to one time after the other and back."""

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        (Path(self.folder.name) / ".git").mkdir()
        self.right = self.now = 1_795_000_000_000
        self.count = 0
        self.sent: dict[str, int] = {}
        self.errors: list[int] = []
        self.satchel = self.opened()

    def opened(self) -> Satchel:
        return open_satchel(
            cwd=self.folder.name,
            environ={},
            clock=lambda: self.now,
            settings={"store.durability": "relaxed"},
        )

    def teardown(self) -> None:
        if hasattr(self, "satchel"):
            self.satchel.close()
            self.folder.cleanup()

    @rule(jump=st.sampled_from(sorted(JUMPS)))
    def jump(self, jump: str) -> None:
        self.now = JUMPS[jump](self.right)

    @rule()
    def open_again(self) -> None:
        self.satchel.close()
        self.satchel = self.opened()

    @rule()
    def write(self) -> None:
        self.count += 1
        self.satchel.entries.write("discovery", f"note {self.count}")

    @rule()
    def send(self) -> None:
        self.count += 1
        self.satchel.messages.send(f"message {self.count}", agent="ann", to="bob")
        self.sent[f"message {self.count}"] = self.right

    @rule()
    def solve(self) -> None:
        self.errors.append(self.satchel.patterns.report("OSError", "cat is missing", solution="feed it").pattern.id)

    @rule(path=st.sampled_from(["a.py", "b.py"]), agent=st.sampled_from(["ann", "bob"]))
    def claim(self, path: str, agent: str) -> None:
        self.satchel.files.claim(shared=[path], minutes=30, agent=agent)

    @rule()
    def a_day_passes(self) -> None:
        self.right += DAY_MS
        self.be_right()

    @rule()
    def be_right(self) -> None:
        """Put the clock right, use the store for half an hour, and look at all that it holds."""
        for pause in (0, jumps.PAUSE_MS, HALF_AN_HOUR):
            self.right += pause
            self.now = self.right
            self.write()
        unread = {message.message for message in self.satchel.messages.inbox(agent="bob", limit=100)}
        assert {text for text, at in self.sent.items() if self.right < at + WEEK - DAY_MS} <= unread
        if self.errors:
            (error,) = self.satchel.patterns.find().items
            assert error.id == self.errors[0]
            assert [fix.text for fix in error.solutions] == ["feed it"]
        newest = self.satchel.entries.read(limit=1).entries[0]
        assert newest.content == f"note {self.count}"
        assert self.satchel.files.claims().items == ()


TestJumping, TestJumpingAtLength = short_and_long(Jumping, examples=30, steps=40, short=(8, 15))


def test_what_expired_is_hidden_at_once_and_deleted_after_a_day_of_use(satchel: Satchel, clock: ManualClock) -> None:
    satchel.messages.send("old", agent="ann", to="bob")

    def stored() -> int:
        with satchel.workplace.engine.read() as transaction:
            return len(transaction.all("SELECT id FROM agent_messages WHERE message = 'old'"))

    for days in range(1, 10):
        clock.advance(DAY_MS)
        satchel.messages.send("new", agent="bob", to="ann")
        is_unread = any(one.message == "old" for one in satchel.messages.inbox(agent="bob"))
        assert (is_unread, stored()) == (days < 7, days < 8)


def test_a_clock_that_is_behind_changes_no_time(satchel: Satchel, clock: ManualClock) -> None:
    first = satchel.entries.write("discovery", "first")
    for _ in range(3):
        clock.advance(DAY_MS)
        last = satchel.entries.write("discovery", f"at {clock.now}")
    clock.advance(-400 * DAY_MS)
    for number in range(3):
        clock.advance(jumps.PAUSE_MS)
        satchel.entries.write("discovery", f"behind {number}")
    times = {entry.id: entry.created_at for entry in satchel.entries.read(limit=10).entries}
    assert (times[first.id], times[last.id]) == (first.created_at, last.created_at)


def test_a_clock_set_back_revives_the_last_claim_of_a_holder_alone(satchel: Satchel, clock: ManualClock) -> None:
    for _ in range(2):
        satchel.files.claim(shared=["a.py"], minutes=30, agent="ann")
        satchel.files.claim(shared=["a.py"], minutes=30, agent="bob")
        clock.advance(60 * 60_000)
        satchel.entries.write("discovery", "meanwhile they ended")
    assert satchel.files.claims().items == ()
    clock.advance(-DAY_MS // 2)
    satchel.entries.write("discovery", "the clock was set back")
    assert sorted(one.agent for one in satchel.files.claims().items) == ["ann", "bob"]
