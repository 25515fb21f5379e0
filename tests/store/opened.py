"""Stores as they are opened, and databases that are none."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from satchel.client import Satchel
from satchel.store.engine import Engine
from satchel.store.postgres.engine import PostgresEngine
from satchel.store.sqlite import SqliteEngine

OpenEngine = Callable[..., SqliteEngine]
"""Open an engine; the fixture ``open_engine``."""

OpenSchema = Callable[..., PostgresEngine]
"""Open an engine on PostgreSQL; the fixture ``open_schema``."""

OpenStore = Callable[..., Satchel]
"""Open a Satchel; the fixture ``open_store``."""


def use(engine: Engine, kind: str) -> None:
    """Begin a transaction, to read or to write, that is to be refused."""
    with engine.read() if kind == "read" else engine.write():
        pytest.fail("the block was entered")


def make_foreign(file: Path, *, application_id: int) -> None:
    """Make the database of another application."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA application_id = {application_id}")
        connection.execute("CREATE TABLE theirs (a)")
        connection.commit()
