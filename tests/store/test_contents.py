"""What the schema of a store may contain."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from satchel.store import contents, migrations
from satchel.store.schema import BASE_VERSION, SCHEMA_VERSION


@pytest.fixture
def store() -> Iterator[apsw.Connection]:
    with closing(migrations.empty_store()) as connection:
        yield connection


@pytest.mark.parametrize("version", range(BASE_VERSION, SCHEMA_VERSION + 1))
def test_every_version_of_the_schema_is_known(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "SCHEMA_VERSION", version)
    with closing(migrations.empty_store()) as connection:
        assert contents.unknown_objects(connection) == []


def test_the_upkeep_of_sqlite_adds_nothing_unknown(store: apsw.Connection) -> None:
    store.execute("INSERT INTO projects (uid, name, created_at) VALUES (x'00', 'p', 0)")
    store.execute("ANALYZE")
    store.execute("VACUUM")
    assert store.execute("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'sqlite_stat%'").get
    assert contents.unknown_objects(store) == []


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("CREATE TRIGGER t AFTER INSERT ON context BEGIN SELECT 1; END", "trigger t on context"),
        ("CREATE VIEW v AS SELECT 1", "view v"),
        ("CREATE TABLE attic (a)", "table attic"),
        ("CREATE INDEX i ON context (length(content))", "index i on context"),
        ("CREATE VIRTUAL TABLE f USING fts5 (text)", "table f"),
        ("ALTER TABLE context ADD COLUMN more TEXT", "table context"),
        ("DROP VIEW active_context; CREATE VIEW active_context AS SELECT 1", "view active_context"),
    ],
)
def test_what_no_migration_made_is_named(store: apsw.Connection, statement: str, named: str) -> None:
    store.execute(statement)
    assert contents.unknown_objects(store)[0] == named


def test_of_a_newer_schema_only_what_can_run_or_stands_for_a_table_of_ours_is_named(store: apsw.Connection) -> None:
    store.execute("INSERT INTO migrations VALUES (?, 'more room', '9', 0)", (SCHEMA_VERSION + 1,))
    store.execute("CREATE TABLE attic (a); CREATE VIEW v AS SELECT 1; ALTER TABLE tags ADD COLUMN more")
    assert contents.unknown_objects(store) == []
    store.execute("CREATE TRIGGER t AFTER INSERT ON attic BEGIN SELECT 1; END")
    store.execute("DROP TABLE likenesses; CREATE VIEW likenesses AS SELECT 1 AS mark")
    assert contents.unknown_objects(store) == ["trigger t on attic", "view likenesses"]


@pytest.mark.parametrize(
    ("magic", "page_size", "lost"),
    [(0x377F0682, 512, 1), (0x377F0683, 512, 1), (0x377F0680, 512, 0), (0x377F0682, 100, 0)],
)
def test_commits_behind_damage_are_counted_where_the_wal_has_a_header(
    tmp_path: Path, magic: int, page_size: int, lost: int
) -> None:
    header = struct.pack(">8I", magic, 3_007_000, page_size, 0, 1, 2, 0, 0)
    frame = struct.pack(">6I", 1, 1, 1, 2, 0, 0) + bytes(512)
    (tmp_path / "s.db-wal").write_bytes(header + frame)
    assert contents.lost_commits(tmp_path / "s.db") == lost
