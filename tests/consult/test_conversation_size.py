"""What a conversation takes in the store where the provider keeps the thread, apart from the contents for diffs."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from consult.answered_turns import known, take_turn
from satchel import Satchel
from satchel.consult.conversations import Conversations
from satchel.consult.records import ConversationKey


@pytest.mark.parametrize(
    ("layout", "most"),
    [
        # as CPython's library has them, as long as any usual name, and as deep as a monorepository
        (lambda n: f"Lib/area_{n // 20:02}/subject/thing_{n:04}.py", 65_000),
        (lambda n: f"src/package_{n // 40:02}/some_module_name_{n:04}.py", 80_000),
        (lambda n: f"packages/area-{n // 50:02}/src/main/part_{n // 10:03}/UserProfileSettings{n:04}.test.tsx", 96_000),
    ],
)
def test_a_thousand_files_take_less_than_100_kb(satchel: Satchel, layout: Callable[[int], str], most: int) -> None:
    conversations = Conversations(satchel.workplace)
    paths = [layout(number) for number in range(1_000)]

    def pages() -> int:
        with satchel.workplace.engine.read() as transaction:
            row = transaction.one(
                """
                SELECT sum(pgsize) FROM dbstat WHERE name IN (
                    SELECT name FROM sqlite_schema
                    WHERE tbl_name IN (
                        'conversations', 'conversation_turns', 'conversation_folders', 'conversation_files'
                    )
                )
                """
            )
        assert row is not None
        return int(row[0])

    take_turn(conversations, key=ConversationKey("gpt", "without files"))
    empty = pages()
    take_turn(
        conversations, *(known(path, path, tokens=3_000) for path in paths), prompt=random.randbytes(99_999).hex()
    )
    for turn in range(10):
        take_turn(conversations, *(known(path, f"{path}{turn}", tokens=3_100 + turn) for path in paths[turn::10]))
    # every file changed once
    assert 40_000 < pages() - empty < most
