"""What a conversation takes in the store, apart from the contents that a project shares."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from consult.answered_turns import KEY, known, take_turn
from consulting import Desk
from satchel import Satchel
from satchel.consult.conversations import Conversations
from satchel.consult.records import ConversationKey, TurnResult, Window


def pages(satchel: Satchel) -> int:
    """Return the bytes of the pages of all tables of conversations."""
    with satchel.workplace.engine.read() as transaction:
        row = transaction.one(
            """
            SELECT sum(pgsize) FROM dbstat
            WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name LIKE 'conversation%')
            """
        )
    assert row is not None
    return int(row[0])


def short(n: int) -> str:
    """A path as CPython's library has them."""
    return f"Lib/area_{n // 20:02}/subject/thing_{n:04}.py"


def deep(n: int) -> str:
    """A path of a monorepository, of 60 characters."""
    return f"packages/area-{n // 50:02}/src/main/part_{n // 10:03}/UserProfileSettings{n:04}.test.tsx"


@pytest.mark.parametrize("layout", [short, deep])
def test_the_state_of_a_thousand_files_takes_60_kb_at_most(satchel: Satchel, layout: Callable[[int], str]) -> None:
    conversations = Conversations(satchel.workplace)
    paths = [layout(number) for number in range(1_000)]

    take_turn(conversations, key=ConversationKey("gpt", "without files"))
    empty = pages(satchel)
    take_turn(
        conversations, *(known(path, path, tokens=3_000) for path in paths), prompt=random.randbytes(99_999).hex()
    )
    for turn in range(10):
        take_turn(conversations, *(known(path, f"{path}{turn}", tokens=3_100 + turn) for path in paths[turn::10]))
    # every file changed once
    assert 40_000 < pages(satchel) - empty < 60_000


@pytest.mark.slow
@pytest.mark.parametrize("layout", [short, deep])
def test_a_session_of_them_takes_less_than_100_kb_where_the_thread_is_ours(
    satchel: Satchel, layout: Callable[[int], str]
) -> None:
    conversations = Conversations(satchel.workplace)
    take_turn(conversations, key=ConversationKey("gpt", "without files"))
    empty = pages(satchel)
    words, desk = random.Random(1), Desk(window=Window(4_000_000, 1_000))
    paths = [layout(n) for n in range(1_000)]
    texts = [[f"    value_{words.randrange(10**9)} = {words.random()}\n" for _ in range(80)] for _ in paths]
    for turn in range(-1, 10):
        for number in range(1_000) if turn < 0 else range(turn, 1_000, 10):
            texts[number][words.randrange(80)] = f"    turn = {turn}\n"
            desk.write(paths[number], "".join(texts[number]))
        result = TurnResult(desk.turn(), "It is so.", 3)
        conversations.commit(conversations.acquire(KEY), result)
    assert pages(satchel) - empty < 100_000
    assert [len(one.prompt) > 20_000 for one in conversations.thread(KEY)] == [True] * 11
