"""Statements that are ended from another thread, or run for too long; processes that fork."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from satchel.base.errors import Interrupted, SatchelError, TimedOut
from satchel.store.postgres import database
from satchel.store.postgres.engine import PostgresEngine
from store.postgres.notes import note, notes, write_note
from store.postgres.places import Place

_LONG = "SELECT pg_sleep(60)"
_RUNS = "SELECT 1 FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)' AND state = 'active'"


@pytest.fixture
def engine(place: Place) -> PostgresEngine:
    return place.engine().of_project(place.new_project())


def _pid(engine: PostgresEngine) -> int:
    with engine.read() as transaction:
        row = transaction.one("SELECT pg_backend_pid()")
        assert row is not None
        return int(row[0])


@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_long_statement_is_ended_at_once_and_its_connection_serves_on(
    place: Place, engine: PostgresEngine, kind: str
) -> None:
    write_note(engine, "before")
    pid = _pid(engine)

    def work() -> None:
        interrupters.append(engine.interrupter())
        with engine.read() if kind == "read" else engine.write() as transaction:
            if kind == "write":
                note(transaction, engine.project or "", "lost")
            transaction.one(_LONG)

    interrupters: list[Callable[[], None]] = []
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        while not place.ask(_RUNS):
            pass
        interrupters[0]()
        with pytest.raises(Interrupted):
            working.result(20)
    assert _pid(engine) == pid
    write_note(engine, "after")
    assert notes(engine) == ["before", "after"]


def test_ending_one_thread_over_and_over_never_hits_another(engine: PostgresEngine) -> None:
    interrupters: list[Callable[[], None]] = []
    over = threading.Event()
    ready = threading.Event()

    def interrupted() -> int:
        interrupters.append(engine.interrupter())
        ready.set()
        ended = 0
        while not over.is_set():
            try:
                with engine.read() as transaction:
                    transaction.one("SELECT count(*) FROM pg_class a")
            except Interrupted:
                ended += 1
        return ended

    def others() -> None:
        for _ in range(150):
            with engine.read() as transaction:
                transaction.one("SELECT count(*) FROM pg_class a")
                transaction.one("SELECT 1")

    def interrupt() -> None:
        assert ready.wait(60)
        while not over.wait(0.0005):
            interrupters[0]()

    with ThreadPoolExecutor(5) as pool:
        ended = pool.submit(interrupted)
        interrupting = pool.submit(interrupt)
        try:
            for one in [pool.submit(others) for _ in range(3)]:
                one.result()
        finally:
            over.set()
        interrupting.result()
        assert ended.result() > 0


def test_a_statement_that_takes_too_long_is_ended_and_upkeep_may_take_longer(
    engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "DEADLINE_SECONDS", 0.05)
    with pytest.raises(TimedOut, match="Nothing was written"), engine.read() as transaction:
        transaction.one("SELECT pg_sleep(10)")
    with engine.without_deadline(), engine.read() as transaction:
        transaction.one("SELECT pg_sleep(0.1)")
    with pytest.raises(TimedOut, match="Nothing was written"), engine.write() as transaction:
        transaction.one("SELECT pg_sleep(10)")
    monkeypatch.undo()
    write_note(engine, "after")
    assert notes(engine) == ["after"]


def test_a_body_that_stands_still_for_too_long_loses_its_lock(
    place: Place, engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_IDLE_SECONDS", 0.05)

    def stand_still() -> None:
        with engine.write() as transaction:
            note(transaction, engine.project or "", "lost")
            row = transaction.one("SELECT pg_backend_pid()")
            assert row is not None
            while place.ask("SELECT 1 FROM pg_stat_activity WHERE pid = %(pid)s", pid=row[0]):
                pass

    with pytest.raises(SatchelError, match=r"[Nn]othing was written"):
        stand_still()
    monkeypatch.undo()
    write_note(engine, "after")
    assert notes(engine) == ["after"]


def test_after_a_fork_parent_and_child_both_go_on(engine: PostgresEngine) -> None:
    write_note(engine, "before")
    with engine.read() as transaction:  # an idle connection in the pool, and one in use
        transaction.one("SELECT 1")
        child = os.fork()
        if not child:
            code = 1
            try:
                write_note(engine, "of the child")
                engine.close()
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert transaction.one("SELECT 1") == (1,)
    assert status == 0
    write_note(engine, "of the parent")
    assert notes(engine) == ["before", "of the child", "of the parent"]


def test_a_child_refuses_the_transaction_of_its_parent(engine: PostgresEngine) -> None:
    def write_and_fork() -> int:
        with engine.write() as transaction:
            note(transaction, engine.project or "", "of the parent")
            child = os.fork()
            if not child:
                code = 1
                try:
                    transaction.one("SELECT 1")
                except SatchelError:
                    code = 0
                finally:
                    os._exit(code)
            _, status = os.waitpid(child, 0)
            return status

    assert write_and_fork() == 0
    assert notes(engine) == ["of the parent"]
