"""The ledger's tables: how an older store gets them, what they refuse, and the views for any SQLite tool."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from satchel.base.vocabulary import CATEGORIES, LAYERS, TAGS
from satchel.client import Satchel
from satchel.store import migrations
from satchel.store.schema import MIGRATIONS
from satchel.store.sqlite import SqliteEngine
from satchel.store.transaction import Transaction

OpenEngine = Callable[..., SqliteEngine]
OpenStore = Callable[..., Satchel]
Rows = list[tuple[Any, ...]]

SEEDED = {"layers": LAYERS, "tags": TAGS, "categories": CATEGORIES}
VIEWS = (
    "tagged_decisions",
    "active_context",
    "layer_summary",
    "unread_messages_by_priority",
    "recent_file_changes",
    "tagged_constraints",
)
MINUTE = 60_000


def insert(transaction: Transaction, table: str, **values: object) -> int:
    """Insert a row below all rules, and return its number."""
    columns = ", ".join(values)
    places = ", ".join(f":{name}" for name in values)
    return transaction.insert(f"INSERT INTO {table} ({columns}) VALUES ({places})", values)


def add(transaction: Transaction, table: str, **values: object) -> int:
    """Insert a row of a table of kept things."""
    defaults: dict[str, object] = {"uid": os.urandom(16), "seq": 1, "created_at": 0}
    if table == "projects":
        del defaults["seq"]
    return insert(transaction, table, **{**defaults, **values})


def named(transaction: Transaction, table: str, project: int, name: str) -> int:
    """Insert a tag, scope, category, layer or agent."""
    return add(transaction, table, project_id=project, name=name, folded=name.casefold())


class TestAStoreOfVersion1:
    """What happens to the projects that a store held before it had a ledger."""

    @pytest.fixture
    def version_1(self, open_engine: OpenEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make a store of version 1 with an empty project, and one that an agent wrote two entries in."""
        with monkeypatch.context() as older:
            older.setattr(migrations, "MIGRATIONS", MIGRATIONS[:1])
            older.setattr(migrations, "SCHEMA_VERSION", 1)
            engine = open_engine()
            with engine.write() as transaction:
                add(transaction, "projects", name="empty", created_at=11)
                project = add(transaction, "projects", name="p", created_at=22, seq=4)
                agent = named(transaction, "agents", project, "Dev")
                run = add(transaction, "runs", project_id=project, run_id="r1")
                for seq, content in ((3, "alpha"), (4, "beta")):
                    whose = {"seq": seq, "project_id": project, "run_id": run, "agent_id": agent, "created_at": seq}
                    item = add(transaction, "context", type=1, content=content, **whose)
                    document = insert(transaction, "documents", kind=1, item_id=item, type=1, **whose)
                    insert(
                        transaction,
                        "documents_fts",
                        rowid=document,
                        text=content,
                        parts="",
                        scope=f"p{project} r{run} k1 k1t1",
                    )
            engine.close()

    @pytest.mark.usefixtures("version_1")
    @pytest.mark.parametrize("table", SEEDED)
    def test_every_project_gets_the_names_that_a_new_one_begins_with(self, open_engine: OpenEngine, table: str) -> None:
        with open_engine().read() as transaction:
            rows = transaction.all(f"SELECT project_id, name, folded, seq, created_at FROM {table} ORDER BY id")
            uids = transaction.all(f"SELECT uid FROM {table}")
        assert rows == [
            (project, name, name, 0, created) for project, created in ((1, 11), (2, 22)) for name in SEEDED[table]
        ]
        assert len({uid for (uid,) in uids}) == len(rows)
        assert {len(uid) for (uid,) in uids} == {16}

    @pytest.mark.usefixtures("version_1")
    def test_no_project_gets_a_scope(self, open_engine: OpenEngine) -> None:
        with open_engine().read() as transaction:
            assert transaction.all("SELECT name FROM scopes") == []

    @pytest.mark.usefixtures("version_1")
    def test_what_it_held_is_read_searched_and_gone_on_with(self, open_store: OpenStore) -> None:
        satchel = open_store()
        assert [entry.content for entry in satchel.entries.read(run_id="r1", order="asc")] == ["alpha", "beta"]
        assert [entry.content for entry in satchel.entries.read(run_id="r1", search="beta")] == ["beta"]
        assert [(agent.name, agent.has_acted) for agent in satchel.agents.list()] == [("Dev", True)]
        assert satchel.entries.write("discovery", "gamma", run_id="r1", agent="dev").seq == 5
        assert satchel.finding.search("alpha beta gamma").total == 3

    @pytest.mark.usefixtures("version_1")
    def test_its_names_are_the_same_as_those_of_a_new_project_afterwards(self, open_store: OpenStore) -> None:
        satchel = open_store()
        satchel.housekeeping.initialise()
        with satchel.workplace.engine.write() as transaction:
            add(transaction, "projects", name="raw")
        with satchel.workplace.engine.read() as transaction:
            counts = transaction.all("SELECT project_id, count(*) FROM layers GROUP BY project_id ORDER BY project_id")
        assert counts == [(1, 5), (2, 5)]

    @pytest.mark.usefixtures("version_1")
    def test_it_can_only_be_read_and_written_by_programs_that_know_the_ledger(self, open_engine: OpenEngine) -> None:
        with open_engine().read() as transaction:
            row = transaction.one("SELECT min_reader, min_writer FROM store")
        assert row is not None
        assert min(row) >= 2


