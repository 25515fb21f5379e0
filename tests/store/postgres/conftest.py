"""Stores in the PostgreSQL of this run, and a proxy before it."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from postgres_proxy import PostgresProxy, postgres_proxy
from store.postgres.places import Place, new_place


@pytest.fixture(scope="module")
def shared_place() -> Iterator[Place]:
    """A store for all tests of a module: making one takes half a second."""
    with new_place() as place:
        yield place


@pytest.fixture
def place(shared_place: Place) -> Iterator[Place]:
    """The module's store; the engines of a test are closed after it."""
    yield shared_place
    shared_place.close()


@pytest.fixture
def own_place() -> Iterator[Place]:
    """A store of the test's own, which is not made yet."""
    with new_place() as place:
        yield place


@pytest.fixture
def proxy(place: Place) -> Iterator[PostgresProxy]:
    """A proxy before the server."""
    with postgres_proxy(f"{psycopg.conninfo.conninfo_to_dict(place.url)['host']}/.s.PGSQL.5432") as one:
        yield one


@pytest.fixture
def proxied(place: Place, proxy: PostgresProxy) -> str:
    """The URL of the database through the proxy."""
    options = "sslmode=disable&gssencmode=disable"
    return f"postgresql://postgres@127.0.0.1:{proxy.port}/postgres?{options}"
