"""Who waits for a store that others use, for how long, and what is said then."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest

from faults.processes import Child
from faults.rows import INSERT, add, names, row
from satchel.base.errors import Busy
from store.opened import OpenEngine, use


def test_a_store_locked_for_longer_than_the_wait_is_busy_and_then_works(
    open_engine: OpenEngine, store_file: Path
) -> None:
    engine = open_engine(wait_ms=50)
    add(engine, "before")
    with closing(apsw.Connection(str(store_file))) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Busy, match="Nothing was written"):
            use(engine, "write")
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
            transaction.run(INSERT, row("too late"))
        other.execute("ROLLBACK")
    assert names(engine) == ["before"]


def test_a_transaction_may_wait_for_less_than_another_thread_takes(open_engine: OpenEngine) -> None:
    engine = open_engine(wait_ms=3_600_000)
    add(engine, "before")

    def write() -> None:
        with engine.write(20) as transaction:
            transaction.run(INSERT, row("too late"))

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
