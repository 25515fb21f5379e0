"""A store of 0.2.0 in PostgreSQL is migrated with what it holds."""

from __future__ import annotations

import pytest

from satchel.store.postgres import migrations
from satchel.store.schema import BASE_VERSION, SCHEMA_VERSION
from store.postgres.places import Place

_BANDS = (-5, 7, 2**40 + 2**31, 2**63 - 1)


def test_the_bands_of_near_duplicates_keep_their_lower_bits(own_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as program:
        program.setattr(migrations, "SCHEMA_VERSION", BASE_VERSION)
        own_place.new_project()
    for band in _BANDS:
        own_place.do(f"INSERT INTO likenesses (project_id, mark, kind, item_id) VALUES (1, {band}, 2, 3)")
    own_place.new_project()
    assert own_place.ask("SELECT mark FROM likenesses ORDER BY 1") == [(-(2**31),), (-5,), (-1,), (7,)]
    assert own_place.ask("SELECT max(version), min(min_writer) FROM migrations, store") == [(SCHEMA_VERSION, 28)]
    assert own_place.engine().upkeep.schema_problems() == []
