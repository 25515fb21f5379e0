"""Stores for the tests beside this file, and the way to the helpers in ``tests/faults``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import postgres_cluster
from satchel.client import Satchel, open_satchel
from satchel.store.opening import Access
from satchel.store.sqlite import SqliteEngine
from store.ledger_rows import add
from store.opened import OpenEngine, OpenSchema, OpenStore

_TESTS = str(Path(__file__).parents[1])
if _TESTS not in sys.path:
    sys.path.insert(0, _TESTS)


@pytest.fixture
def store_file(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


@pytest.fixture
def open_engine(store_file: Path) -> Iterator[OpenEngine]:
    """Open engines on one store; all are closed afterwards."""
    opened: list[SqliteEngine] = []

    def open_one(
        *, read_only: bool = False, migrates: bool | None = None, backups_keep: int = 10, **access: Any
    ) -> SqliteEngine:
        file = access.pop("file", store_file)
        engine = SqliteEngine(Access(file, **access), read_only=read_only, migrates=migrates, backups_keep=backups_keep)
        opened.append(engine)
        return engine

    yield open_one
    for engine in opened:
        engine.close()


@pytest.fixture
def open_store(tmp_path: Path, store_file: Path) -> Iterator[OpenStore]:
    """Open Satchels on one store; all are closed afterwards."""
    opened: list[Satchel] = []

    def open_one(**options: Any) -> Satchel:
        satchel = open_satchel(store_file, "p", cwd=tmp_path, environ={}, **options)
        opened.append(satchel)
        return satchel

    yield open_one
    for satchel in opened:
        satchel.close()


@pytest.fixture
def ledger(open_engine: OpenEngine, from_template: None) -> SqliteEngine:
    """A store of two projects, one and two, numbers 1 and 2, without any names."""
    engine = open_engine()
    with engine.write() as transaction:
        for name in ("one", "two"):
            add(transaction, "projects", name=name)
    return engine


@pytest.fixture
def open_schema() -> Iterator[OpenSchema]:
    """Open engines on schemas of the tests' PostgreSQL: a new one, or one that is named; all go afterwards."""
    from satchel.store.postgres import parse
    from satchel.store.postgres.engine import PostgresEngine

    opened: list[PostgresEngine] = []

    def open_one(schema: str | None = None, role: str | None = None, more: str = "", **options: Any) -> PostgresEngine:
        address = parse(postgres_cluster.url() + more, schema or f"s{uuid4().hex[:12]}", role)
        opened.append(PostgresEngine(address, **options))
        return opened[-1]

    yield open_one
    for engine in opened:
        engine.close()
    for schema in {engine.database.address.schema for engine in opened}:
        postgres_cluster.run(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


@pytest.fixture
def mount_point(tmp_path: Path) -> Path:
    """A folder on which a child with private mounts may mount; skips where that is not permitted."""
    from faults.processes import why_no_mounts

    folder = tmp_path / "mounted"
    folder.mkdir()
    reason = why_no_mounts(folder)
    if reason is not None:
        pytest.skip(reason)
    return folder
