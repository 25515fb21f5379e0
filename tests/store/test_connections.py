"""How a connection is set up, and who else may look into the file."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from faults.rows import INSERT, add, names, names_in, row
from satchel.store.opening import wal_bytes
from satchel.store.schema import APPLICATION_ID
from store.opened import OpenEngine, OpenStore


@pytest.mark.parametrize(("durability", "synchronous"), [("full", 2), ("relaxed", 1)])
def test_the_write_connection_is_set_up_as_the_design_says(
    open_engine: OpenEngine, durability: str, synchronous: int
) -> None:
    with open_engine(durability=durability, vfs=apsw.vfs_names()[0]).exclusive() as connection:
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


class TestALookBeforeAWrite:
    def test_reads_on_the_writers_connection_and_holds_no_lock_of_the_file(self, open_engine: OpenEngine) -> None:
        engine, other = open_engine(), open_engine()
        add(engine, "a")
        with engine.look() as transaction:
            assert names_in(transaction) == ["a"]
            assert transaction.connection.pragma("query_only") == 0
            add(other, "b")
            assert names_in(transaction) == ["a", "b"]

    def test_reads_beside_a_thread_that_writes(self, open_engine: OpenEngine) -> None:
        engine = open_engine()
        add(engine, "a")
        with engine.write() as writing:
            writing.run(INSERT, row("b"))
            with engine.look() as transaction:
                assert names_in(transaction) == ["a"]

    def test_reads_a_store_that_nothing_was_written_to_yet(self, open_engine: OpenEngine) -> None:
        add(open_engine(), "a")
        with open_engine().look() as transaction:
            assert names_in(transaction) == ["a"]

    def test_reads_the_file_that_came_in_the_place_of_another(self, open_engine: OpenEngine, tmp_path: Path) -> None:
        other = open_engine(file=tmp_path / "other.db")
        add(other, "the other store")
        other.close()
        engine = open_engine()
        add(engine, "this store")
        with engine.exclusive() as connection:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        (tmp_path / "other.db").replace(tmp_path / "s.db")
        with engine.look() as transaction:
            assert names_in(transaction) == ["the other store"]

    def test_that_fails_leaves_the_connection_to_the_write(self, open_engine: OpenEngine) -> None:
        engine = open_engine()
        add(engine, "a")
        with pytest.raises(ValueError, match="in vain"), engine.look():
            raise ValueError("in vain")
        add(engine, "b")
        assert names(engine) == ["a", "b"]


def test_foreign_keys_hold(open_engine: OpenEngine) -> None:
    engine = open_engine()
    insert = (
        "INSERT INTO runs (uid, seq, project_id, run_id, created_at) VALUES (:uid, 1, 12345, 'r', 0)"  # no such project
    )
    with pytest.raises(apsw.ConstraintError), engine.write() as transaction:
        transaction.run(insert, {"uid": os.urandom(16)})


def test_pythons_own_sqlite_reads_the_store_while_it_is_open(open_store: OpenStore, store_file: Path) -> None:
    satchel = open_store()
    satchel.entries.write("discovery", "anyone may look")
    with closing(sqlite3.connect(store_file)) as connection:
        assert connection.execute("SELECT content FROM context").fetchall() == [("anyone may look",)]
        assert connection.execute("PRAGMA quick_check").fetchall() == [("ok",)]


def test_a_log_that_is_gone_counts_as_empty(store_file: Path) -> None:
    assert wal_bytes(store_file) == 0
    Path(f"{store_file}-wal").write_bytes(b"12345")
    assert wal_bytes(store_file) == 5
