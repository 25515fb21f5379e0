"""What happens when the file of a store is replaced or removed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from faults.rows import add, names
from satchel.base.errors import StoreForeign, StoreMissing
from store.opened import OpenEngine, make_foreign, use


def test_a_file_that_was_replaced_is_looked_at_anew(open_engine: OpenEngine, tmp_path: Path) -> None:
    other = open_engine(file=tmp_path / "other.db")
    add(other, "the other store")
    other.close()
    engine = open_engine()
    add(engine, "this store")
    assert names(engine) == ["this store"]
    with engine.exclusive() as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    (tmp_path / "other.db").replace(tmp_path / "s.db")
    assert names(engine) == ["the other store"]
    add(engine, "written there")
    assert names(engine) == ["the other store", "written there"]


def test_a_reader_in_use_while_the_file_is_replaced_is_not_used_again(open_engine: OpenEngine, tmp_path: Path) -> None:
    other = open_engine(file=tmp_path / "other.db")
    add(other, "the other store")
    other.close()
    engine = open_engine()
    add(engine, "this store")
    with engine.exclusive() as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    with engine.read() as old:
        (tmp_path / "other.db").replace(tmp_path / "s.db")
        assert names(engine) == ["the other store"]
        assert old.all("SELECT name FROM projects") == [("this store",)]
    assert [names(engine) for _ in range(3)] == [["the other store"]] * 3


def test_after_closing_another_file_under_the_name_is_checked_before_it_is_written(
    open_engine: OpenEngine, store_file: Path
) -> None:
    engine = open_engine()
    add(engine, "a")
    engine.close()
    content = _foreign_bytes(store_file.with_name("theirs.db"))
    store_file.write_bytes(content)  # the same inode, as a file system may also give to a new file
    with pytest.raises(StoreForeign):
        use(engine, "write")
    assert store_file.read_bytes() == content


def _foreign_bytes(file: Path) -> bytes:
    make_foreign(file, application_id=0x1234)
    return file.read_bytes()


def _removed(file: Path) -> None:
    file.unlink()


def _emptied(file: Path) -> None:
    os.truncate(file, 0)


@pytest.mark.parametrize("lose", [_removed, _emptied])
@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_file_that_is_lost_under_a_running_process_is_not_taken_for_a_new_store(
    open_engine: OpenEngine, store_file: Path, lose: Callable[[Path], None], kind: str
) -> None:
    engine = open_engine()
    add(engine, "lost")
    lose(store_file)
    there = sorted(path.name for path in store_file.parent.iterdir())
    with pytest.raises(StoreMissing, match=r"(?s)nothing was written.*satchel restore.*\n.*satchel init --new"):
        use(engine, kind)
    assert sorted(path.name for path in store_file.parent.iterdir()) == there


def test_a_store_that_another_thread_makes_while_it_is_looked_for_is_not_lost(
    open_engine: OpenEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_engine()
    check_files = engine.check_files

    def made_meanwhile() -> None:
        monkeypatch.setattr(engine, "check_files", check_files)
        add(engine, "made")

    monkeypatch.setattr(engine, "check_files", made_meanwhile)
    assert names(engine) == []
    assert names(engine) == ["made"]


@pytest.mark.parametrize("lose", [_removed, _emptied])
def test_a_new_store_is_made_in_the_place_of_a_lost_one_where_that_is_wanted(
    open_engine: OpenEngine, store_file: Path, lose: Callable[[Path], None]
) -> None:
    engine = open_engine()
    add(engine, "lost")
    lose(store_file)
    engine.want_new()
    add(engine, "new")
    assert names(engine) == ["new"]
