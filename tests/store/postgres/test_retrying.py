"""A piece of work whose commit was shared with others and failed is done once more, alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from satchel.base.errors import NotKept
from satchel.store.postgres.address import parse
from satchel.store.postgres.engine import PostgresEngine
from store.postgres.places import Place


@pytest.fixture
def engine() -> Iterator[PostgresEngine]:
    """An engine that never connects."""
    engine = PostgresEngine(parse("postgresql://h/d"))
    yield engine
    engine.close()


def failing(engine: PostgresEngine, times: int) -> tuple[Callable[[int], str], list[bool]]:
    """Return work whose first commits fail, and what it has seen: each time, whether it was alone."""
    seen: list[bool] = []

    def work(number: int) -> str:
        seen.append(engine.database.alone.is_requested)
        if len(seen) <= times:
            raise NotKept("the commit has failed", "Nothing was written; try again")
        return f"done {number}"

    return work, seen


def test_it_is_done_once_more_alone(engine: PostgresEngine) -> None:
    work, seen = failing(engine, 1)
    assert engine.retrying(work)(7) == "done 7"
    assert seen == [False, True]
    assert not engine.database.alone.is_requested


def test_it_is_done_twice_at_most(engine: PostgresEngine) -> None:
    work, seen = failing(engine, 2)
    with pytest.raises(NotKept):
        engine.retrying(work)(7)
    assert seen == [False, True]


@pytest.mark.slow
def test_what_has_kept_something_is_not_done_again(place: Place) -> None:
    engine = place.engine().of_project(place.new_project())
    tries = 0

    def work() -> None:
        nonlocal tries
        tries += 1
        with engine.write():
            pass
        raise NotKept("the commit has failed", "Nothing was written; try again")

    with pytest.raises(NotKept):
        engine.retrying(work)()
    assert tries == 1
