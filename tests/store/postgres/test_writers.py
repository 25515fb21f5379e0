"""Writers in many threads and processes: what one is granted no other is, and who follows misses nothing."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from typing import Any

import psycopg
import pytest

from satchel.base.clock import system_clock
from satchel.base.errors import Busy, Conflict
from satchel.keep.files.service import Files
from satchel.keep.projects import Workplace
from satchel.store.postgres import Address
from satchel.store.postgres.engine import PostgresEngine
from store.postgres.notes import note, notes, write_note
from store.postgres.places import Place

_PATHS = [f"src/{number}.py" for number in range(40)]
_SPAWN = multiprocessing.get_context("spawn")


def _workplace(engine: PostgresEngine, agent: str | None = None) -> Workplace:
    name = engine.project or "p"
    return Workplace(engine, system_clock, name, name, None, None, None, agent, 1 << 20, None)


def _claim_each(engine: PostgresEngine, agent: str) -> int:
    """Claim every path for an agent, and return how many were granted."""
    files = Files(_workplace(engine, agent))
    granted = 0
    for path in _PATHS:
        try:
            files.claim([path], agent=agent)
        except Conflict:
            continue
        granted += 1
    return granted


def _process(connection: Connection, task: str, address: Address, project: str | None, number: int) -> None:
    """Do one task at a sign of the parent, and send what comes of it."""
    with closing(PostgresEngine(address)) as root:
        engine = root if project is None else root.of_project(project)
        connection.send("ready")
        connection.recv()
        match task:
            case "claim":
                connection.send(_claim_each(engine, f"agent {number}"))
            case "start":
                with engine.write() as transaction:
                    transaction.run(
                        "INSERT INTO projects (uid, name, created_at) VALUES (:uid, :name, 0)",
                        {"uid": os.urandom(16), "name": f"s{number}"},
                    )
                connection.send("started")
            case _:
                count = 0
                while True:
                    count += 1
                    write_note(engine, f"{number} {count}")
                    connection.send(f"{number} {count}")


@contextmanager
def _processes(task: str, place: Place, project: str | None, count: int) -> Iterator[list[tuple[Any, Connection]]]:
    """Run processes that begin at the same moment."""
    running = []
    for number in range(count):
        ours, theirs = _SPAWN.Pipe()
        process = _SPAWN.Process(target=_process, args=(theirs, task, place.address, project, number))
        process.start()
        theirs.close()
        running.append((process, ours))
    try:
        for _, connection in running:
            assert connection.recv() == "ready"
        for _, connection in running:
            connection.send("go")
        yield running
    finally:
        for process, connection in running:
            process.kill()
            process.join()
            connection.close()


@pytest.mark.slow
def test_eight_agents_in_threads_and_processes_get_each_path_once(place: Place) -> None:
    project = place.new_project()
    engine = place.engine().of_project(project)
    with _processes("claim", place, project, 3) as running, ThreadPoolExecutor(5) as pool:
        threads = [pool.submit(_claim_each, engine, f"thread {number}") for number in range(5)]
        granted = [thread.result() for thread in threads] + [connection.recv() for _, connection in running]
    assert sum(granted) == 40
    assert place.ask("SELECT count(DISTINCT path), count(*) FROM file_claims") == [(40, 40)]


@pytest.mark.slow
def test_who_follows_by_the_last_number_seen_misses_nothing_of_eight_writers(place: Place) -> None:
    project = place.new_project()
    engines = [place.engine().of_project(project) for _ in range(3)]
    per_writer = 40
    over = threading.Event()
    seen: list[int] = []

    def follow() -> None:
        is_last = False
        while not is_last:
            is_last = over.is_set()
            with engines[2].read() as transaction:
                found = transaction.all(
                    "SELECT t.seq FROM tags t JOIN projects p ON p.id = t.project_id "
                    "WHERE p.name = :name AND t.seq > :after ORDER BY t.seq",
                    {"name": project, "after": seen[-1] if seen else 0},
                )
            seen.extend(seq for (seq,) in found)

    def write(number: int) -> None:
        for count in range(per_writer):
            write_note(engines[number % 2], f"{number} {count}")

    with ThreadPoolExecutor(9) as pool:
        following = pool.submit(follow)
        for writer in [pool.submit(write, number) for number in range(8)]:
            writer.result()
        over.set()
        following.result()
    assert seen == list(range(1, 8 * per_writer + 1))


@pytest.mark.slow
def test_six_starters_make_one_store(own_place: Place) -> None:
    with _processes("start", own_place, None, 6) as running:
        assert [connection.recv() for _, connection in running] == ["started"] * 6
    assert own_place.ask("SELECT count(*) FROM store") == [(1,)]
    assert own_place.ask("SELECT count(*) FROM projects") == [(6,)]
    assert own_place.ask("SELECT count(*), count(DISTINCT version) FROM migrations")[0][0] > 1


def test_a_schema_that_another_makes_while_a_starter_waits_is_used(own_place: Place) -> None:
    key = f"hashtextextended('satchel {own_place.schema}', 0)"
    waits = f"SELECT 1 FROM pg_locks WHERE NOT granted AND objid::bigint = {key} & 4294967295"
    with psycopg.connect(own_place.url) as other, ThreadPoolExecutor(1) as pool:
        other.execute(f"SELECT pg_advisory_xact_lock({key})".encode())
        starting = pool.submit(own_place.new_project)
        while not own_place.ask(waits) and not starting.done():
            pass
        other.execute(f"CREATE SCHEMA {own_place.schema}".encode())
        other.commit()
        assert starting.result() == "p1"


@pytest.mark.slow
def test_what_a_killed_process_had_acknowledged_is_there_and_others_write_on(place: Place) -> None:
    project = place.new_project()
    engine = place.engine().of_project(project)
    heard: list[str] = []
    with _processes("write", place, project, 3) as running:
        for process, connection in running:
            heard.extend(connection.recv() for _ in range(20))
            os.kill(process.pid, signal.SIGKILL)
            process.join()
            while connection.poll():
                try:
                    heard.append(connection.recv())
                except EOFError:
                    break
        write_note(engine, "after")
    kept = notes(engine)
    assert set(heard) <= set(kept)
    # one write of each may have been kept without having been heard of
    assert len(kept) <= len(heard) + 1 + 3


def test_a_row_that_a_write_waits_for_is_seen_as_the_other_left_it(place: Place) -> None:
    project = place.new_project()
    first, second = (place.engine().of_project(project) for _ in range(2))
    with ThreadPoolExecutor(1) as pool:
        with first.write() as transaction:
            note(transaction, project, "first")
            waiting = pool.submit(write_note, second, "second")
            while not place.ask("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"):
                pass
        assert waiting.result() == 2


def test_a_write_to_the_whole_store_and_one_to_a_project_wait_for_each_other(place: Place) -> None:
    of_project, whole = place.engine().of_project(place.new_project()), place.engine()
    other = place.engine().of_project(place.new_project())
    for first, second in ((of_project, whole), (whole, of_project)):
        with first.write(), pytest.raises(Busy), second.write(50):
            pytest.fail("the block was entered")
    with of_project.write():
        assert write_note(other, "beside it") == 1
