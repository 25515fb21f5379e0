"""A server that asks for a password: the right one opens the store, and none is ever shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from satchel.base.errors import Refused
from satchel.store.postgres import parse
from satchel.store.postgres.engine import PostgresEngine
from store.postgres.clusters import Cluster, new_cluster

pytestmark = pytest.mark.slow

RIGHT, WRONG = "right-hunter2", "wrong-hunter3"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster in which the role ann logs in by a password."""
    with new_cluster() as cluster:
        (cluster.folder / "pg_hba.conf").write_text("local all postgres trust\nlocal all all scram-sha-256\n")
        cluster.start()
        with psycopg.connect(cluster.url, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE ann LOGIN PASSWORD '{RIGHT}'")
            connection.execute("CREATE SCHEMA shop AUTHORIZATION ann")
        yield cluster


def _engine(cluster: Cluster, password: str | None) -> PostgresEngine:
    login = "ann" if password is None else f"ann:{password}"
    return PostgresEngine(parse(cluster.url.replace("postgres@", f"{login}@"), "shop"))


def test_the_right_password_opens_the_store(cluster: Cluster) -> None:
    with closing(_engine(cluster, RIGHT)) as engine, engine.write() as transaction:
        assert transaction.one("SELECT count(*) FROM projects") == (0,)


@pytest.mark.parametrize("password", [WRONG, None])
def test_a_login_that_is_refused_is_said_without_any_password(cluster: Cluster, password: str | None) -> None:
    with closing(_engine(cluster, password)) as engine:
        with pytest.raises(Refused, match="refuses the login") as caught, engine.read():
            pass
        assert "password" in str(caught.value)
        assert WRONG not in f"{caught.value!s} {caught.value!r} {caught.value.__cause__!r} {engine.location}"
