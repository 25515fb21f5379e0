"""What the doctor says about consultations."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from consult.answered_turns import KEY, known, take_turn
from satchel import Satchel
from satchel.base.errors import SatchelError, StoreDamaged
from satchel.consult import conversation_tables
from satchel.consult.conversations import Conversations
from satchel.consult.records import ConversationKey
from satchel.consult.vector_stores import LIFE_MS, Sweeper, VectorStore, VectorStores
from satchel.store.sqlite import SqliteEngine

if TYPE_CHECKING:
    from conftest import ManualClock


@pytest.fixture
def conversations(satchel: Satchel) -> Conversations:
    return Conversations(satchel.workplace)


def check(satchel: Satchel, name: str) -> tuple[str, str]:
    """Return the status and the detail of a check."""
    (found,) = (one for one in satchel.housekeeping.doctor() if one.name == name)
    return found.status, found.detail


def change(satchel: Satchel, sql: str, **values: object) -> None:
    with satchel.workplace.engine.write() as transaction:
        assert transaction.execute(sql, values) == 1


def test_without_any_conversation_all_is_well(satchel: Satchel) -> None:
    satchel.housekeeping.initialise()
    assert check(satchel, "conversations") == ("ok", "every turn can be read, 0 in all")
    assert check(satchel, "contents") == ("ok", "every one is what was sent, 0 in all")
    assert check(satchel, "vector stores") == ("ok", "none are recorded")


def test_what_can_be_read_is_counted_over_all_steps(conversations: Conversations, satchel: Satchel) -> None:
    texts = tuple(f"text {number}" for number in range(120))
    take_turn(conversations, *(known(f"{text}.py", text) for text in texts), contents=texts)
    for _ in range(2):
        take_turn(conversations)
    assert check(satchel, "conversations") == ("ok", "every turn can be read, 3 in all")
    assert check(satchel, "contents") == ("ok", "every one is what was sent, 120 in all")


def test_a_lease_is_no_fault(conversations: Conversations, satchel: Satchel, clock: ManualClock) -> None:
    take_turn(conversations)
    conversations.acquire(KEY, lease_ms=1)
    conversations.acquire(ConversationKey("gpt", "new"), lease_ms=1)
    clock.advance(2)
    assert check(satchel, "conversations")[0] == "ok"


def test_a_turn_whose_prompt_is_damaged_is_named_with_what_to_do(
    conversations: Conversations, satchel: Satchel
) -> None:
    for _ in range(3):
        take_turn(conversations)
    with satchel.workplace.engine.write() as transaction:
        transaction.run("UPDATE conversation_turns SET prompt = :bytes WHERE n > 1", {"bytes": b"no zlib"})
    status, detail = check(satchel, "conversations")
    assert status == "failed"
    assert detail.startswith("turn 2 of 'review' with gpt cannot be read (2 in all); ")
    assert "satchel consult --reset" in detail
    assert "satchel restore" in detail


def test_a_turn_that_is_missing_is_found(conversations: Conversations, satchel: Satchel) -> None:
    for _ in range(3):
        take_turn(conversations)
    change(satchel, "DELETE FROM conversation_turns WHERE n = 2")
    status, detail = check(satchel, "conversations")
    assert status == "failed"
    assert detail.startswith("'review' with gpt has 2 of its 3 turns (1 in all); ")


@pytest.mark.parametrize("damage", [b"no zlib", conversation_tables.compress("another text")])
def test_a_content_that_is_not_what_was_sent_is_found(
    conversations: Conversations, satchel: Satchel, damage: bytes
) -> None:
    take_turn(conversations, known("a.py", "one"), known("b.py", "two"), contents=("one", "two"))
    digest = known("a.py", "one").digest
    change(satchel, "UPDATE blobs SET bytes = :bytes WHERE digest = :digest", bytes=damage, digest=digest)
    status, detail = check(satchel, "contents")
    assert status == "warning"
    assert detail.startswith("1 of 2 are damaged: ")


def test_sending_a_damaged_content_again_mends_it(conversations: Conversations, satchel: Satchel) -> None:
    take_turn(conversations, known("a.py", "one"), contents=("one",))
    change(satchel, "UPDATE blobs SET bytes = :bytes, size = 7", bytes=b"no zlib")
    take_turn(conversations, known("a.py", "one"), contents=("one",))
    assert check(satchel, "contents")[0] == "ok"
    with satchel.workplace.engine.read() as transaction:
        assert transaction.one("SELECT size = length(bytes) FROM blobs") == (1,)


def test_a_file_without_its_conversation_is_found(conversations: Conversations, satchel: Satchel) -> None:
    take_turn(conversations, known("src/a.py"))
    assert isinstance(satchel.workplace.engine, SqliteEngine)
    with satchel.workplace.engine.exclusive() as connection:
        connection.pragma("foreign_keys", 0)
        connection.execute("DELETE FROM conversations")
        connection.pragma("foreign_keys", 1)
    status, detail = check(satchel, "file")
    assert status == "failed"
    assert "conversation_file_states points to a missing conversations" in detail


DAMAGE = (b"no zlib", b"[", b"5", b"[[1]]", b"[null]", zlib.compress(b"5"), zlib.compress(b"[" * 200_000))
LISTS_OF_OTHERS = (zlib.compress(b"[]"), zlib.compress(b'["a.py", "b.py"]'), zlib.compress(b" " * (2 << 20) + b"[]"))


@pytest.mark.parametrize("damage", [*DAMAGE, *LISTS_OF_OTHERS])
def test_a_damaged_list_of_files_is_named_and_keeps_nobody_from_a_reset(
    conversations: Conversations, satchel: Satchel, monkeypatch: pytest.MonkeyPatch, damage: bytes
) -> None:
    monkeypatch.setattr("satchel.consult.conversation_tables._MOST_LIST_BYTES", 1 << 20)
    take_turn(conversations, known("a.py"))
    change(satchel, "UPDATE conversation_paths SET paths = :bytes", bytes=damage)
    with pytest.raises(StoreDamaged, match="the list of files of a conversation cannot be read"):
        conversations.state(KEY)
    status, detail = check(satchel, "conversations")
    assert (status, detail.startswith("the list of files of 'review' with gpt cannot be read")) == ("failed", True)
    assert [one.key for one in conversations.list().items] == [KEY]
    conversations.reset(KEY)
    assert conversations.state(KEY).turns == 0


def test_vector_stores_of_calls_under_way_are_no_fault(satchel: Satchel) -> None:
    stores = VectorStores(satchel.workplace)
    for _ in range(2):
        stores.announce("openai-1")
    assert check(satchel, "vector stores") == ("ok", "2 recorded, perhaps still in use")


def test_vector_stores_that_are_left_over_are_said_with_what_will_happen(satchel: Satchel, clock: ManualClock) -> None:
    stores = VectorStores(satchel.workplace)
    for account in ("openai-1", "openai-2", "openai-2"):
        stores.announce(account)
    clock.advance(LIFE_MS)
    stores.announce("openai-1")
    stores.announce("openai-3")
    status, detail = check(satchel, "vector stores")
    assert status == "warning"
    assert detail.startswith("3 of 5 were left ")
    assert detail.endswith("the next question with the same key deletes them (openai-1, openai-2)")


def test_one_that_could_not_be_deleted_is_left_over_while_the_next_try_waits(
    satchel: Satchel, clock: ManualClock
) -> None:
    def refuse(store: VectorStore, is_cancelled: Callable[[], bool]) -> None:
        raise SatchelError(f"{store.name} is refused")

    stores = VectorStores(satchel.workplace)
    stores.announce("openai-1")
    clock.advance(LIFE_MS)
    stores.sweep(Sweeper("openai-1", refuse))
    assert check(satchel, "vector stores")[1].startswith("1 of 1 were left ")


def test_a_backup_holds_conversations_and_going_back_to_it_brings_them_back(
    conversations: Conversations, satchel: Satchel
) -> None:
    state = take_turn(conversations, known("a.py"), contents=("text",))
    copy = satchel.housekeeping.backup()
    take_turn(conversations, known("b.py"))
    conversations.reset(KEY)
    satchel.housekeeping.restore(copy.file)
    assert (conversations.state(KEY), len(conversations.thread(KEY))) == (state, 1)
    assert [check(satchel, name)[0] for name in ("conversations", "contents", "file")] == ["ok"] * 3


def test_compacting_drops_contents_that_no_conversation_needs(conversations: Conversations, satchel: Satchel) -> None:
    take_turn(conversations, known("a.py", "one"), contents=("one",))
    take_turn(conversations, known("a.py", "two"), contents=("two",))
    assert check(satchel, "contents") == ("ok", "every one is what was sent, 2 in all")
    satchel.housekeeping.compact()
    assert check(satchel, "contents") == ("ok", "every one is what was sent, 1 in all")
    assert conversations.read_content(known("a.py", "two").digest or b"") == "two"
