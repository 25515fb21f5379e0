"""Importing a made database, of sqlew or of bazinga, into a project of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bazinga_databases import BazingaDatabase
from bazinga_databases import Made as BazingaMade
from keep.importing.read import NOW
from keep.importing.results import Take
from satchel import Satchel
from satchel.keep.moving.records import Imported
from sqlew_databases import Made, SqlewDatabase

if TYPE_CHECKING:
    from conftest import ManualClock


@pytest.fixture
def now(clock: ManualClock) -> int:
    """The seconds of the test's clock."""
    return clock.now // 1_000


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Make an empty sqlew database of a release, with agents, keys and tags that anything may use."""

    def make(release: str = "3.6", name: str = "sqlew.db", **options: bool) -> SqlewDatabase:
        database = SqlewDatabase(tmp_path / name, release, **options)
        for agent in ("planner", "builder"):
            database.add("agents", name=agent)
        for key in ("session_store", "session_ttl"):
            database.add("context_keys", key=key)
        for tag in ("security", "API", " "):
            database.add("tags", name=tag)
        database.add("files", path="src/auth.py")
        return database

    return make


@pytest.fixture
def take(satchel: Satchel) -> Take:
    """Import a database, closed first, into the test's project."""

    def import_one(database: SqlewDatabase | Path, **options: Any) -> Imported:
        file = database if isinstance(database, Path) else database.close()
        return satchel.moving.import_from("sqlew", file, **options)

    return import_one


@pytest.fixture
def bazinga(tmp_path: Path, now: int) -> BazingaMade:
    """Make an empty database."""

    def make(name: str = "b.db", release: str = "19", at: int = now) -> BazingaDatabase:
        return BazingaDatabase(tmp_path / name, release, at)

    return make


@pytest.fixture
def newest(tmp_path: Path) -> BazingaDatabase:
    """An empty bazinga database of the newest schema."""
    return BazingaDatabase(tmp_path / "b.db", "19", NOW)


@pytest.fixture
def bring(satchel: Satchel) -> Take:
    """Import a database, closed first, into the test's project."""

    def import_one(database: BazingaDatabase | Path, **options: Any) -> Imported:
        file = database if isinstance(database, Path) else database.close()
        return satchel.moving.import_from("bazinga", file, **options)

    return import_one


@pytest.fixture
def report(project: Path) -> None:
    """The file of package 1."""
    file = project / "bazinga" / "artifacts" / "s1" / "1.md"
    file.parent.mkdir(parents=True)
    file.write_text("the gateway timed out")
