"""Conversations among the other things that are counted and cleared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from consult.answered_turns import KEY, known, stored, take_turn
from days_of_use import vouch_in
from satchel import InvalidInput, Satchel
from satchel.consult import conversation_tables
from satchel.consult.conversations import Conversations
from satchel.consult.records import ConversationKey
from satchel.consult.vector_stores import VectorStores
from satchel.keep import expiry
from satchel.keep.housekeeping.clearing import Cleared
from tables import in_one_test

if TYPE_CHECKING:
    from conftest import ManualClock

DAY = 86_400_000


@pytest.fixture
def conversations(satchel: Satchel) -> Conversations:
    return Conversations(satchel.workplace)


def names(conversations: Conversations) -> list[str]:
    return sorted(one.key.conversation for one in conversations.list())


def three_ages(conversations: Conversations, clock: ManualClock) -> None:
    """Have conversations whose last turn is two days, one day, and no time ago."""
    take_turn(conversations, key=ConversationKey("gpt", "new"))
    for name in ("old", "older", "new"):
        take_turn(conversations, known("a.py", name), contents=(name,), key=ConversationKey("gpt", name))
        clock.advance(DAY)
    clock.advance(-DAY)


class TestClearing:
    @pytest.mark.parametrize(
        ("days", "left"),
        [(None, ["new", "old", "older"]), (3, ["new", "old", "older"]), (2, ["new", "older"]), (1, ["new"]), (0, [])],
    )
    @pytest.mark.parametrize("dry_run", [True, False])
    def test_those_without_a_turn_for_so_long_go(
        self,
        conversations: Conversations,
        satchel: Satchel,
        clock: ManualClock,
        days: int | None,
        left: list[str],
        dry_run: bool,
    ) -> None:
        three_ages(conversations, clock)
        cleared = satchel.housekeeping.clear(conversations_days=days, dry_run=dry_run)
        assert cleared == Cleared(0, 0, 0, 0, 3 - len(left), done=not dry_run)
        assert names(conversations) == (["new", "old", "older"] if dry_run else left)

    def test_their_contents_go_too(self, conversations: Conversations, satchel: Satchel, clock: ManualClock) -> None:
        three_ages(conversations, clock)
        satchel.housekeeping.clear(conversations_days=1, dry_run=False)
        read = conversations.read_content
        assert [read(known("a.py", name).digest or b"") for name in ("old", "older", "new")] == [None, None, "new"]

    def test_without_days_those_that_have_expired_go(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        take_turn(conversations)
        clock.advance(90 * DAY - 1)
        assert satchel.housekeeping.clear().conversations == 0
        vouch_in(satchel, clock.advance(1))
        assert satchel.housekeeping.clear().conversations == 1
        assert satchel.housekeeping.clear(dry_run=False) == Cleared(0, 0, 0, 0, 1, done=True)
        assert stored(satchel)["conversations"] == []

    def test_one_that_a_call_holds_stays(self, conversations: Conversations, satchel: Satchel) -> None:
        take_turn(conversations)
        conversations.acquire(KEY)
        assert satchel.housekeeping.clear(conversations_days=0, dry_run=False).conversations == 0
        assert names(conversations) == ["review"]

    def test_what_a_first_call_that_crashed_has_left_does_not_count(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        conversations.acquire(KEY, lease_ms=1)
        clock.advance(1)
        assert satchel.housekeeping.clear(conversations_days=0).conversations == 0

    def test_many_go_in_several_steps_and_the_progress_is_told(
        self, conversations: Conversations, satchel: Satchel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(expiry, "MOST_CONVERSATIONS", 2)
        satchel.messages.send("x", agent="ann")
        for number in range(3):
            take_turn(conversations, key=ConversationKey("gpt", str(number)))
        told: list[tuple[int, int]] = []
        satchel.housekeeping.clear(
            0, dry_run=False, conversations_days=0, progress=lambda done, total: told.append((done, total))
        )
        assert told == [(1, 4), (3, 4), (4, 4)]

    def test_another_project_is_left_alone(self, open_in: Callable[..., Satchel], project: Path) -> None:
        one, other = open_in(project, project="one"), open_in(project, project="other")
        one.housekeeping.initialise()
        take_turn(Conversations(other.workplace), known("a.py"), contents=("text",))
        before = stored(other)
        assert one.housekeeping.clear(conversations_days=0, dry_run=False).conversations == 0
        assert stored(other) == before

    @in_one_test("days", [-1, 3_651, 1.5, "1", True])
    def test_what_is_no_number_of_days_is_refused(self, satchel: Satchel, days: Any) -> None:
        with pytest.raises(InvalidInput, match=r"^conversations_days "):
            satchel.housekeeping.clear(conversations_days=days)


class TestStatistics:
    def test_conversations_and_what_they_take_are_counted(self, conversations: Conversations, satchel: Satchel) -> None:
        prompt, answer = "What of it? " * 50, "Nichts für ungut"
        take_turn(conversations, known("a.py"), contents=("text",), prompt=prompt, answer=answer)
        take_turn(conversations, prompt=prompt, answer=answer)
        take_turn(conversations, prompt=prompt, answer=answer, key=ConversationKey("gpt", "costly"), resent_tokens=0)
        VectorStores(satchel.workplace).announce("openai")
        counted = satchel.housekeeping.statistics()
        assert (counted.conversations, counted.turns, counted.vector_stores) == (2, 3, 1)
        assert (counted.sent_tokens, counted.saved_tokens) == (300, 600)
        # the provider keeps the prompts of a thread that is resumed by a response
        assert counted.turn_bytes == 3 * (
            len("What of it?") + len(conversation_tables.compress("")) + len(answer.encode())
        )
        assert counted.content_bytes == len(conversation_tables.compress("text"))

    def test_those_that_have_not_begun_or_are_over_do_not_count(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        take_turn(conversations)
        clock.advance(90 * DAY - 1)
        conversations.acquire(ConversationKey("gpt", "first"))
        assert satchel.housekeeping.statistics().conversations == 1
        clock.advance(1)
        counted = satchel.housekeeping.statistics()
        assert (counted.conversations, counted.turns, counted.turn_bytes, counted.sent_tokens) == (0, 0, 0, 0)

    def test_what_another_project_holds_does_not_count(self, open_in: Callable[..., Satchel], project: Path) -> None:
        one, other = open_in(project, project="one"), open_in(project, project="other")
        one.housekeeping.initialise()
        take_turn(Conversations(other.workplace), known("a.py"), contents=("text",))
        VectorStores(other.workplace).announce("openai")
        counted = one.housekeeping.statistics()
        assert (counted.conversations, counted.turns, counted.turn_bytes, counted.content_bytes) == (0, 0, 0, 0)
        assert (counted.sent_tokens, counted.saved_tokens, counted.vector_stores) == (0, 0, 0)
