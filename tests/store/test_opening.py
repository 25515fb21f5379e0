"""What is opened as a store, what is refused untouched, and how a connection is set up."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest

from faults.damage import overwrite_leaves
from faults.processes import Child
from faults.rows import INSERT, add, names, row
from satchel.base import paths
from satchel.base.errors import (
    Busy,
    InvalidInput,
    Refused,
    StoreDamaged,
    StoreForeign,
    StoreNewer,
)
from satchel.client import Satchel
from satchel.keep.entries import NewEntry
from satchel.store.opening import check_header, wal_bytes
from satchel.store.schema import APPLICATION_ID
from satchel.store.sqlite import SqliteEngine

OpenEngine = Callable[..., SqliteEngine]
OpenStore = Callable[..., Satchel]


def _use(engine: SqliteEngine, kind: str) -> None:
    with engine.read() if kind == "read" else engine.write():
        pytest.fail("the block was entered")


def _untouched(folder: Path, before: dict[str, bytes]) -> bool:
    return _contents(folder) == before


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and not path.name.endswith(("-turn", "-lock"))
    }


def _foreign(file: Path, *, application_id: int) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA application_id = {application_id}")
        connection.execute("CREATE TABLE theirs (a)")
        connection.commit()


def _text(file: Path) -> None:
    file.write_text("Dear diary, this is no database.\n" * 100)


def _short_text(file: Path) -> None:
    file.write_bytes(b"x")


def _with_id(file: Path) -> None:
    _foreign(file, application_id=0x1234)


def _without_id(file: Path) -> None:
    _foreign(file, application_id=0)


@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize("make", [_with_id, _without_id, _text, _short_text])
def test_what_belongs_to_others_is_refused_and_left_untouched(
    open_engine: OpenEngine, store_file: Path, make: Callable[[Path], None], kind: str
) -> None:
    make(store_file)
    before = _contents(store_file.parent)
    with pytest.raises(StoreForeign):
        _use(open_engine(), kind)
    assert _untouched(store_file.parent, before)


@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize("kept", [16, 99, 100, 4_096, 20_000])
def test_a_truncated_store_is_said_to_be_damaged_and_left_untouched(
    open_engine: OpenEngine, store_file: Path, kept: int, kind: str
) -> None:
    engine = open_engine()
    add(engine, "a")
    engine.close()
    with closing(apsw.Connection(str(store_file))) as connection:
        connection.pragma("journal_mode", "delete")
    store_file.write_bytes(store_file.read_bytes()[:kept])
    before = _contents(store_file.parent)
    with pytest.raises(StoreDamaged, match="shorter than its header says"):
        _use(open_engine(), kind)
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
        _use(open_engine(), kind)
    assert _untouched(store_file.parent, before)


def test_a_store_that_needs_a_newer_writer_is_read_but_not_written(open_engine: OpenEngine, store_file: Path) -> None:
    engine = open_engine()
    add(engine, "kept")
    engine.close()
    _set_needed(store_file, "min_writer")
    before = store_file.read_bytes()
    engine = open_engine()
    with pytest.raises(StoreNewer, match="written by a Satchel that knows schema version 99"):
        _use(engine, "write")
    assert names(engine) == ["kept"]
    engine.close()
    assert store_file.read_bytes() == before


def _set_needed(file: Path, column: str) -> None:
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute(f"UPDATE store SET {column} = 99")


def test_a_store_locked_for_longer_than_the_wait_is_busy_and_then_works(
    open_engine: OpenEngine, store_file: Path
) -> None:
    engine = open_engine(wait_ms=50)
    add(engine, "before")
    with closing(apsw.Connection(str(store_file))) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Busy, match="Nothing was written"):
            _use(engine, "write")
        assert names(engine) == ["before"]
        other.execute("ROLLBACK")
    add(engine, "after")
    assert names(engine) == ["before", "after"]


def test_a_transaction_may_wait_for_less_than_the_store_does(open_engine: OpenEngine, store_file: Path) -> None:
    engine = open_engine(wait_ms=3_600_000)
    add(engine, "before")
    with closing(apsw.Connection(str(store_file))) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Busy, match="Nothing was written"), engine.write(20) as transaction:
            transaction.execute(INSERT, row("too late"))
        other.execute("ROLLBACK")
    assert names(engine) == ["before"]


def test_a_transaction_may_wait_for_less_than_another_thread_takes(open_engine: OpenEngine) -> None:
    engine = open_engine(wait_ms=3_600_000)
    add(engine, "before")

    def write() -> None:
        with engine.write(20) as transaction:
            transaction.execute(INSERT, row("too late"))

    with ThreadPoolExecutor(1) as pool, engine.write(), pytest.raises(Busy, match="other threads"):
        pool.submit(write).result()
    assert names(engine) == ["before"]


def test_a_thread_that_waits_too_long_for_another_is_busy(open_engine: OpenEngine) -> None:
    engine = open_engine(wait_ms=20)
    add(engine, "before")
    with ThreadPoolExecutor(1) as pool, engine.write(), pytest.raises(Busy, match="other threads"):
        pool.submit(add, engine, "too late").result()
    assert names(engine) == ["before"]


def test_a_wait_longer_than_the_lock_gets_the_store(open_engine: OpenEngine, store_file: Path) -> None:
    engine = open_engine()
    add(engine, "before")
    with Child("lock", store_file) as child:
        assert child.hear() == "locked"
        entered = threading.Event()

        def write() -> None:
            entered.set()
            add(engine, "after the wait")

        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(write)
            entered.wait()
            child.tell()
            waiting.result()
    assert names(engine) == ["before", "after the wait"]


def test_the_folder_of_a_store_is_private_and_ignored_by_git(open_engine: OpenEngine, tmp_path: Path) -> None:
    file = tmp_path / paths.FOLDER_NAME / paths.FILE_NAME
    engine = open_engine(file=file)
    add(engine, "first")
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert (file.parent / ".gitignore").read_text().splitlines()[-1] == "*"
    modes = {path.name: path.stat().st_mode & 0o777 for path in file.parent.iterdir() if path.name != ".gitignore"}
    assert set(modes.values()) == {0o600}, modes


def test_a_store_elsewhere_gets_no_ignore_file(open_engine: OpenEngine, tmp_path: Path) -> None:
    add(open_engine(), "first")
    assert not (tmp_path / ".gitignore").exists()


def test_a_missing_folder_is_not_made_up(open_engine: OpenEngine, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        _use(open_engine(file=tmp_path / "no" / "s.db"), "write")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs"])
def test_a_new_store_on_a_network_file_system_is_refused(
    open_engine: OpenEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(paths, "filesystem_kind", lambda _: kind)
    with pytest.raises(Refused, match=kind):
        _use(open_engine(), "write")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_store_that_was_moved_to_a_network_file_system_is_refused(
    open_engine: OpenEngine, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    engine = open_engine()
    add(engine, "local")
    engine.close()
    monkeypatch.setattr(paths, "filesystem_kind", lambda _: "nfs")
    with pytest.raises(Refused, match="nfs"):
        _use(engine, kind)


def test_the_file_system_of_a_folder_is_that_of_the_nearest_mount() -> None:
    mounts = (
        "22 1 0:21 / / rw - ext4 /dev/root rw\n"
        "23 22 0:22 / /home rw shared:1 - nfs4 server:/home rw\n"
        "24 23 0:23 / /home/me/my\\040disk rw - xfs /dev/sdb rw\n"
    )
    found = [
        paths.filesystem_kind(Path(folder), mounts) for folder in ("/srv", "/homes", "/home/me", "/home/me/my disk/x")
    ]
    assert found == ["ext4", "ext4", "nfs4", "xfs"]


@pytest.mark.parametrize(("durability", "synchronous"), [("full", 2), ("relaxed", 1)])
def test_the_write_connection_is_set_up_as_the_design_says(
    open_engine: OpenEngine, durability: str, synchronous: int
) -> None:
    with open_engine(durability=durability).exclusive() as connection:
        settings = {
            name: connection.pragma(name)
            for name in ("journal_mode", "synchronous", "foreign_keys", "mmap_size", "trusted_schema", "application_id")
        }
    assert settings == {
        "journal_mode": "wal",
        "synchronous": synchronous,
        "foreign_keys": 1,
        "mmap_size": 0,
        "trusted_schema": 0,
        "application_id": APPLICATION_ID,
    }


def test_a_reader_is_set_up_as_the_design_says(open_engine: OpenEngine) -> None:
    engine = open_engine()
    add(engine, "a")
    with engine.read() as transaction:
        settings = {
            name: transaction.connection.pragma(name)
            for name in ("journal_mode", "query_only", "foreign_keys", "mmap_size")
        }
    assert settings == {"journal_mode": "wal", "query_only": 1, "foreign_keys": 1, "mmap_size": 0}


def test_foreign_keys_hold(open_engine: OpenEngine) -> None:
    engine = open_engine()
    insert = (
        "INSERT INTO runs (uid, seq, project_id, run_id, created_at) VALUES (:uid, 1, 12345, 'r', 0)"  # no such project
    )
    with pytest.raises(apsw.ConstraintError), engine.write() as transaction:
        transaction.execute(insert, {"uid": os.urandom(16)})


def test_pythons_own_sqlite_reads_the_store_while_it_is_open(open_store: OpenStore, store_file: Path) -> None:
    satchel = open_store()
    satchel.entries.write("discovery", "anyone may look")
    with closing(sqlite3.connect(store_file)) as connection:
        assert connection.execute("SELECT content FROM context").fetchall() == [("anyone may look",)]
        assert connection.execute("PRAGMA quick_check").fetchall() == [("ok",)]


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
        _use(engine, "write")
    assert store_file.read_bytes() == content


def _foreign_bytes(file: Path) -> bytes:
    _foreign(file, application_id=0x1234)
    return file.read_bytes()


def test_a_file_that_was_removed_is_an_empty_store_until_the_next_write(
    open_engine: OpenEngine, store_file: Path
) -> None:
    engine = open_engine()
    add(engine, "gone")
    store_file.unlink()
    assert names(engine) == []
    assert not store_file.exists()
    add(engine, "anew")
    assert names(engine) == ["anew"]


def test_two_first_looks_at_a_store_that_is_being_made_agree_that_it_is_ours(
    open_engine: OpenEngine, store_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_file.touch()
    other = open_engine(wait_ms=0)
    made: list[str] = []

    def make_it_in_between(cursor: apsw.Cursor, sql: str, _bindings: object) -> bool:
        # another process makes its tables after this one saw that there is no application id
        if "sqlite_schema" in sql and not made:
            made.append(sql)
            with suppress(Busy):
                add(other, "theirs")
        return True

    def hook(connection: apsw.Connection) -> None:
        if not made:
            connection.exec_trace = make_it_in_between

    monkeypatch.setattr(apsw, "connection_hooks", [hook])
    engine = open_engine()
    add(engine, "mine")
    assert made
    assert names(engine)[-1] == "mine"


def test_a_log_that_is_gone_counts_as_empty(store_file: Path) -> None:
    assert wal_bytes(store_file) == 0
    Path(f"{store_file}-wal").write_bytes(b"12345")
    assert wal_bytes(store_file) == 5
