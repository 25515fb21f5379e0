"""Which database is taken for one of bazinga, and which of its projects and tables are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from bazinga_databases import BazingaDatabase, sample
from keep.importing.read import NOW, read_bazinga, said
from satchel import Satchel
from satchel.base.errors import Conflict, InvalidInput, NotFound, StoreDamaged, StoreForeign
from satchel.keep.importing.bazinga import find_database
from sqlew_databases import SqlewDatabase


def two_projects(newest: BazingaDatabase) -> Path:
    newest.pattern("h1", project_id="shop")
    newest.pattern("h2", project_id="blog")
    newest.strategy("t1", project_id="blog")
    newest.session()
    return newest.close()


def test_of_several_projects_one_must_be_named(newest: BazingaDatabase) -> None:
    with pytest.raises(Conflict, match="this database holds 2 projects: blog, shop") as caught:
        read_bazinga(two_projects(newest))
    assert "--source-project" in str(caught.value.remedy)


def test_the_project_that_was_named_is_read_alone(newest: BazingaDatabase) -> None:
    store = read_bazinga(two_projects(newest), "blog")
    assert (store.project, store.counts["error_pattern"], store.counts["strategy"]) == ("blog", 1, 1)
    assert store.notes[:1] == (
        "bazinga's sessions and packages name no project, so those of all projects were imported",
    )


def test_an_unknown_project_is_refused_with_those_there_are(newest: BazingaDatabase) -> None:
    with pytest.raises(InvalidInput, match="unknown source project 'blogg'"):
        read_bazinga(two_projects(newest), "blogg")


def test_a_database_that_names_no_project_has_none_of_any_name(newest: BazingaDatabase) -> None:
    newest.session()
    with pytest.raises(InvalidInput, match="has no projects"):
        read_bazinga(newest.close(), "shop")


def test_the_only_project_need_not_be_named(tmp_path: Path) -> None:
    assert read_bazinga(sample(tmp_path / "b.db", "19", NOW)).project == "shop"


def test_rows_of_no_project_belong_to_nobody_beside_one(newest: BazingaDatabase) -> None:
    newest.pattern("h1")
    newest.pattern("h2", project_id=" ")
    newest.strategy(project_id=None)
    store = read_bazinga(newest.close())
    assert store.counts["error_pattern"] == 1
    assert [(table, row, reason) for table, row, reason, _ in said(store)] == [
        ("error_patterns", "pattern_hash h2", "it belongs to no project"),
        ("strategies", "strategy_id t1", "it belongs to no project"),
    ]


def test_where_no_row_names_a_project_all_are_taken(newest: BazingaDatabase) -> None:
    newest.pattern(project_id="")
    newest.strategy(project_id=None)
    store = read_bazinga(newest.close())
    assert (store.project, len(store.of("error_pattern")), len(store.of("strategy"))) == (None, 1, 1)


def test_tables_that_nothing_here_corresponds_to_are_counted(tmp_path: Path) -> None:
    assert read_bazinga(sample(tmp_path / "b.db", "19", NOW)).not_taken == (
        ("orchestration_logs of interactions and events", 1),
    )


@pytest.mark.parametrize("inside", ["bazinga/bazinga.db", "bazinga.db"])
def test_a_folder_stands_for_the_database_in_it(tmp_path: Path, inside: str) -> None:
    file = sample(tmp_path / inside, "19", NOW)
    assert find_database(tmp_path) == file


def test_a_folder_without_a_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"there is no bazinga/bazinga\.db and no bazinga\.db in"):
        find_database(tmp_path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no file"):
        read_bazinga(tmp_path / "nowhere.db")


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "b.db"
    file.write_text("not a database, but a text of some length")
    with pytest.raises(StoreForeign, match="is not a SQLite database"):
        read_bazinga(file)


def test_a_database_of_another_tool_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreForeign, match="is no bazinga database: it has the tables"):
        read_bazinga(SqlewDatabase(tmp_path / "s.db", "3.6").close())


def test_a_store_of_our_own_is_refused(satchel: Satchel) -> None:
    satchel.strategies.save("topic", "insight")
    with pytest.raises(StoreForeign, match="is no bazinga database"):
        read_bazinga(satchel.place.file)


def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    file = sample(tmp_path / "b.db", "19", NOW)
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))
    with pytest.raises((StoreDamaged, StoreForeign)):
        read_bazinga(file)