@pytest.fixture
def ledger(open_engine: OpenEngine) -> SqliteEngine:
    """A store of two projects, one and two, numbers 1 and 2, without any names."""
    engine = open_engine()
    with engine.write() as transaction:
        for name in ("one", "two"):
            add(transaction, "projects", name=name)
    return engine


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


def decision(transaction: Transaction, key: str, **values: object) -> int:
    defaults: dict[str, object] = {
        "project_id": 1,
        "key": key,
        "value_text": None if "value_number" in values else "v",
        "version": "1.0.0",
        "revision": 1,
        "status": 1,
        "updated_at": 0,
    }
    return add(transaction, "decisions", **{**defaults, **values})


def constraint(transaction: Transaction, text: str, category: int, **values: object) -> int:
    return add(
        transaction, "constraints", **{"project_id": 1, "text": text, "category_id": category, "priority": 2, **values}
    )


def message(transaction: Transaction, **values: object) -> int:
    defaults = {"project_id": 1, "type": 4, "priority": 2, "message": "m", "expires_at": 2**50, "read_expires_at": 0}
    return add(transaction, "agent_messages", **{**defaults, **values})


def mark_read(transaction: Transaction, agent: int, number: int) -> None:
    insert(transaction, "message_reads", agent_id=agent, message_id=number, read_at=1, expires_at=2**50)


def change(transaction: Transaction, file: int, **values: object) -> int:
    return add(
        transaction, "file_changes", **{"project_id": 1, "file_id": file, "change": 2, "expires_at": 2**50, **values}
    )


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


@pytest.mark.parametrize(
    "values",
    [
        {"value_text": None},
        {"value_text": "v", "value_number": 1},
        {"status": 0},
        {"status": 4},
        {"revision": 0},
    ],
    ids=repr,
)
def test_a_decision_that_cannot_be_is_refused(ledger: SqliteEngine, values: dict[str, object]) -> None:
    with pytest.raises(apsw.ConstraintError), ledger.write() as transaction:
        decision(transaction, "key", **values)


def test_a_key_is_one_decision_in_each_project(ledger: SqliteEngine) -> None:
    with ledger.write() as transaction:
        decision(transaction, "key")
        decision(transaction, "key", project_id=2)
    with pytest.raises(apsw.ConstraintError), ledger.write() as transaction:
        decision(transaction, "key", value_number=1)


@pytest.mark.parametrize("table", ["layers", "tags", "scopes", "categories"])
def test_a_name_is_kept_once_in_each_project_whatever_its_case(ledger: SqliteEngine, table: str) -> None:
    with ledger.write() as transaction:
        named(transaction, table, 1, "Own")
        named(transaction, table, 2, "Own")
    with pytest.raises(apsw.ConstraintError), ledger.write() as transaction:
        named(transaction, table, 1, "OWN")


def test_an_agent_claims_a_path_once_in_each_worktree(ledger: SqliteEngine) -> None:
    claim = {"project_id": 1, "path": "src/**", "exclusive": 1, "expires_at": 1}
    with ledger.write() as transaction:
        agent = named(transaction, "agents", 1, "dev")
        add(transaction, "file_claims", agent_id=agent, **claim)
        add(transaction, "file_claims", agent_id=agent, worktree="side", **claim)
    with pytest.raises(apsw.ConstraintError), ledger.write() as transaction:
        add(transaction, "file_claims", agent_id=agent, **claim)


def test_a_project_that_goes_takes_its_ledger_along_and_no_other(ledger: SqliteEngine) -> None:
    tables = (
        "layers tags scopes categories files decisions decision_tags decision_scopes decision_counts decision_history "
        "constraints constraint_tags agent_messages message_reads file_changes file_claims"
    ).split()
    with ledger.write() as transaction:
        for project in (1, 2):
            agent, layer = named(transaction, "agents", project, "dev"), named(transaction, "layers", project, "data")
            tag, scope = named(transaction, "tags", project, "api"), named(transaction, "scopes", project, "web")
            category = named(transaction, "categories", project, "security")
            whose = {"project_id": project}
            file = add(transaction, "files", path="a.py", **whose)
            made = decision(transaction, "key", layer_id=layer, agent_id=agent, **whose)
            insert(transaction, "decision_tags", tag_id=tag, status=1, created_at=0, decision_id=made)
            insert(transaction, "decision_scopes", scope_id=scope, status=1, created_at=0, decision_id=made)
            insert(transaction, "decision_counts", dimension=0, name_id=0, status=1, decisions=1, **whose)
            add(
                transaction, "decision_history", decision_id=made, revision=1, value_text="v", version="1", status=1,
                tags="[]", scopes="[]", set_at=0, **whose,
            )  # fmt: skip
            held = constraint(transaction, "c", category, **whose)
            insert(transaction, "constraint_tags", tag_id=tag, constraint_id=held)
            sent = message(transaction, to_agent_id=agent, **whose)
            mark_read(transaction, agent, sent)
            change(transaction, file, **whose)
            add(transaction, "file_claims", path="a.py", agent_id=agent, exclusive=1, expires_at=1, **whose)
    with ledger.write() as transaction:
        transaction.execute("DELETE FROM projects WHERE id = 1")
    with ledger.read() as transaction:
        left = {table: transaction.all(f"SELECT count(*) FROM {table}") for table in tables}
    assert left == {table: [(1,)] for table in tables}
