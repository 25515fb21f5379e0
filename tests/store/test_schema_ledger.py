"""The ledger's tables: how an older store gets them, and what they refuse."""

from __future__ import annotations

import apsw
import pytest

from satchel.base.vocabulary import CATEGORIES, LAYERS, TAGS
from satchel.store import migrations
from satchel.store.schema import MIGRATIONS
from satchel.store.sqlite import SqliteEngine
from store.ledger_rows import add, change, constraint, decision, insert, mark_read, message, named
from store.opened import OpenEngine, OpenStore

SEEDED = {"layers": LAYERS, "tags": TAGS, "categories": CATEGORIES}


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
        assert [entry.content for entry in satchel.entries.read(run_id="r1", query="beta")] == ["beta"]
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
        transaction.run("DELETE FROM projects WHERE id = 1")
    with ledger.read() as transaction:
        left = {table: transaction.all(f"SELECT count(*) FROM {table}") for table in tables}
    assert left == {table: [(1,)] for table in tables}
