"""What is opened as a store, and what is refused untouched."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from faults.damage import overwrite_leaves
from faults.rows import add, names
from satchel.base.errors import StoreDamaged, StoreForeign, StoreNewer
from satchel.keep.entries.records import NewEntry
from satchel.store.opening import check_header
from satchel.store.sqlite import SqliteEngine
from store.opened import OpenEngine, OpenStore, make_foreign, use


def _untouched(folder: Path, before: dict[str, bytes]) -> bool:
    return _contents(folder) == before


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and not path.name.endswith(("-turn", "-lock"))
    }


def _text(file: Path) -> None:
    file.write_text("Dear diary, this is no database.\n" * 100)


def _short_text(file: Path) -> None:
    file.write_bytes(b"x")


def _with_id(file: Path) -> None:
    make_foreign(file, application_id=0x1234)


def _without_id(file: Path) -> None:
    make_foreign(file, application_id=0)


@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize("make", [_with_id, _without_id, _text, _short_text])
def test_what_belongs_to_others_is_refused_and_left_untouched(
    open_engine: OpenEngine, store_file: Path, make: Callable[[Path], None], kind: str
) -> None:
    make(store_file)
    before = _contents(store_file.parent)
    with pytest.raises(StoreForeign):
        use(open_engine(), kind)
    assert _untouched(store_file.parent, before)


@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize("kept", [16, 99, 100, 4_096, 20_000])
def test_a_truncated_store_is_said_to_be_damaged_and_left_untouched(
    open_engine: OpenEngine, store_file: Path, from_template: None, kept: int, kind: str
) -> None:
    engine = open_engine()
    add(engine, "a")
    engine.close()
    with closing(apsw.Connection(str(store_file))) as connection:
        connection.pragma("journal_mode", "delete")
    store_file.write_bytes(store_file.read_bytes()[:kept])
    before = _contents(store_file.parent)
    with pytest.raises(StoreDamaged, match="shorter than its header says"):
        use(open_engine(), kind)
    assert _untouched(store_file.parent, before)


def test_an_empty_file_becomes_a_store(open_engine: OpenEngine, store_file: Path) -> None:
    store_file.touch()
    engine = open_engine()
    assert names(engine) == []
    assert store_file.stat().st_size == 0, "reading wrote"
    add(engine, "first")
    assert names(engine) == ["first"]


def test_an_empty_file_is_read_as_an_empty_store_where_it_may_not_be_written(
    open_engine: OpenEngine, store_file: Path
) -> None:
    store_file.touch()
    assert names(open_engine(read_only=True)) == []
    assert store_file.stat().st_size == 0


def test_a_corrupt_page_is_said_to_be_damage_when_it_is_read(
    open_store: OpenStore, store_file: Path, tmp_path: Path
) -> None:
    _corrupt(open_store, store_file)
    with pytest.raises(StoreDamaged, match="satchel restore"):
        open_store().entries.read(limit=500)


def test_doctor_finds_a_corrupt_page(open_store: OpenStore, store_file: Path) -> None:
    _corrupt(open_store, store_file)
    failed = [check.name for check in open_store().housekeeping.doctor() if check.status == "failed"]
    assert failed == ["file"]


def _corrupt(open_store: OpenStore, store_file: Path) -> None:
    satchel = open_store()
    for number in range(40):
        satchel.entries.write("discovery", f"{number} " + "x" * 2_000)
    satchel.close()
    overwrite_leaves(store_file, "context")


def test_a_store_that_another_process_compacts_while_it_is_looked_at_is_not_taken_for_damaged(
    open_store: OpenStore, store_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    satchel = open_store()
    for number in range(40):
        satchel.entries.write("scratchpad", {"iteration": number, "summary": "x" * 3_000})
    satchel.entries.prune(keep=1)
    satchel.housekeeping.compact()
    satchel.entries.write_many([NewEntry("discovery", "y" * 9_000) for _ in range(40)])
    assert isinstance(satchel.workplace.engine, SqliteEngine)
    with satchel.workplace.engine.exclusive() as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    larger = store_file.stat().st_size
    looked: list[int] = []
    really_stat = Path.stat

    def stat(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if path.name == "s.db-wal" and not looked:
            looked.append(larger)
            satchel.entries.prune(keep=1)
            satchel.housekeeping.compact()
        return really_stat(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", stat)
    check_header(store_file)
    assert looked
    assert store_file.stat().st_size < larger


@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_store_that_needs_a_newer_reader_is_refused_untouched(
    open_engine: OpenEngine, store_file: Path, kind: str
) -> None:
    engine = open_engine()
    add(engine, "kept")
    engine.close()
    _set_needed(store_file, "min_reader")
    before = _contents(store_file.parent)
    with pytest.raises(StoreNewer, match="knows schema version 99"):
        use(open_engine(), kind)
    assert _untouched(store_file.parent, before)


def test_a_store_that_needs_a_newer_writer_is_read_but_not_written(open_engine: OpenEngine, store_file: Path) -> None:
    engine = open_engine()
    add(engine, "kept")
    engine.close()
    _set_needed(store_file, "min_writer")
    before = store_file.read_bytes()
    engine = open_engine()
    with pytest.raises(StoreNewer, match="written by a Satchel that knows schema version 99"):
        use(engine, "write")
    assert names(engine) == ["kept"]
    engine.close()
    assert store_file.read_bytes() == before


def _set_needed(file: Path, column: str) -> None:
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute(f"UPDATE store SET {column} = 99")
