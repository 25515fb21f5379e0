"""The tables of consultations: how an older store gets them, and what they refuse."""

from __future__ import annotations

import os
from collections.abc import Callable

import apsw
import pytest

from satchel.client import Satchel
from satchel.store.sqlite import SqliteEngine
from satchel.store.transaction import Transaction
from tables import in_one_test

OpenEngine = Callable[..., SqliteEngine]
OpenStore = Callable[..., Satchel]

TABLES = (
    "blobs",
    "conversation_file_states",
    "conversation_parts",
    "conversation_paths",
    "conversation_turns",
    "conversations",
    "vector_stores",
)


def insert(transaction: Transaction, table: str, **values: object) -> int:
    """Insert a row below all rules, and return its number."""
    return transaction.add(table, values)


@pytest.fixture
def engine(open_engine: OpenEngine, from_template: None) -> SqliteEngine:
    """A store with projects 1 and 2, and in project 1 conversation 1 with a turn, a file, a content and a store."""
    engine = open_engine()
    with engine.write() as transaction:
        for name in ("one", "two"):
            insert(transaction, "projects", uid=os.urandom(16), name=name, created_at=0)
        insert(transaction, "conversations", **CONVERSATION)
        insert(transaction, "conversation_turns", **TURN)
        insert(transaction, "conversation_parts", **PART)
        insert(transaction, "conversation_paths", **PATHS)
        insert(transaction, "conversation_file_states", **FILE)
        insert(transaction, "blobs", **BLOB)
        insert(transaction, "vector_stores", **STORE)
    return engine


CONVERSATION = {
    "uid": b"c", "seq": 1, "project_id": 1, "owner": "local", "assistant": "gpt", "session_id": "s", "created_at": 0,
    "updated_at": 0,
}  # fmt: skip
TURN = {
    "conversation_id": 1, "n": 1, "question": "", "prompt": b"", "answer": "", "sent_tokens": 0,
    "resent_tokens": 0, "answer_tokens": 0, "created_at": 0,
}  # fmt: skip
PART = {"turn_id": 1, "n": 0, "first_blob": 1, "last_blob": 1}
PATHS = {"conversation_id": 1, "first": 0, "paths": b"[]"}
FILE = {"conversation_id": 1, "n": 0, "size": 0, "tokens": 0, "first_turn": 1, "overflow": 1}
BLOB = {"project_id": 1, "digest": b"d", "last_used": 0, "size": 0, "bytes": b""}
STORE = {
    "uid": b"v", "project_id": 1, "conversation_id": 1, "provider": "openai", "state": 1, "expires_at": 0,
    "created_at": 0,
}  # fmt: skip


@in_one_test(
    ("table", "row"),
    [
        ("conversations", CONVERSATION),
        ("conversations", {**CONVERSATION, "session_id": "new", "project_id": 3}),
        ("conversations", {**CONVERSATION, "session_id": "new", "turns": -1}),
        ("conversations", {**CONVERSATION, "session_id": "new", "has_overflowed": 2}),
        ("conversation_turns", TURN),
        ("conversation_turns", {**TURN, "n": 0}),
        ("conversation_turns", {**TURN, "conversation_id": 2}),
        ("conversation_parts", PART),
        ("conversation_parts", {**PART, "turn_id": 2}),
        ("conversation_paths", PATHS),
        ("conversation_paths", {**PATHS, "conversation_id": 2}),
        ("conversation_file_states", FILE),
        ("conversation_file_states", {**FILE, "n": 1, "conversation_id": 2}),
        ("conversation_file_states", {**FILE, "n": 1, "overflow": 4}),
        ("blobs", BLOB),
        ("vector_stores", STORE),
        ("vector_stores", {**STORE, "uid": b"new", "state": 4}),
    ],
)
def test_a_row_that_cannot_be_is_refused(engine: SqliteEngine, table: str, row: dict[str, object]) -> None:
    with pytest.raises(apsw.ConstraintError), engine.write() as transaction:
        insert(transaction, table, **row)


@pytest.mark.parametrize("part", ["project_id", "owner", "assistant", "session_id"])
def test_a_conversation_that_differs_in_one_part_of_its_key_is_another(engine: SqliteEngine, part: str) -> None:
    other = 2 if part == "project_id" else "other"
    with engine.write() as transaction:
        assert insert(transaction, "conversations", **{**CONVERSATION, part: other}) == 2


def _rows(engine: SqliteEngine) -> dict[str, int]:
    with engine.read() as transaction:
        return {table: len(transaction.all(f"SELECT 1 FROM {table}")) for table in TABLES}


def test_with_a_conversation_all_of_it_goes_but_its_vector_stores(engine: SqliteEngine) -> None:
    with engine.write() as transaction:
        transaction.run("DELETE FROM conversations")
    left = {table for table, count in _rows(engine).items() if count}
    assert left == {"blobs", "vector_stores"}
    with engine.read() as transaction:
        assert transaction.all("SELECT conversation_id FROM vector_stores") == [(None,)]


def test_with_a_project_all_of_its_rows_go(engine: SqliteEngine) -> None:
    with engine.write() as transaction:
        transaction.run("DELETE FROM projects WHERE id = 1")
    assert set(_rows(engine).values()) == {0}
