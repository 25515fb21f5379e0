"""The translated migrations create the same tables on PostgreSQL as on SQLite."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

import postgres_cluster
from satchel.store import migrations
from satchel.store.postgres.schema import translate
from satchel.store.schema import MIGRATIONS

Connection = psycopg.Connection[tuple[object, ...]]

_STATEMENTS = [statement for migration in MIGRATIONS for statement in migration.statements]


@pytest.fixture(scope="module")
def built() -> Iterator[Connection]:
    """A schema after all migrations, seen by this transaction alone."""
    with psycopg.connect(postgres_cluster.url()) as connection:
        connection.execute("CREATE SCHEMA built")
        connection.execute("SET LOCAL search_path = built")
        for statement in _STATEMENTS:
            sql = translate(statement)
            if sql is not None:
                connection.execute(sql)
        yield connection
        connection.rollback()


def test_both_engines_have_the_same_tables_and_views_with_the_same_columns(built: Connection) -> None:
    found = built.execute(
        "SELECT table_name, column_name FROM information_schema.columns "
        "WHERE table_schema = 'built' ORDER BY table_name, ordinal_position"
    ).fetchall()
    with closing(migrations.empty_store()) as sqlite:
        expected = sqlite.execute(
            "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c "
            "WHERE t.name NOT GLOB 'sqlite_*' AND t.name NOT GLOB 'documents_fts*' AND t.type <> 'index' "
            "ORDER BY t.name, c.cid"
        ).fetchall()
    assert found == expected


def test_both_engines_have_the_same_indexes(built: Connection) -> None:
    found = built.execute("SELECT indexname FROM pg_indexes WHERE schemaname = 'built' ORDER BY 1").fetchall()
    with closing(migrations.empty_store()) as sqlite:
        expected = sqlite.execute("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql <> ''").fetchall()
    assert set(expected) <= set(found)


def test_every_text_compares_by_its_bytes(built: Connection) -> None:
    others = built.execute(
        "SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
        "WHERE c.relnamespace = 'built'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 "
        "AND a.attcollation NOT IN (0, 'pg_catalog.\"C\"'::regcollation)"
    ).fetchall()
    assert others == []


def test_the_views_answer(built: Connection) -> None:
    for (view,) in built.execute("SELECT viewname FROM pg_views WHERE schemaname = 'built'").fetchall():
        assert built.execute(f"SELECT * FROM {view}".encode()).fetchall() == []


def test_nothing_but_the_search_index_is_left_out() -> None:
    without = [" ".join(statement.split()[:4]) for statement in _STATEMENTS if translate(statement) is None]
    assert without == [
        "CREATE VIRTUAL TABLE documents_fts",
        "INSERT INTO documents_fts (documents_fts,",
    ]
