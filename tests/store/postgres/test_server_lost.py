"""The server is killed, restarted or set up badly: what was acknowledged is there, and each failure says what it is."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from satchel.base.errors import Busy, IoError, ReadOnly, Refused, SatchelError, Unreachable
from satchel.store.postgres import engine as engine_module
from satchel.store.postgres import parse
from satchel.store.postgres.engine import PostgresEngine
from store.postgres.clusters import Cluster, new_cluster
from store.postgres.notes import notes, write_note

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster of this module's own; each test starts it."""
    with new_cluster() as one:
        yield one


@pytest.fixture
def stopped(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster, which the test starts; stopped after it."""
    yield cluster
    if cluster.is_running:
        cluster.stop("immediate")


@pytest.fixture
def running(stopped: Cluster) -> Cluster:
    """The cluster, started."""
    stopped.start()
    return stopped


def _engines(cluster: Cluster, count: int) -> list[PostgresEngine]:
    """Engines, each on connections of its own and bound to one of two projects."""
    made = []
    for number in range(count):
        root = PostgresEngine(parse(cluster.url))
        name = f"p{number % 2}"
        with root.write() as transaction:
            transaction.run(
                "INSERT INTO projects (uid, name, created_at) VALUES (:uid, :name, 0) ON CONFLICT DO NOTHING",
                {"uid": os.urandom(16), "name": name},
            )
        made.append(root.of_project(name))
    return made


@pytest.mark.parametrize("way", ["killed", "immediate", "fast"])
def test_what_was_acknowledged_outlives_the_server_and_engines_connect_again(running: Cluster, way: str) -> None:
    engines = _engines(running, 4)
    acknowledged: dict[str, str] = {}
    refused: set[str] = set()
    unknown: set[str] = set()
    enough, again, over = threading.Event(), threading.Event(), threading.Event()

    def work(number: int) -> None:
        engine = engines[number % len(engines)]
        count = 0
        while not over.is_set():
            count += 1
            text = f"{way} {number} {count}"
            try:
                write_note(engine, text)
            except (Unreachable, Busy):
                refused.add(text)
                again.wait(60)
            except IoError:
                unknown.add(text)
            else:
                acknowledged[text] = engine.project or ""
                if count == 10:
                    enough.set()

    with ThreadPoolExecutor(12) as pool:
        working = [pool.submit(work, number) for number in range(12)]
        assert enough.wait(60)
        running.kill() if way == "killed" else running.stop(way)
        running.start()
        before = len(acknowledged)
        again.set()
        pause = threading.Event()
        while len(acknowledged) < before + 40:
            pause.wait(0.01)
        over.set()
        for one in working:
            one.result()
    for number, name in enumerate(("p0", "p1")):
        kept = {text for text in notes(engines[number]) if text.startswith(way)}
        mine = {text for text, project in acknowledged.items() if project == name}
        assert mine <= kept
        assert kept - mine <= unknown
        assert not kept & refused
    for engine in engines:
        engine.close()


def test_a_number_that_a_crash_gives_to_another_transaction_acknowledges_nothing(running: Cluster) -> None:
    """The next transaction after a crash gets the number of one that was lost; its commit is not that one's."""
    first, second, other = _engines(running, 3)
    write = first.write()
    transaction = write.__enter__()
    transaction.execute("UPDATE tags SET created_at = 0")
    running.kill()
    running.start()
    write_note(other, "of another engine")
    with pytest.raises(SatchelError, match="Nothing was written"):
        write.__exit__(None, None, None)
    assert "of another engine" in notes(first)
    for engine in (first, second, other):
        engine.close()


def test_a_server_without_fsync_is_refused(stopped: Cluster) -> None:
    stopped.start({"fsync": "off"})
    engine = PostgresEngine(parse(stopped.url))
    with pytest.raises(Refused, match="fsync = off"), engine.read():
        pytest.fail("the block was entered")


def test_a_standby_is_read_and_not_written(stopped: Cluster) -> None:
    stopped.start()
    (engine,) = _engines(stopped, 1)
    write_note(engine, "kept before")
    engine.close()
    stopped.stop()
    (stopped.folder / "standby.signal").touch()
    stopped.start()
    assert notes(engine)[-1] == "kept before"
    with pytest.raises(ReadOnly, match="standby"):
        write_note(engine, "lost")
    whole = PostgresEngine(parse(stopped.url))
    with pytest.raises(ReadOnly, match="standby"), whole.write():
        pytest.fail("the block was entered")
    for one in (engine, whole):
        one.close()
    stopped.stop()
    (stopped.folder / "standby.signal").unlink()


def test_a_server_that_takes_no_more_connections_is_said_to_be_busy(stopped: Cluster) -> None:
    stopped.start({"max_connections": "8", "superuser_reserved_connections": "0"})
    (engine,) = _engines(stopped, 1)
    engine.close()
    taken = [psycopg.connect(stopped.url) for _ in range(8)]
    with pytest.raises(Busy, match="no connection left"):
        write_note(engine, "lost")
    for one in taken:
        one.close()
    write_note(engine, "kept when there was one")
    assert notes(engine)[-1] == "kept when there was one"
    engine.close()


def test_a_server_that_is_gone_is_said_to_be_out_of_reach(running: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    (engine,) = _engines(running, 1)
    engine.wait_ms = 200
    running.stop("fast")
    with pytest.raises(Unreachable, match="Nothing was written"):
        write_note(engine, "lost")
    monkeypatch.setattr(engine_module, "_LOST_SECONDS", 0.2)
    running.start()
    write_note(engine, "kept when it was back")
    engine.close()
