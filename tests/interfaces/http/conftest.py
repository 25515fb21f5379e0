"""Servers with one store, in threads of the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from conftest import ManualClock
from http_serving import FixedTokens, Served, served
from interfaces.http.twins import Twin
from satchel import open_satchel
from satchel.interfaces.http import health
from satchel.interfaces.http.settings import Settings
from serving_probes import probes
from store.postgres.places import Place, new_place


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store that is there."""
    folder = tmp_path_factory.mktemp("served").resolve()
    (folder / ".git").mkdir()
    with open_satchel(cwd=folder, environ={}) as satchel, satchel.workplace.engine.write():
        return satchel.place.file


@pytest.fixture
def place() -> Iterator[Place]:
    """A store of the test's own in PostgreSQL."""
    with new_place() as one:
        yield one


@pytest.fixture(scope="module")
def with_probes() -> Iterator[None]:
    """Servers have the routes of `serving_probes` beside their own."""
    routes = health.routes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(health, "routes", lambda serving: [*routes(serving), *probes(serving)])
        yield


@pytest.fixture(scope="module")
def server(store: Path, with_probes: None) -> Iterator[Served]:
    """A server with the usual settings; all tests of a module share it."""
    with served(FixedTokens(store)) as running:
        yield running


@pytest.fixture
def serve(store: Path, with_probes: None) -> Iterator[Callable[..., Served]]:
    """Start a server with these settings."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(served(FixedTokens(store), Settings(**settings)))


@pytest.fixture
def twins(tmp_path: Path) -> Iterator[Callable[[], tuple[Twin, Twin, ManualClock]]]:
    """Make two new stores."""
    made: list[Twin] = []

    def make() -> tuple[Twin, Twin, ManualClock]:
        clock, number = ManualClock(), len(made)
        made.extend(Twin(tmp_path.resolve() / f"{number}{name}.db", clock) for name in ("shared", "alone"))
        return made[-2], made[-1], clock

    yield make
    for one in made:
        one.close()
        one.one.close()
