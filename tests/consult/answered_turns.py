"""Turns that were planned and answered, made by hand for tests of what is stored of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Any

from every_table import columns_of
from satchel import Satchel
from satchel.consult import vector_stores
from satchel.consult.conversations import Conversations
from satchel.consult.records import (
    ConversationKey,
    ConversationState,
    FileState,
    Overflow,
    TurnPlan,
    TurnResult,
    digest_of_text,
)
from satchel.consult.vector_stores import VectorStore, VectorStores
from satchel.keep import projects

KEY = ConversationKey("gpt", "review")
digest = digest_of_text
TABLES = (
    "conversations",
    "conversation_turns",
    "conversation_parts",
    "conversation_paths",
    "conversation_file_states",
    "blobs",
    "vector_stores",
)


class Placement(Enum):
    """Place of a file: the prompt, or what is searched."""

    INLINE = 1
    OVERFLOW = 2


def placement_of(known: FileState) -> Placement:
    """Return the place of a file."""
    return Placement.INLINE if known.why is None else Placement.OVERFLOW


def known(path: str, text: str | None = "text", placement: Placement = Placement.INLINE, **changes: Any) -> FileState:
    """A file that was sent with a text in turn 1, or is removed; where more is told of it, that."""
    why = None if placement is Placement.INLINE else Overflow.NO_ROOM
    if text is None:
        one = FileState(path, 0, None, None, 7, 1, why)
    else:
        one = FileState(path, len(text), 1_795_000_000_123_456_789, digest(text), 7, 1, why)
    return one._replace(**changes)


def plan(*files: FileState, contents: tuple[str, ...] = (), **changes: Any) -> TurnPlan:
    """A plan of 100 tokens for these files; where more is told of it, that."""
    whole = TurnPlan(
        question="What of it?",
        prompt="What of it?",
        tokens=100,
        overflow={},
        attachments=(),
        files={one.path: one for one in files},
        new_contents={digest(text): text for text in contents},
        held_back=(),
        resent_tokens=400,
        notes=(),
        has_overflowed=any(placement_of(one) is Placement.OVERFLOW for one in files),
    )
    return replace(whole, **changes)


def result(*files: FileState, contents: tuple[str, ...] = (), starts_over: bool = False, **changes: Any) -> TurnResult:
    """The same, answered in 20 tokens."""
    answer = changes.pop("answer", "Nothing.")
    ref = changes.pop("ref", "thread-1")
    return TurnResult(plan(*files, contents=contents, **changes), answer, 20, ref, starts_over)


def take_turn(
    conversations: Conversations, *files: FileState, key: ConversationKey = KEY, **changes: Any
) -> ConversationState:
    """Acquire a conversation and commit a turn of it."""
    return conversations.commit(conversations.acquire(key), result(*files, **changes))[0]


def stored(satchel: Satchel) -> Mapping[str, list[tuple[Any, ...]]]:
    """Return everything that stands in the tables of consultations, but for leases."""
    leases = {"lease_token", "lease_holder", "lease_since", "lease_until", "lease_process"}
    found = {}
    with satchel.workplace.engine.read() as transaction:
        for table in TABLES:
            columns = ", ".join(name for name in columns_of(transaction, table) if name not in leases)
            found[table] = transaction.all(f"SELECT {columns} FROM {table} ORDER BY 1, 2, 3")
    return found


def stores_left(stores: VectorStores, provider: str | None = None) -> tuple[VectorStore, ...]:
    """Return the vector stores that a project has on record, the oldest first."""
    with stores._workplace.engine.read() as transaction:
        project = projects.find(transaction, stores._workplace)
        rows = transaction.all(
            f"SELECT {vector_stores._COLUMNS} FROM vector_stores WHERE project_id = :id ORDER BY created_at, id",
            {"id": project.id},
        )
    return tuple(one for one in map(vector_stores._store, rows) if provider in {None, one.provider})
