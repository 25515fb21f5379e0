"""The migration that gives bands of likeness and kept calls their project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from satchel.base.clock import DAY_MS
from satchel.store import migrations
from satchel.store.engine import Engine
from satchel.store.opening import Access
from satchel.store.postgres import migrations as postgres_migrations
from satchel.store.schema import MIGRATIONS, OF_PROJECTS
from satchel.store.sqlite import SqliteEngine
from store.postgres.places import new_place

BEFORE = next(place for place, one in enumerate(MIGRATIONS) if one.statements is OF_PROJECTS)


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    if request.param == "sqlite":
        with closing(SqliteEngine(Access(tmp_path / "store.db"))) as one:
            yield one
    else:
        with new_place() as place:
            yield place.engine()


def test_a_band_is_of_its_items_project_and_a_call_of_the_last_day_of_every(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        for one in (migrations, postgres_migrations):
            older.setattr(one, "SCHEMA_VERSION", BEFORE)
        with engine.write() as transaction:
            for project, name in ((1, "one"), (2, "two")):
                transaction.run(
                    "INSERT INTO projects (uid, name, created_at) VALUES (:uid, :name, 0)",
                    {"uid": name.encode(), "name": name},
                )
                transaction.run(
                    "INSERT INTO documents (seq, project_id, kind, item_id, created_at) VALUES (1, :id, 1, :id, 0)",
                    {"id": project},
                )
            for mark, kind, item in ((10, 1, 1), (10, 1, 2), (11, 2, 1)):
                transaction.run(
                    "INSERT INTO likenesses (mark, kind, item_id) VALUES (:mark, :kind, :item)",
                    {"mark": mark, "kind": kind, "item": item},
                )
            for call, kept_at in ((b"old", 5), (b"young", 6), (b"new", 5 + DAY_MS)):
                transaction.run(
                    "INSERT INTO kept_calls (call, kept_at) VALUES (:call, :at)", {"call": call, "at": kept_at}
                )
    engine.check_again()
    with engine.write() as transaction:
        bands = "SELECT project_id, mark, kind, item_id FROM likenesses ORDER BY 1"
        assert transaction.all(bands) == [(1, 10, 1, 1), (2, 10, 1, 2)]
        assert transaction.all("SELECT project_id, call FROM kept_calls ORDER BY 1, 2") == [
            (project, call) for project in (1, 2) for call in (b"new", b"young")
        ]
    assert engine.upkeep.schema_problems() == []
