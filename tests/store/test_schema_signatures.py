"""The migration that gives signatures of errors a version."""

from __future__ import annotations

from contextlib import closing

import pytest

from satchel.store import contents, migrations
from satchel.store.schema import MIGRATIONS
from satchel.store.schema_signatures import SIGNATURES

BEFORE = next(place for place, one in enumerate(MIGRATIONS) if one.statements is SIGNATURES)


def test_patterns_of_the_version_before_are_of_the_first_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr(migrations, "SCHEMA_VERSION", BEFORE)
        connection = migrations.empty_store()
    with closing(connection):
        connection.execute(
            """
            INSERT INTO projects (uid, name, seq, created_at) VALUES (x'00', 'one', 10, 0);
            INSERT INTO error_patterns (uid, seq, project_id, pattern_hash, error_type, message, example, occurrences,
                ttl_days, last_seen, expires_at, created_at)
            VALUES (x'01', 1, 1, 'h', 'E', 'm', 'm', 1, 90, 5, 9, 5);
            """
        )
        for migration in MIGRATIONS[BEFORE:]:
            for statement in migration.statements:
                connection.execute(statement)
        assert list(connection.execute("SELECT pattern_hash, signed_by FROM error_patterns")) == [("h", 1)]
        assert contents.unknown_objects(connection) == []
