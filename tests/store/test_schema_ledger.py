"""The ledger's tables: how an older store gets them, and what they refuse."""

from __future__ import annotations

import apsw
import pytest

from satchel.base.vocabulary import CATEGORIES, LAYERS, TAGS
from satchel.store.sqlite import SqliteEngine
from store.ledger_rows import add, change, constraint, decision, insert, mark_read, message, named

SEEDED = {"layers": LAYERS, "tags": TAGS, "categories": CATEGORIES}


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
