"""The migration that brings claims of keys, waiters and refusals."""

from __future__ import annotations

from contextlib import closing

import pytest

from satchel.store import contents, migrations
from satchel.store.schema import MIGRATIONS

BEFORE = 10


def test_claims_of_the_version_before_are_explicit_claims_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr(migrations, "SCHEMA_VERSION", BEFORE)
        connection = migrations.empty_store()
    with closing(connection):
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(
            """
            INSERT INTO projects (uid, name, seq, created_at) VALUES (x'00', 'one', 10, 0);
            INSERT INTO agents (uid, seq, project_id, name, folded, created_at) VALUES (x'02', 1, 1, 'ann', 'ann', 5);
            INSERT INTO file_claims
                (uid, seq, project_id, path, agent_id, session_id, worktree, exclusive, expires_at, created_at)
            VALUES (x'03', 1, 1, 'a', 1, NULL, '', 1, 9, 5), (x'04', 2, 1, 'a', 1, 7, 'side', 0, 9, 5);
            """
        )
        for statement in MIGRATIONS[BEFORE].statements:
            connection.execute(statement)
        kept = connection.execute(
            "SELECT path, session_id, worktree, exclusive, is_key, automatic, existed FROM file_claims ORDER BY id"
        )
        assert list(kept) == [("a", None, "", 1, 0, 0, None), ("a", 7, "side", 0, 0, 0, None)]
        assert contents.unknown_objects(connection) == []


def test_a_project_takes_its_waiters_and_refusals_with_it() -> None:
    with closing(migrations.empty_store()) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(
            """
            INSERT INTO projects (uid, name, seq, created_at) VALUES (x'00', 'one', 10, 0);
            INSERT INTO agents (uid, seq, project_id, name, folded, created_at) VALUES (x'02', 1, 1, 'ann', 'ann', 5);
            INSERT INTO claim_waiters (project_id, agent_id, places, exclusive, expires_at, created_at)
            VALUES (1, 1, '[]', 1, 9, 5);
            INSERT INTO claim_refusals (project_id, agent, folded, path, is_key, exclusive, created_at)
            VALUES (1, 'Ben', 'ben', 'a', 0, 1, 5);
            DELETE FROM projects;
            """
        )
        for table in ("claim_waiters", "claim_refusals"):
            assert list(connection.execute(f"SELECT count(*) FROM {table}")) == [(0,)]
