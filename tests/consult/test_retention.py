"""Conversations that had no turn for long: hidden at once, removed by a sweep, never while a call holds them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from consult.answered_turns import KEY, known, result, stored, stores_left, take_turn
from days_of_use import vouch, vouch_in
from satchel import NotFound, Satchel
from satchel.base.retention import Retention
from satchel.consult.conversations import Conversations
from satchel.consult.records import ConversationKey, ConversationState
from satchel.consult.vector_stores import VectorStores
from satchel.keep import expiry, projects
from satchel.store.sqlite_transaction import SqliteTransaction
from satchel.store.transaction import Parameters, Row

if TYPE_CHECKING:
    from conftest import ManualClock

DAY = 86_400_000
LIFE = 90 * DAY
OTHER = ConversationKey("gpt", "other")


@pytest.fixture
def conversations(satchel: Satchel) -> Conversations:
    return Conversations(satchel.workplace)


def sweep(satchel: Satchel, now: int) -> int:
    with satchel.workplace.engine.write() as transaction:
        vouch(transaction, now)
        project = projects.find(transaction, satchel.workplace)
        return expiry.sweep(transaction, project.id, now)


def rows(satchel: Satchel) -> dict[str, int]:
    """Count what stands in the tables of consultations."""
    return {table: len(found) for table, found in stored(satchel).items()}


def sessions(conversations: Conversations) -> list[str]:
    return [one.key.conversation for one in conversations.list()]


NOTHING = dict.fromkeys(
    (
        "conversations",
        "conversation_turns",
        "conversation_parts",
        "conversation_paths",
        "conversation_file_states",
        "blobs",
        "vector_stores",
    ),
    0,
)


class TestReading:
    def test_one_is_there_to_the_last_moment_and_then_for_no_reader(
        self, conversations: Conversations, clock: ManualClock
    ) -> None:
        state = take_turn(conversations, known("a.py"))
        clock.advance(LIFE - 1)
        assert (sessions(conversations), conversations.sessions(KEY)) == (["review"], frozenset({"review"}))
        assert (conversations.state(KEY), len(conversations.thread(KEY))) == (state, 1)
        clock.advance(1)
        assert (sessions(conversations), conversations.sessions(KEY)) == ([], frozenset())
        assert (conversations.state(KEY), conversations.thread(KEY)) == (ConversationState(), ())

    def test_every_turn_lets_it_live_longer(self, conversations: Conversations, clock: ManualClock) -> None:
        for _ in range(3):
            take_turn(conversations)
            clock.advance(LIFE - 1)
        assert sessions(conversations) == ["review"]

    def test_a_failed_call_does_not(self, conversations: Conversations, clock: ManualClock) -> None:
        take_turn(conversations)
        clock.advance(LIFE - 1)
        conversations.release(conversations.acquire(KEY))
        clock.advance(1)
        assert sessions(conversations) == []

    def test_a_name_that_is_looked_for_is_not_said_to_be_like_one_that_is_gone(
        self, conversations: Conversations, clock: ManualClock
    ) -> None:
        take_turn(conversations)
        clock.advance(LIFE)
        with pytest.raises(NotFound, match="list_conversations"):
            conversations.reset(ConversationKey("gpt", "reviews"))

    def test_resetting_one_that_was_not_swept_yet_removes_it(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        take_turn(conversations, known("a.py"), contents=("text",))
        clock.advance(LIFE)
        conversations.reset(KEY)
        assert rows(satchel) == NOTHING


class TestBeginningAnew:
    def test_a_call_begins_anew(self, conversations: Conversations, satchel: Satchel, clock: ManualClock) -> None:
        take_turn(conversations, known("a.py"), contents=("text",))
        clock.advance(LIFE)
        conversation = conversations.acquire(KEY)
        assert conversation.state == ConversationState()
        assert rows(satchel) == NOTHING | {"conversations": 1}
        state = conversations.commit(conversation, result(known("b.py")))[0]
        assert (state.turns, list(state.files)) == (1, ["b.py"])
        (listed,) = conversations.list()
        assert listed.created_at == clock.now

    def test_a_call_removes_others_that_are_over(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        take_turn(conversations, known("a.py"), contents=("text",), key=OTHER)
        vouch_in(satchel, clock.advance(LIFE))
        conversations.acquire(KEY)
        assert rows(satchel) == NOTHING | {"conversations": 1}


class TestHeldByACall:
    def test_it_stays_whatever_sweeps_and_can_be_read(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        state = take_turn(conversations, known("a.py"), contents=("text",))
        clock.advance(LIFE - 1)
        conversation = conversations.acquire(KEY, lease_ms=3_600_000)
        before = stored(satchel)
        clock.advance(1)
        assert sweep(satchel, clock.now) == 0
        assert satchel.housekeeping.clear(conversations_days=0, dry_run=False).conversations == 0
        assert stored(satchel) == before
        assert (conversations.state(KEY), sessions(conversations)) == (state, ["review"])
        assert len(conversations.thread(KEY)) == 1
        assert conversations.commit(conversation, result(known("a.py")))[0].turns == 2

    def test_a_lease_that_has_ended_protects_nothing(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        take_turn(conversations)
        clock.advance(LIFE - 1)
        conversations.acquire(KEY, lease_ms=10)
        clock.advance(10)
        assert sessions(conversations) == []
        assert sweep(satchel, clock.now) == 1


class TestSweeping:
    def test_turns_files_and_contents_go_too(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        take_turn(conversations, known("src/a.py"), contents=("text",))
        assert sweep(satchel, clock.now + LIFE - 1) == 0
        assert sweep(satchel, clock.now + LIFE) == 1
        assert rows(satchel) == NOTHING

    def test_contents_that_another_conversation_needs_stay(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        take_turn(conversations, known("a.py", "both"), known("b.py", "old"), contents=("both", "old"))
        clock.advance(1)
        take_turn(conversations, known("c.py", "both"), contents=("both",), key=OTHER)
        before = conversations.state(OTHER)
        sweep(satchel, clock.now - 1 + LIFE)
        assert conversations.state(OTHER) == before
        assert [conversations.read_content(known("x", text).digest or b"") for text in ("both", "old")] == [
            "both",
            None,
        ]

    def test_a_vector_store_stays_recorded(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        take_turn(conversations)
        stores = VectorStores(satchel.workplace, conversations.acquire(KEY, lease_ms=1).id)
        stores.announce("openai")
        sweep(satchel, clock.now + LIFE)
        (store,) = stores_left(stores)
        assert store.conversation_id is None

    def test_those_that_ended_first_go_first_and_few_at_a_time(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        names = [str(number) for number in range(expiry.MOST_CONVERSATIONS + 1)]
        for name in names:
            take_turn(conversations, key=ConversationKey("gpt", name))
            clock.advance(1)
        assert sweep(satchel, clock.now + LIFE) == expiry.MOST_CONVERSATIONS
        assert sessions(conversations) == names[-1:]

    def test_the_project_that_is_written_to_is_swept_and_no_other(
        self, open_in: Callable[..., Satchel], project: Path, clock: ManualClock
    ) -> None:
        one, other = open_in(project, project="one"), open_in(project, project="other")
        for each in (one, other):
            take_turn(Conversations(each.workplace), known("a.py"), contents=("text",))
        assert sweep(one, clock.now + LIFE) == 1
        assert rows(one)["conversations"] == rows(one)["blobs"] == 1
        assert sweep(other, clock.now + LIFE) == 1
        assert rows(one) == NOTHING

    def test_conversations_that_go_on_are_not_looked_at(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        take_turn(conversations)
        plans: list[list[str]] = []
        original = SqliteTransaction.all

        def explained(transaction: SqliteTransaction, sql: str, parameters: Parameters | None = None) -> list[Row]:
            if "conversations" in sql:
                plans.append([row[3] for row in original(transaction, f"EXPLAIN QUERY PLAN {sql}", parameters)])
            return original(transaction, sql, parameters)

        monkeypatch.setattr(SqliteTransaction, "all", explained)
        sweep(satchel, clock.now)
        assert plans == [["SEARCH conversations USING INDEX conversations_expiry (project_id=? AND expires_at<?)"]]

    def test_a_message_that_is_sent_sweeps_as_well(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        take_turn(conversations)
        vouch_in(satchel, clock.advance(LIFE))
        satchel.messages.send("x", agent="ann")
        assert rows(satchel) == NOTHING


@pytest.mark.parametrize(
    ("settings", "days"),
    [
        ({"retention.conversations_days": 3}, 3),
        ({"retention.conversations_days": 3, "retention.skip_weekends": True}, 5),
    ],
)
def test_how_long_is_configured(
    open_in: Callable[..., Satchel], project: Path, clock: ManualClock, settings: dict[str, Any], days: int
) -> None:
    clock.now = round(datetime(2026, 11, 19, tzinfo=UTC).timestamp() * 1_000)  # a Thursday
    conversations = Conversations(open_in(project, settings=settings).workplace)
    take_turn(conversations)
    clock.advance(days * DAY - 1)
    assert sessions(conversations) == ["review"]
    clock.advance(1)
    assert sessions(conversations) == []


def test_ninety_days_are_the_default() -> None:
    assert Retention().conversations_hours == 90 * 24


@pytest.mark.parametrize(("mebibytes", "kept"), [(0, 0), (1, 1)])
def test_how_much_is_kept_for_diffs_is_configured(
    open_in: Callable[..., Satchel], project: Path, mebibytes: int, kept: int
) -> None:
    satchel = open_in(project, settings={"consult.blob_mib": mebibytes})
    take_turn(satchel.consulting.conversations, known("a.py"), contents=("text",))
    assert rows(satchel)["blobs"] == kept
