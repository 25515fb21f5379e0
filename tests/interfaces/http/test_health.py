"""Whether a server says truly if its stores work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import anyio
import apsw
import pytest

from http_serving import FixedTokens, Served, served
from satchel import open_satchel
from satchel.interfaces.http.health import Health
from satchel.interfaces.http.settings import Settings
from satchel.interfaces.http.stores import Stores
from satchel.store.sqlite import SqliteEngine


@pytest.fixture
def own_store(tmp_path: Path) -> Path:
    """The file of a store that is this test's alone."""
    (tmp_path / ".git").mkdir()
    with open_satchel(cwd=tmp_path.resolve(), environ={}) as satchel, satchel.workplace.engine.write():
        return satchel.place.file


@pytest.fixture
def serve_own(own_store: Path) -> Iterator[Callable[..., Served]]:
    """Serve that store."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(served(FixedTokens(own_store), Settings(**settings)))


def told(server: Served) -> tuple[int, str, str]:
    """Return the status, what a token's holder is told of its store, and what a stranger is told."""
    answer, stranger = server.ask(), server.ask(token=None)
    assert (answer.status, answer.json()["status"]) == (stranger.status, stranger.json()["status"])
    assert set(stranger.json()) == {"status"}
    assert answer.json()["project"] == "project"
    return answer.status, answer.json()["store"], stranger.json()["status"]


def test_a_store_that_is_gone_is_missing(serve_own: Callable[..., Served], own_store: Path) -> None:
    server = serve_own(health_seconds=0)
    assert told(server) == (200, "ok", "ok")
    for file in own_store.parent.glob("satchel.db*"):
        file.unlink()
    assert told(server) == (503, "store_missing", "not ok")
    assert not own_store.exists()


def test_a_store_that_cannot_be_written_is_read_only(serve_own: Callable[..., Served], own_store: Path) -> None:
    server = serve_own(health_seconds=0)
    assert told(server) == (200, "ok", "ok")
    engine = server.serving.stores.opened(own_store).workplace.engine
    assert isinstance(engine, SqliteEngine)
    engine.read_only = True
    assert told(server) == (503, "read_only", "not ok")


def test_a_store_that_is_damaged_says_so(serve_own: Callable[..., Served], own_store: Path) -> None:
    own_store.write_bytes(own_store.read_bytes()[:5_000])
    assert told(serve_own(health_seconds=0))[:2] == (503, "store_damaged")


@pytest.mark.slow
def test_a_store_that_others_keep_locked_is_busy(serve_own: Callable[..., Served], own_store: Path) -> None:
    server = serve_own(health_seconds=0)
    assert told(server) == (200, "ok", "ok")
    with closing(apsw.Connection(str(own_store))) as other:
        other.execute("BEGIN IMMEDIATE")
        assert told(server) == (503, "busy", "not ok")
    assert told(server) == (200, "ok", "ok")


def test_what_was_found_out_counts_for_a_while(own_store: Path) -> None:
    now = 0.0

    async def ask() -> None:
        nonlocal now
        stores = Stores({})
        health = Health(stores, 10, lambda: now)
        engine = stores.opened(own_store).workplace.engine
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(health.of, own_store)
        assert engine.commits == 1
        now = 9.9
        assert await health.of(own_store) == "ok"
        assert engine.commits == 1
        now = 10.0
        assert await health.every() == "ok"
        assert engine.commits == 2
        stores.close()

    anyio.run(ask)


def test_asking_changes_nothing_that_is_kept(serve_own: Callable[..., Served], own_store: Path) -> None:
    def kept() -> list[tuple[object, ...]]:
        with closing(apsw.Connection(str(own_store))) as connection:
            return connection.execute("SELECT * FROM store").fetchall()

    before = kept()
    assert told(serve_own(health_seconds=0)) == (200, "ok", "ok")
    assert kept() == before
