"""The migration that brings the run ``main`` and the indexes of lists over a project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import apsw
import pytest

from satchel.store import contents, migrations
from satchel.store.schema import MIGRATIONS

BEFORE = 6


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch) -> Iterator[apsw.Connection]:
    """A store of the version before, with two projects."""
    with monkeypatch.context() as older:
        older.setattr(migrations, "SCHEMA_VERSION", BEFORE)
        connection = migrations.empty_store()
    with closing(connection):
        for name in ("one", "other"):
            connection.execute("INSERT INTO projects (uid, name, seq, created_at) VALUES (x'00', ?, 10, 0)", (name,))
        yield connection


def migrate(connection: apsw.Connection) -> None:
    for statement in MIGRATIONS[BEFORE].statements:
        connection.execute(statement)


def start(connection: apsw.Connection, project: int, name: str, status: int) -> None:
    columns = "uid, seq, project_id, run_id, status, created_at, ended_at"
    values = (project, name, status, None if status == 1 else 6)
    connection.execute(f"INSERT INTO runs ({columns}) VALUES (x'00', 1, ?, ?, ?, 5, ?)", values)


def runs(connection: apsw.Connection) -> list[tuple[object, ...]]:
    sql = "SELECT project_id, run_id, status, created_at, ended_at, seq FROM runs ORDER BY id"
    return [tuple(row) for row in connection.execute(sql)]


@pytest.mark.parametrize("status", [2, 3])
def test_a_run_main_that_had_ended_is_active_again_which_is_a_change(old: apsw.Connection, status: int) -> None:
    start(old, 1, "main", status)
    start(old, 1, "2026-11-18-1", status)
    start(old, 2, "mainly", status)
    migrate(old)
    assert runs(old) == [
        (1, "main", 1, 5, None, 11),
        (1, "2026-11-18-1", status, 5, 6, 1),
        (2, "mainly", status, 5, 6, 1),
    ]
    assert list(old.execute("SELECT seq FROM projects ORDER BY id")) == [(11,), (10,)]


def test_an_active_run_main_stays_as_it_is_and_none_is_made(old: apsw.Connection) -> None:
    start(old, 1, "main", 1)
    before = runs(old)
    migrate(old)
    assert runs(old) == before
    assert list(old.execute("SELECT seq FROM projects ORDER BY id")) == [(10,), (10,)]


def test_a_migrated_store_has_the_indexes_of_a_new_one(old: apsw.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate(old)
    indexes = "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name"
    monkeypatch.setattr(migrations, "SCHEMA_VERSION", BEFORE + 1)
    with closing(migrations.empty_store()) as new:
        assert list(old.execute(indexes)) == list(new.execute(indexes))
    assert contents.unknown_objects(old) == []


def test_what_an_earlier_version_can_still_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "SCHEMA_VERSION", BEFORE + 1)
    with closing(migrations.empty_store()) as store:
        assert store.execute("SELECT min_reader, min_writer FROM store").get == (3, 7)


def test_an_index_that_was_dropped_is_still_known_where_it_was_left(old: apsw.Connection) -> None:
    sql = old.execute("SELECT sql FROM sqlite_schema WHERE name = 'context_packages_run'").get
    migrate(old)
    assert isinstance(sql, str)
    old.execute(sql)
    assert contents.unknown_objects(old) == []
