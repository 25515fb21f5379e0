"""Places for stores in the PostgreSQL of this run, each in a schema of its own."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

import postgres_cluster
from satchel.store.postgres import Address, parse
from satchel.store.postgres.engine import PostgresEngine

_NUMBERS = itertools.count(1)


class Place:
    """A store in a schema of its own.

    Args:
        url: of the database.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.schema = f"test_{os.getpid()}_{next(_NUMBERS)}"
        self._opened: list[PostgresEngine] = []
        self._projects = itertools.count(1)

    @property
    def address(self) -> Address:
        """Where it is."""
        return parse(self.url, self.schema)

    def engine(self, url: str | None = None, **options: Any) -> PostgresEngine:
        """Open an engine on it; closed with the others.

        Args:
            url: another way to the database.
            **options: of the engine.
        """
        one = PostgresEngine(parse(url or self.url, self.schema), **options)
        self._opened.append(one)
        return one

    def new_project(self) -> str:
        """Make a project, and return its name."""
        name = f"p{next(self._projects)}"
        with self.engine().write() as transaction:
            transaction.run(
                "INSERT INTO projects (uid, name, created_at) VALUES (:uid, :name, 0)",
                {"uid": os.urandom(16), "name": name},
            )
        return name

    def ask(self, sql: str, **values: object) -> list[tuple[Any, ...]]:
        """Ask the database past any engine."""
        with psycopg.connect(self.url) as connection:
            connection.execute(f"SET search_path = {self.schema}".encode())
            return connection.execute(sql.encode(), values).fetchall()

    def do(self, sql: str) -> None:
        """Run a statement past any engine."""
        with psycopg.connect(self.url) as connection:
            connection.execute(f"SET search_path = {self.schema}".encode())
            connection.execute(sql.encode())

    def close(self) -> None:
        """Close the engines."""
        for one in self._opened:
            one.close()
        self._opened.clear()


@contextmanager
def new_place() -> Iterator[Place]:
    """Hand out a place that goes again when the block is left."""
    place = Place(postgres_cluster.url())
    yield place
    place.close()
    place.do(f"DROP SCHEMA IF EXISTS {place.schema} CASCADE")
