"""A store whose schema is dropped while programs work with it, and one that another program makes."""

from __future__ import annotations

import pytest

import postgres_cluster
from satchel.base.errors import StoreMissing
from store.postgres.places import Place

pytestmark = pytest.mark.slow


def test_a_store_that_is_gone_is_said_to_be_and_none_is_made_in_its_place(own_place: Place) -> None:
    name = own_place.new_project()
    engine = own_place.engine().of_project(name)
    with engine.write():
        pass
    postgres_cluster.run(f'DROP SCHEMA "{own_place.schema}" CASCADE')
    with pytest.raises(StoreMissing, match="is gone"), engine.write():
        pass
    with pytest.raises(StoreMissing, match="is gone"), engine.read() as transaction:
        transaction.one("SELECT name FROM projects")
    assert own_place.ask("SELECT to_regnamespace(%(name)s)::text", name=own_place.schema) == [(None,)]


def test_a_reader_sees_the_store_that_another_program_makes(own_place: Place) -> None:
    reader = own_place.engine(read_only=True)
    assert not reader.exists()
    name = own_place.new_project()
    with reader.read() as transaction:
        assert transaction.all("SELECT name FROM projects") == [(name,)]
    assert reader.exists()
