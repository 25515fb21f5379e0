"""Stores of tests in PostgreSQL: ``pytest --postgresql`` opens them there, a schema for each file that a test names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest

import postgres_cluster
from satchel import client
from satchel.keep.projects import Workplace
from satchel.store.opening import Access
from satchel.store.postgres.address import Address, parse
from satchel.store.postgres.engine import PostgresEngine

_EMPTY = """
DO $$
DECLARE
    place text;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR place IN SELECT tablename FROM pg_tables
        WHERE schemaname = current_schema() AND tablename NOT IN ('store', 'migrations')
    LOOP
        EXECUTE format('DELETE FROM %I', place);
    END LOOP;
    PERFORM setval(format('%I', sequencename)::regclass, 1, false)
        FROM pg_sequences
        WHERE schemaname = current_schema() AND last_value IS NOT NULL AND sequencename <> 'store_id_seq';
    UPDATE store SET uid = uuid_send(gen_random_uuid());
END $$
"""
"""Removes the rows of a store but for those of its migrations; that takes a hundredth of the time of making one."""


class Schemas:
    """The schemas of this process: what a test has left is emptied for the next one."""

    def __init__(self) -> None:
        self._free: list[Address] = []
        self._made = 0

    @contextmanager
    def of_one_test(self) -> Iterator[Lent]:
        """Lend schemas until the block is left."""
        lent = Lent(self)
        try:
            yield lent
        finally:
            for address in lent.taken():
                self.give_back(address)

    def give_back(self, address: Address) -> None:
        """Let another test have a schema; it is emptied then."""
        self._free.append(address)

    def take(self) -> Address:
        """Return the address of a schema with an empty store, or with none yet."""
        if not self._free:
            self._made += 1
            return parse(postgres_cluster.url(), schema=f"tests_{os.getpid()}_{self._made}")
        address = self._free.pop()
        with psycopg.connect(address.url, autocommit=True, options="-c synchronous_commit=off") as connection:
            connection.execute(f'SET search_path = "{address.schema}"'.encode())
            if connection.execute("SELECT to_regclass('store')").fetchone() != (None,):
                connection.execute(_EMPTY)
        return address


_MOST = 8
"""A test that opens stores under more paths, as one of many examples does, has left the first of them behind."""


class Lent:
    """The schemas that one test uses, by the file that stands for each."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._of_files: dict[Path, Address] = {}

    def taken(self) -> list[Address]:
        """Return those that were lent."""
        return list(self._of_files.values())

    def address_of(self, file: Path) -> Address:
        """Return where the store of a file lies instead."""
        place = file.resolve()
        if place not in self._of_files:
            if len(self._of_files) >= _MOST:
                self._schemas.give_back(self._of_files.pop(next(iter(self._of_files))))
            self._of_files[place] = self._schemas.take()
        return self._of_files[place]

    def engine(self, access: Access, **options: Any) -> PostgresEngine:
        """Make an engine as :class:`satchel.store.sqlite.SqliteEngine` is made, without what is about files."""
        taken = {name: options[name] for name in ("read_only", "migrates", "clock") if name in options}
        return PostgresEngine(
            self.address_of(access.file), wait_ms=access.wait_ms, durability=access.durability, **taken
        )


@cache
def schemas() -> Schemas:
    """Return the schemas of this process."""
    return Schemas()


@contextmanager
def instead_of_files() -> Iterator[Lent]:
    """Let every store that is opened in the block lie in PostgreSQL, each write at its project."""

    def workplace(*, engine: PostgresEngine, project_name: str | None, suggested_name: str, **others: Any) -> Workplace:
        bound = engine.of_project(project_name or suggested_name)
        return Workplace(engine=bound, project_name=project_name, suggested_name=suggested_name, **others)

    with schemas().of_one_test() as lent, pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "SqliteEngine", lent.engine)
        patch.setattr(client, "Workplace", workplace)
        yield lent


LEFT_OUT: Mapping[str, str] = {}
"""Why tests do not run on PostgreSQL, by a part of their ids."""


def left_out(nodeid: str) -> str | None:
    """Return why a test does not run on PostgreSQL, or None."""
    return next((reason for part, reason in LEFT_OUT.items() if part in nodeid), None)
