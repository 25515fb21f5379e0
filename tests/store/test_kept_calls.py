"""What is kept of calls from elsewhere is of their project alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from days_of_use import vouch
from satchel.store import kept_calls
from satchel.store.engine import Engine

CALL = b"a call"


@pytest.fixture
def engine(open_engine: Callable[..., Engine]) -> Engine:
    engine = open_engine()
    with engine.write() as transaction:
        for name in ("one", "two"):
            transaction.run(
                "INSERT INTO projects (uid, name, created_at) VALUES (:uid, :name, 0)",
                {"uid": name.encode(), "name": name},
            )
    return engine


def test_a_call_is_kept_once_in_its_project(engine: Engine) -> None:
    with engine.write() as transaction:
        assert [kept_calls.keep(transaction, project, CALL, 1) for project in ("one", "one", "two")] == [
            True,
            False,
            True,
        ]
        assert kept_calls.is_kept(transaction, "one", CALL)
        assert not kept_calls.is_kept(transaction, "one", b"another")


def test_a_call_that_wrote_nothing_in_a_project_may_be_made_again(engine: Engine) -> None:
    with engine.write() as transaction:
        assert kept_calls.keep(transaction, "three", CALL, 1)
        assert kept_calls.keep(transaction, "three", CALL, 1)
        assert not kept_calls.is_kept(transaction, "three", CALL)


def test_old_calls_of_the_project_alone_are_forgotten(engine: Engine) -> None:
    with engine.write() as transaction:
        for project in ("one", "two"):
            kept_calls.keep(transaction, project, b"old", 0)
        vouch(transaction, kept_calls.KEPT_MS + 1)
        kept_calls.keep(transaction, "one", CALL, kept_calls.KEPT_MS + 1)
        assert transaction.all("SELECT project_id, call FROM kept_calls ORDER BY 1, 2") == [
            (1, CALL),
            (2, b"old"),
        ]
