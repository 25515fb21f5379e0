"""Partial indexes are found by conditions that imply theirs."""

from __future__ import annotations

import pytest

from store.opened import OpenEngine

_BY_LAYER = "project_id = :project AND layer_id = :layer"


@pytest.mark.parametrize(
    ("index", "statement"),
    [
        (
            "decisions_layer",
            f"SELECT created_at, id FROM decisions WHERE {_BY_LAYER} AND status = 1 ORDER BY created_at DESC, id DESC",
        ),
        ("constraints_layer", f"SELECT count(*) FROM constraints WHERE {_BY_LAYER} AND active = 1"),
        (
            "file_changes_layer",
            f"SELECT id FROM file_changes WHERE {_BY_LAYER} ORDER BY created_at DESC, id DESC LIMIT 20",
        ),
        (
            "documents_segment",
            "SELECT id FROM documents WHERE run_id = :run AND segment IS NULL AND id < :id ORDER BY id DESC LIMIT 1",
        ),
        ("documents_segment", "DELETE FROM runs WHERE id = :run"),
    ],
)
def test_a_condition_with_a_value_uses_the_index_and_sorts_nothing(
    open_engine: OpenEngine, index: str, statement: str
) -> None:
    values = {"project": 1, "layer": 1, "run": 1, "id": 9}
    with open_engine().write() as transaction:
        plan = [row[3] for row in transaction.connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    assert any(f"INDEX {index} (" in step for step in plan), plan
    assert not any("B-TREE" in step for step in plan), plan
