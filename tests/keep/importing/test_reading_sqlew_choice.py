"""Which database is taken for one of sqlew, and which of its projects and tables are read."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from keep.importing.read import NOW, read_sqlew, values
from satchel.base.errors import Conflict, InvalidInput, NotFound, StoreForeign
from sqlew_databases import Made, SqlewDatabase


def two_projects(made: Made) -> SqlewDatabase:
    database = made("3.9")
    database.add("projects", id=2, name="blog")
    for project, value in ((1, "redis"), (2, "files")):
        database.add("decisions", key_id=1, value=value, project_id=project, ts=NOW)
        database.add("constraints", category_id=1, constraint_text=value, project_id=project, ts=NOW)
        database.add("constraint_tags", constraint_id=project, tag_id=1)
    return database


def test_several_projects_and_no_choice_are_refused_with_their_names(made: Made) -> None:
    with pytest.raises(Conflict, match=r"2 projects: shop, blog.*--source-project"):
        read_sqlew(two_projects(made).close())


@pytest.mark.parametrize(("name", "value", "number"), [("shop", "redis", 1), ("blog", "files", 2)])
def test_only_the_project_that_was_named_is_read(made: Made, name: str, value: str, number: int) -> None:
    store = read_sqlew(two_projects(made).close(), name)
    assert (store.project, store.name, dict(store.counts)) == (
        name,
        f"sqlew, project {number}",
        {"decision": 1, "constraint": 1},
    )
    assert values(store.decision) == [value]
    assert [(one.text, one.tags) for one in store.of("constraint")] == [(value, ["security"])]
    assert store.troubles == ()


def test_a_project_without_rows_needs_no_choice(made: Made) -> None:
    database = made("3.9")
    database.add("projects", id=2, name="empty")
    database.add("decisions", key_id=1, value="redis", project_id=1, ts=NOW)
    assert read_sqlew(database.close()).project == "shop"


def test_an_unknown_project_is_refused_with_the_nearest(made: Made) -> None:
    with pytest.raises(InvalidInput, match="Did you mean 'shop'"):
        read_sqlew(two_projects(made).close(), "shopp")


def test_a_project_of_a_format_that_has_none_is_refused(made: Made) -> None:
    with pytest.raises(InvalidInput, match="has no projects"):
        read_sqlew(made("3.5").close(), "shop")


def test_an_older_set_of_tables_beside_is_passed_over_and_said(made: Made) -> None:
    database = made("4")
    database.add("decisions", key_id=1, value="new", ts=NOW)
    database.sql("CREATE TABLE m_context_keys (id INTEGER PRIMARY KEY, key TEXT)")
    database.sql("CREATE TABLE t_decisions (key_id INTEGER PRIMARY KEY, value TEXT, ts INTEGER)")
    database.sql("INSERT INTO t_decisions VALUES (1, 'old', 1)")
    store = read_sqlew(database.close())
    assert values(store.decision) == ["new"]
    assert "the database also has tables of an older sqlew, which were skipped" in store.notes


def test_tables_that_nothing_here_corresponds_to_are_counted(made: Made) -> None:
    database = made("3.5")
    database.sql("CREATE TABLE t_tasks (id INTEGER PRIMARY KEY, title TEXT)")
    database.sql("INSERT INTO t_tasks (title) VALUES ('a'), ('b')")
    database.sql("CREATE TABLE t_task_tags (task_id INTEGER)")
    assert read_sqlew(database.close()).not_taken == (("t_tasks", 2),)


def test_missing_tables_and_columns_are_no_trouble(tmp_path: Path) -> None:
    file = tmp_path / "small.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE context_keys (id INTEGER PRIMARY KEY, key TEXT)")
        connection.execute("CREATE TABLE decisions (key_id INTEGER, value TEXT, ts INTEGER)")
        connection.execute("INSERT INTO context_keys VALUES (1, 'k')")
        connection.execute("INSERT INTO decisions VALUES (1, 'v', ?)", (NOW,))
    connection.close()
    store = read_sqlew(file)
    assert values(store.decision) == ["v"]
    assert (dict(store.counts), store.troubles) == ({"decision": 1}, ())


def test_another_database_is_refused_with_what_it_holds(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE invoices (id INTEGER)")
    connection.close()
    with pytest.raises(StoreForeign, match="is no sqlew database: it has the tables invoices"):
        read_sqlew(file)


def test_a_view_is_no_table_of_sqlew(tmp_path: Path) -> None:
    file = tmp_path / "views.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE context_keys (id INTEGER PRIMARY KEY, key TEXT)")
        connection.execute("CREATE VIEW decisions AS SELECT 1 AS key_id, 'v' AS value, 1 AS ts")
    connection.close()
    with pytest.raises(StoreForeign, match="it has the tables context_keys"):
        read_sqlew(file)


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no file"):
        read_sqlew(tmp_path / "nowhere.db")
