"""Contents that diffs are made from: kept whole, limited in size, given up in a good order."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from consult.answered_turns import KEY, digest, known, result, stored, take_turn
from satchel import Satchel
from satchel.consult import conversation_tables
from satchel.consult.conversations import Conversations
from satchel.consult.records import ConversationKey, FileState

if TYPE_CHECKING:
    from conftest import ManualClock

HOUR = 3_600_000
OTHER = ConversationKey("gpt", "other")


def noise(seed: int, length: int = 1_000) -> str:
    """A text that hardly gets smaller when it is compressed."""
    return "".join(random.Random(seed).choices("abcdefghijklmnopqrstuvwxyz \n", k=length))


ROOM = 4 * len(conversation_tables.compress(noise(0))) + 200


def file(name: str, text: str) -> FileState:
    return known(name, text)


def kept(satchel: Satchel, *texts: str) -> list[bool]:
    """Tell which texts can be read back."""
    with satchel.workplace.engine.read() as transaction:
        row = transaction.one("SELECT min(id) FROM projects")
        assert row is not None
        return [
            conversation_tables.load_content(transaction, row[0], digest(text)) == text.encode("utf-8", "surrogatepass")
            for text in texts
        ]


@pytest.fixture
def conversations(satchel: Satchel) -> Conversations:
    return Conversations(satchel.workplace)


@pytest.mark.parametrize("text", ["", "a", "\ufeffa\r\nb\rc", "é日本\U0001f600", "\udcff", "x" * 100_000])
def test_a_text_is_read_back_as_it_was(conversations: Conversations, satchel: Satchel, text: str) -> None:
    take_turn(conversations, file("a.py", text), contents=(text,))
    assert kept(satchel, text) == [True]


def test_contents_take_less_than_they_are(conversations: Conversations, satchel: Satchel) -> None:
    take_turn(conversations, contents=("print('hello')\n" * 1_000,))
    with satchel.workplace.engine.read() as transaction:
        assert transaction.one("SELECT size = length(bytes), size < 1000 FROM blobs") == (1, 1)


def test_one_content_is_kept_once_for_all_conversations(conversations: Conversations, satchel: Satchel) -> None:
    for key in (KEY, OTHER):
        take_turn(conversations, file("a.py", "same"), contents=("same",), key=key)
    assert len(stored(satchel)["blobs"]) == 1


@pytest.mark.parametrize("damage", [b"no zlib", conversation_tables.compress("another text")])
def test_a_content_that_is_not_what_its_digest_says_counts_as_missing(
    conversations: Conversations, satchel: Satchel, damage: bytes
) -> None:
    take_turn(conversations, file("a.py", "text"), contents=("text",))
    with satchel.workplace.engine.write() as transaction:
        transaction.run("UPDATE blobs SET bytes = :bytes", {"bytes": damage})
    assert kept(satchel, "text") == [False]


def test_nothing_is_searched_in_contents(conversations: Conversations, satchel: Satchel) -> None:
    take_turn(conversations, file("a.py", "findable"), contents=("findable",), prompt="findable", answer="findable")
    assert satchel.finding.search("findable").total == 0


class TestLimit:
    @pytest.fixture
    def conversations(self, satchel: Satchel) -> Conversations:
        """Conversations of a store that has room for about four contents of noise."""
        return Conversations(satchel.workplace, max_blob_bytes=ROOM)

    def test_it_is_never_exceeded(self, conversations: Conversations, satchel: Satchel) -> None:
        for number in range(12):
            take_turn(conversations, file(f"{number}.py", noise(number)), contents=(noise(number),))
            with satchel.workplace.engine.read() as transaction:
                row = transaction.one("SELECT sum(size) FROM blobs")
            assert row is not None
            assert row[0] <= ROOM

    def test_what_no_file_refers_to_goes_before_anything_else(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        take_turn(conversations, file("a.py", noise(1)), contents=(noise(1),))
        for number in (2, 3, 4, 5):
            clock.advance(1)
            take_turn(conversations, file("b.py", noise(number)), contents=(noise(number),))
        assert kept(satchel, *map(noise, range(1, 6))) == [True, False, False, False, True]

    def test_then_the_least_recently_used_go(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        for number in range(6):
            clock.advance(1)
            key = ConversationKey("gpt", str(number))
            take_turn(conversations, file("a.py", noise(number)), contents=(noise(number),), key=key)
        assert kept(satchel, *map(noise, range(6))) == [False, False, True, True, True, True]

    def test_every_content_that_a_turn_may_need_counts_as_used(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        take_turn(conversations, file("old.py", noise(0)), contents=(noise(0),))
        for number in (1, 2, 3):
            clock.advance(1)
            key = ConversationKey("gpt", str(number))
            take_turn(conversations, file("a.py", noise(number)), contents=(noise(number),), key=key)
        clock.advance(2 * HOUR)
        take_turn(conversations, file("old.py", noise(0)))
        take_turn(conversations, file("a.py", noise(4)), contents=(noise(4),), key=OTHER)
        assert kept(satchel, noise(0), noise(1), noise(4)) == [True, False, True]

    def test_within_the_hour_a_turn_that_changed_nothing_writes_no_content(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock
    ) -> None:
        take_turn(conversations, file("a.py", "text"), contents=("text",))
        before = stored(satchel)["blobs"]
        clock.advance(HOUR)
        take_turn(conversations, file("a.py", "text"))
        assert stored(satchel)["blobs"] == before
        clock.advance(1)
        take_turn(conversations, file("a.py", "text"))
        assert stored(satchel)["blobs"] != before

    @pytest.mark.parametrize("ref", ["thread-1", None])
    def test_one_question_leaves_the_contents_of_other_conversations(
        self, conversations: Conversations, satchel: Satchel, clock: ManualClock, ref: str | None
    ) -> None:
        take_turn(conversations, file("a.py", noise(0)), contents=(noise(0),), key=OTHER)
        clock.advance(1)
        texts = [noise(number) for number in range(1, 9)]
        plan = result(
            *(file(f"{number}.py", text) for number, text in enumerate(texts)),
            contents=(*texts,),
            prompt="".join(texts),
            parts=(*texts,),
            ref=ref,
        )
        _, notes = conversations.commit(conversations.acquire(KEY), plan)
        assert kept(satchel, noise(0)) == [True]
        assert sum(kept(satchel, *texts)) == 2
        assert notes == (
            "contents of this turn that are not stored: 6, since one conversation keeps at most half of "
            f"consult.blob_mib ({ROOM / 2**20:g} MiB): such a file goes whole once it changes",
        )
        assert [one.prompt for one in conversations.thread(KEY)] == (["".join(texts)] if ref is None else [""])

    def test_a_conversation_keeps_its_half_however_often_its_files_change(
        self, conversations: Conversations, satchel: Satchel
    ) -> None:
        for number in range(0, 8, 2):
            texts = noise(number), noise(number + 1)
            take_turn(conversations, *map(file, "ab", texts), contents=texts)
            assert kept(satchel, *texts) == [True, True]
        one = result(file("c", noise(9)), contents=(noise(9),))
        assert conversations.commit(conversations.acquire(KEY), one)[1][0].startswith("contents of this turn that are")

    def test_a_content_that_is_larger_than_the_whole_is_not_kept(
        self, conversations: Conversations, satchel: Satchel
    ) -> None:
        huge = noise(9, 20_000)
        state = take_turn(conversations, file("huge.py", huge), contents=(huge,))
        assert kept(satchel, huge) == [False]
        assert state.files == {"huge.py": file("huge.py", huge)}


def test_the_limit_is_each_projects(satchel: Satchel, open_in: Callable[..., Satchel], project: Path) -> None:
    most = 4 * len(conversation_tables.compress(noise(0))) + 200
    one, other = (
        Conversations(open_in(project, project=name).workplace, max_blob_bytes=most) for name in ("one", "other")
    )
    for number, each in enumerate((one, one, other, other)):
        text = noise(number)
        take_turn(each, file(f"{number}.py", text), contents=(text,))
    assert len(stored(satchel)["blobs"]) == 4
