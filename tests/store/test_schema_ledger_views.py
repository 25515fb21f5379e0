"""The ledger's views, which any SQLite tool may read."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from satchel.store.sqlite import SqliteEngine
from store.ledger_rows import add, change, constraint, decision, insert, mark_read, message, named
from store.opened import OpenEngine

Rows = list[tuple[Any, ...]]

VIEWS = (
    "tagged_decisions",
    "active_context",
    "layer_summary",
    "unread_messages_by_priority",
    "recent_file_changes",
    "tagged_constraints",
)
MINUTE = 60_000


@pytest.fixture
def now() -> int:
    """The time of the machine, which is what the views compare with."""
    return time.time_ns() // 1_000_000


@pytest.fixture(params=["apsw", "sqlite3"])
def view(request: pytest.FixtureRequest, store_file: Path) -> Iterator[Callable[[str], Rows]]:
    """Read from a view, with the library that Satchel uses and with Python's own module."""
    if request.param == "apsw":
        with closing(apsw.Connection(str(store_file))) as connection:
            yield lambda sql: list(connection.execute(sql))
    else:
        with closing(sqlite3.connect(store_file)) as plain:
            yield lambda sql: plain.execute(sql).fetchall()


def test_a_store_without_projects_shows_nothing_in_any_view(open_engine: OpenEngine) -> None:
    with open_engine().read() as transaction:
        assert [transaction.all(f"SELECT * FROM {name}") for name in VIEWS] == [[]] * 6


def test_decisions_are_shown_with_all_their_names(ledger: SqliteEngine, view: Callable[[str], Rows]) -> None:
    with ledger.write() as transaction:
        layer, agent = named(transaction, "layers", 1, "Data"), named(transaction, "agents", 1, "Dev")
        full = decision(
            transaction, "ttl", value_number=300.5, layer_id=layer, agent_id=agent, rationale="why", version="2.1",
            revision=4, status=2, created_at=5, updated_at=6,
        )  # fmt: skip
        decision(transaction, "bare", status=3)
        decision(transaction, "ttl", project_id=2, value_text="theirs")
        for name in ("Zeta", "api", "beta"):
            insert(
                transaction, "decision_tags", tag_id=named(transaction, "tags", 1, name), status=2, created_at=5,
                decision_id=full,
            )  # fmt: skip
        for name in ("Web", "cli"):
            insert(
                transaction, "decision_scopes", scope_id=named(transaction, "scopes", 1, name), status=2, created_at=5,
                decision_id=full,
            )  # fmt: skip
    assert view("SELECT * FROM tagged_decisions ORDER BY id") == [
        ("one", 1, "ttl", 300.5, "deprecated", "2.1", 4, "Data", "Dev", "api, beta, Zeta", "cli, Web", "why", 5, 6),
        ("one", 2, "bare", "v", "draft", "1.0.0", 1, None, None, None, None, None, 0, 0),
        ("two", 3, "ttl", "theirs", "active", "1.0.0", 1, None, None, None, None, None, 0, 0),
    ]


def test_the_active_context_is_what_is_active_and_was_set_within_the_hour(
    ledger: SqliteEngine, view: Callable[[str], Rows], now: int
) -> None:
    with ledger.write() as transaction:
        decision(transaction, "fresh", updated_at=now - 30 * MINUTE)
        decision(transaction, "stale", updated_at=now - 61 * MINUTE)
        decision(transaction, "set long ago, changed now", created_at=0, updated_at=now)
        decision(transaction, "deprecated", status=2, updated_at=now)
        decision(transaction, "draft", status=3, updated_at=now)
        decision(transaction, "fresh", project_id=2, value_number=7, updated_at=now)
    assert view("SELECT project, key, value, status FROM active_context ORDER BY id") == [
        ("one", "fresh", "v", "active"),
        ("one", "set long ago, changed now", "v", "active"),
        ("two", "fresh", 7, "active"),
    ]


def test_a_layer_is_summed_up_without_multiplying_and_so_is_what_has_no_layer(
    ledger: SqliteEngine, view: Callable[[str], Rows], now: int
) -> None:
    with ledger.write() as transaction:
        data, web = named(transaction, "layers", 1, "data"), named(transaction, "layers", 1, "web")
        theirs = named(transaction, "layers", 2, "data")
        category = named(transaction, "categories", 1, "security")
        file = add(transaction, "files", project_id=1, path="a.py")
        for number in range(3):
            decision(transaction, f"d{number}", layer_id=data)
        decision(transaction, "old", layer_id=data, status=2)
        decision(transaction, "draft", layer_id=data, status=3)
        decision(transaction, "nowhere")
        decision(transaction, "theirs", project_id=2, layer_id=theirs)
        for layer in (data, data, None):
            constraint(transaction, "c", category, layer_id=layer)
        constraint(transaction, "gone", category, layer_id=data, active=0)
        for _ in range(4):
            change(transaction, file, layer_id=data, created_at=now)
        change(transaction, file, layer_id=data, created_at=now - 61 * MINUTE)
        change(transaction, file, layer_id=data, created_at=now, expires_at=now)
        change(transaction, file, layer_id=web, created_at=now - 30 * MINUTE)
        change(transaction, file, created_at=now)
    assert view("SELECT * FROM layer_summary ORDER BY project, layer IS NULL, layer") == [
        ("one", "data", 3, 4, 2),
        ("one", "web", 0, 1, 0),
        ("one", None, 1, 1, 1),
        ("two", "data", 1, 0, 0),
        ("two", None, 0, 0, 0),
    ]


