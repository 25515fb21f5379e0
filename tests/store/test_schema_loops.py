"""The migration that brings reports without a loop, and one word of each agent on a solution."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import apsw
import pytest

from satchel.store import contents, migrations
from satchel.store.schema import MIGRATIONS

BEFORE = 7


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch) -> Iterator[apsw.Connection]:
    """A store of the version before: two agents, a run, an error with two solutions, reports and confirmations."""
    with monkeypatch.context() as older:
        older.setattr(migrations, "SCHEMA_VERSION", BEFORE)
        connection = migrations.empty_store()
    with closing(connection):
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("INSERT INTO projects (uid, name, seq, created_at) VALUES (x'00', 'one', 10, 0)")
        connection.execute(
            """
            INSERT INTO runs (uid, seq, project_id, run_id, status, created_at) VALUES (x'01', 1, 1, 'main', 1, 5);
            INSERT INTO agents (uid, seq, project_id, name, folded, created_at)
            VALUES (x'02', 1, 1, 'ann', 'ann', 5), (x'03', 1, 1, 'ben', 'ben', 5);
            INSERT INTO error_patterns
                (uid, seq, project_id, pattern_hash, error_type, message, example, occurrences, ttl_days, last_seen,
                 expires_at, created_at)
            VALUES (x'04', 1, 1, 'hash', 'KeyError', 'm', 'm', 3, 90, 5, 99, 5);
            INSERT INTO error_solutions
                (uid, seq, project_id, pattern_id, solution, confidence, confirmed, created_at, updated_at)
            VALUES (x'05', 1, 1, 1, 'one', 7, 2, 5, 5), (x'06', 1, 1, 1, 'two', 5, 1, 5, 5);
            INSERT INTO error_reports
                (id, project_id, pattern_id, run_id, task_id, loop_id, agent_id, solution_id, created_at)
            VALUES (2, 1, 1, 1, 'T', 'L', 1, 1, 6), (4, 1, 1, 1, NULL, 'M', NULL, NULL, 7);
            INSERT INTO solution_confirmations (solution_id, agent_id) VALUES (1, 1), (1, 2), (2, 1);
            """
        )
        yield connection


def migrate(connection: apsw.Connection) -> None:
    for statement in MIGRATIONS[BEFORE].statements:
        connection.execute(statement)


def rows(connection: apsw.Connection, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in connection.execute(sql)]


def test_reports_and_confirmations_are_kept(old: apsw.Connection) -> None:
    reports = "SELECT * FROM error_reports ORDER BY id"
    before = rows(old, reports)
    migrate(old)
    assert rows(old, reports) == before == [(2, 1, 1, 1, "T", "L", 1, 1, 6), (4, 1, 1, 1, None, "M", None, None, 7)]
    confirmations = "SELECT solution_id, agent_id, helped FROM solution_confirmations ORDER BY id"
    assert rows(old, confirmations) == [(1, 1, 1), (1, 2, 1), (2, 1, 1)]
    assert rows(old, "SELECT id, confidence, confirmed FROM error_solutions ORDER BY id") == [(1, 7, 2), (2, 5, 1)]
    assert rows(old, "PRAGMA foreign_key_check") == []


def test_a_report_needs_no_loop_then(old: apsw.Connection) -> None:
    report = "INSERT INTO error_reports (project_id, pattern_id, run_id, created_at) VALUES (1, 1, 1, 8)"
    with pytest.raises(apsw.ConstraintError, match="loop_id"):
        old.execute(report)
    migrate(old)
    old.execute(report)
    assert rows(old, "SELECT max(id), count(*) FROM error_reports") == [(5, 3)]


def test_each_agent_and_those_without_a_name_judge_a_solution_once_each_way(old: apsw.Connection) -> None:
    migrate(old)
    judge = "INSERT INTO solution_confirmations (solution_id, agent_id, helped) VALUES (1, ?, ?)"
    for news in ((1, 0), (None, 1), (None, 0)):
        old.execute(judge, news)
    for known in ((1, 1), (1, 0), (None, 1), (None, 0)):
        with pytest.raises(apsw.ConstraintError, match="UNIQUE"):
            old.execute(judge, known)


def test_what_is_removed_takes_its_rows_along(old: apsw.Connection) -> None:
    migrate(old)
    old.execute("DELETE FROM error_solutions WHERE id = 1")
    assert rows(old, "SELECT id, solution_id FROM error_reports ORDER BY id") == [(2, None), (4, None)]
    assert rows(old, "SELECT solution_id FROM solution_confirmations") == [(2,)]
    old.execute("DELETE FROM runs")
    assert rows(old, "SELECT id FROM error_reports") == []


def test_a_migrated_store_has_the_tables_and_indexes_of_a_new_one(old: apsw.Connection) -> None:
    for later in MIGRATIONS[BEFORE:]:
        for statement in later.statements:
            old.execute(statement)
    schema = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"
    with closing(migrations.empty_store()) as new:
        assert rows(old, schema) == rows(new, schema)
    assert contents.unknown_objects(old) == []


def test_what_an_earlier_version_can_still_do() -> None:
    assert (MIGRATIONS[BEFORE].min_reader, MIGRATIONS[BEFORE].min_writer) == (3, 8)
