"""The migration that keeps what persons have seen."""

from __future__ import annotations

from contextlib import closing

import pytest

from satchel.store import contents, migrations
from satchel.store.schema import MIGRATIONS
from satchel.store.schema_seen import SEEN

BEFORE = next(place for place, one in enumerate(MIGRATIONS) if one.statements is SEEN)


def test_corrections_of_the_version_before_are_no_news(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr(migrations, "SCHEMA_VERSION", BEFORE)
        connection = migrations.empty_store()
    with closing(connection):
        connection.execute(
            """
            INSERT INTO projects (uid, name, seq, created_at) VALUES (x'00', 'one', 10, 0);
            INSERT INTO corrections (uid, project_id, action, item_kind, item_id, created_at)
            VALUES (x'01', 1, 2, 1, 1, 5);
            """
        )
        for migration in MIGRATIONS[BEFORE:]:
            for statement in migration.statements:
                connection.execute(statement)
        assert list(connection.execute("SELECT seq FROM corrections")) == [(0,)]
        assert contents.unknown_objects(connection) == []


def test_what_a_person_has_seen_goes_with_the_person_and_the_project() -> None:
    with closing(migrations.empty_store()) as connection:
        connection.pragma("foreign_keys", True)
        for number, gone in enumerate(("DELETE FROM agents WHERE id = 1", "DELETE FROM projects WHERE id = 2"), 1):
            connection.execute(
                f"""
                INSERT INTO projects (uid, name, created_at) VALUES (x'00', 'p{number}', 0);
                INSERT INTO agents (uid, seq, project_id, name, folded, created_at)
                VALUES (x'01', 1, {number}, 'human', 'human', 0);
                INSERT INTO seen (project_id, person_id, kind, item_id, seq, created_at)
                VALUES ({number}, {number}, 0, 0, 1, 0);
                {gone};
                """
            )
            assert list(connection.execute("SELECT * FROM seen")) == []