def test_unread_messages_are_counted_for_each_recipient(
    ledger: SqliteEngine, view: Callable[[str], Rows], now: int
) -> None:
    with ledger.write() as transaction:
        ann, ben = (named(transaction, "agents", 1, name) for name in ("ann", "ben"))
        eve, zoe = (named(transaction, "agents", 2, name) for name in ("eve", "zoe"))
        read = message(transaction, from_agent_id=ann, to_agent_id=ben)
        mark_read(transaction, ben, read)
        for priority in (1, 3, 3, 4):
            message(transaction, from_agent_id=ann, to_agent_id=ben, priority=priority)
        message(transaction, from_agent_id=ann, to_agent_id=ben, expires_at=now)
        message(transaction, from_agent_id=ben, to_agent_id=ben, priority=1)
        message(transaction, project_id=2, from_agent_id=eve, to_agent_id=zoe)
    assert view("SELECT * FROM unread_messages_by_priority ORDER BY project, recipient, priority") == [
        ("one", "ben", "critical", 1),
        ("one", "ben", "high", 2),
        ("one", "ben", "low", 2),
        ("two", "zoe", "medium", 1),
    ]


def test_a_broadcast_is_unread_for_all_but_its_sender_until_each_has_read_it(
    ledger: SqliteEngine, view: Callable[[str], Rows]
) -> None:
    with ledger.write() as transaction:
        ann, ben, _ = (named(transaction, "agents", 1, name) for name in ("ann", "ben", "cay"))
        named(transaction, "agents", 2, "eve")
        first = message(transaction, from_agent_id=ann)
        mark_read(transaction, ben, first)
        message(transaction, from_agent_id=None)
    assert view("SELECT * FROM unread_messages_by_priority ORDER BY recipient") == [
        ("one", "ann", "medium", 1),
        ("one", "ben", "medium", 1),
        ("one", "cay", "medium", 2),
    ]


def test_recent_file_changes_are_those_of_the_last_hour_that_have_not_expired(
    ledger: SqliteEngine, view: Callable[[str], Rows], now: int
) -> None:
    with ledger.write() as transaction:
        file = add(transaction, "files", project_id=1, path="src/a.py")
        theirs = add(transaction, "files", project_id=2, path="src/a.py")
        layer, agent = named(transaction, "layers", 1, "data"), named(transaction, "agents", 1, "dev")
        change(
            transaction, file, change=1, layer_id=layer, agent_id=agent, worktree="side", description="why",
            created_at=now - 30 * MINUTE,
        )  # fmt: skip
        change(transaction, file, created_at=now - 20 * MINUTE)
        change(transaction, file, change=3, created_at=now - 61 * MINUTE)
        change(transaction, file, change=3, created_at=now, expires_at=now)
        change(transaction, theirs, project_id=2, change=3, created_at=now - 10 * MINUTE)
    assert view("SELECT * FROM recent_file_changes ORDER BY id") == [
        ("one", 1, "src/a.py", "created", "dev", "side", "data", "why", now - 30 * MINUTE),
        ("one", 2, "src/a.py", "modified", None, None, None, None, now - 20 * MINUTE),
        ("two", 5, "src/a.py", "deleted", None, None, None, None, now - 10 * MINUTE),
    ]


def test_constraints_that_hold_are_shown_with_all_their_names(
    ledger: SqliteEngine, view: Callable[[str], Rows]
) -> None:
    with ledger.write() as transaction:
        layer, agent = named(transaction, "layers", 1, "data"), named(transaction, "agents", 1, "dev")
        mine, theirs = (named(transaction, "categories", project, "security") for project in (1, 2))
        full = constraint(transaction, "hash it", mine, priority=4, layer_id=layer, created_by=agent, created_at=7)
        for name in ("Zeta", "api"):
            insert(transaction, "constraint_tags", tag_id=named(transaction, "tags", 1, name), constraint_id=full)
        constraint(transaction, "gone", mine, active=0)
        constraint(transaction, "bare", mine, priority=1)
        constraint(transaction, "theirs", theirs, project_id=2, priority=3)
    assert view("SELECT * FROM tagged_constraints ORDER BY id") == [
        ("one", 1, "security", "hash it", "critical", "data", "dev", "api, Zeta", 7),
        ("one", 3, "security", "bare", "low", None, None, None, 0),
        ("two", 4, "security", "theirs", "high", None, None, None, 0),
    ]
